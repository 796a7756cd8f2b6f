package console_test

import (
	"testing"
	"time"

	"tidings/console"
)

func TestWhoLooksOnceSeesAllProcesses(t *testing.T) {
	t.Parallel()
	all := pods(t, 2)
	end := time.After(time.Minute)
	for {
		list, err := console.Processes(t.Context(), all[0].Bus, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 2 && list[0].ID != list[1].ID && list[0].Role != "" && list[0].Host != "" {
			return
		}
		select {
		case <-end:
			t.Fatalf("saw %+v", list)
		default:
		}
	}
}
