package proc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidings/internal/proc"
)

var silent = slog.New(slog.DiscardHandler)

// recorder notes the order in which parts end.
type recorder struct {
	mu    sync.Mutex
	ended []string
}

func (r *recorder) part(name string, linger time.Duration) proc.Part {
	return proc.Part{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		<-time.After(linger) // in the bubble's time
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended = append(r.ended, name)
		return ctx.Err()
	}}
}

func TestPartsStopInReverseOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var r recorder
		time.AfterFunc(time.Second, cancel)
		err := proc.Run(ctx, silent, r.part("feed", 0), r.part("worker", time.Second), r.part("edge", time.Minute))
		if err != nil || !slices.Equal(r.ended, []string{"edge", "worker", "feed"}) {
			t.Errorf("%v, %v", r.ended, err)
		}
	})
}

func TestAPartThatFailsStopsTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		boom := errors.New("boom")
		err := proc.Run(t.Context(), silent, r.part("feed", 0), proc.Part{Name: "edge", Run: func(context.Context) error { return boom }})
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), "edge") || len(r.ended) != 1 {
			t.Errorf("%v, %v", r.ended, err)
		}
	})
}

func TestAPartThatEndsEarlyIsAnError(t *testing.T) {
	t.Parallel()
	err := proc.Run(t.Context(), silent, proc.Part{Name: "feed", Run: func(context.Context) error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "feed") {
		t.Errorf("got %v", err)
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	log, err := proc.Logger(&buf, "warn", false)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("no")
	log.Warn("yes")
	if out := buf.String(); strings.Contains(out, "no") || !strings.Contains(out, `"msg":"yes"`) {
		t.Error(out)
	}
	if _, err := proc.Logger(&buf, "loud", false); err == nil {
		t.Error("an unknown level was accepted")
	}
}
