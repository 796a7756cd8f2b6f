package proc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tidings/internal/proc"
)

func TestAProcessThatStartsSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	s := proc.NewStarting(silent, l)
	if status, body := get(t, url+"/startupz"); status != 503 || body != "starting\n" {
		t.Errorf("%d %s", status, body)
	}
	s.Waits(errors.New("the bus is not there"))
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/startupz": 503} {
		status, body := get(t, url+path)
		if status != want || want == 503 && !strings.Contains(body, "the bus is not there") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	s.End()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- proc.Admin(ctx, silent, l, func() error { return nil }) }()
	if status, _ := get(t, url+"/startupz"); status != 200 {
		t.Errorf("after the start: %d", status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var none *proc.Starting // without an admin port
	none.Waits(errors.New("anything"))
	none.End()
}
