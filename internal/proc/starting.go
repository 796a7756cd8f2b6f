package proc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Starting answers the probes of a process that waits for what it needs before it
// can start: /livez is 200, /readyz and /startupz are 503 with the reason. The
// methods may run concurrently; those of nil do nothing.
type Starting struct {
	listener net.Listener
	why      atomic.Pointer[string]
	stop     context.CancelFunc
	serving  sync.WaitGroup
}

// NewStarting answers on l until End is called. A listener that is none of this
// package is closed then; nil: there is no admin port.
func NewStarting(log *slog.Logger, l net.Listener) *Starting {
	if l == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Starting{listener: l, stop: stop}
	mux := http.NewServeMux()
	probes(mux, s.ready)
	s.serving.Go(func() {
		if err := ServeHTTP(ctx, log, lent{l}, guarded(http.MaxBytesHandler(mux, adminBody)), nil, nil); err != nil {
			log.Warn("the probes cannot be answered while the process starts", "error", err)
		}
	})
	return s
}

func (s *Starting) ready() error {
	if why := s.why.Load(); why != nil {
		return fmt.Errorf("starting: %s", *why)
	}
	return errors.New("starting")
}

// Waits says why the process cannot start yet.
func (s *Starting) Waits(why error) {
	if s != nil {
		text := why.Error()
		s.why.Store(&text)
	}
}

// End leaves the listener to others: to Admin, which serves it from then on.
// Connections that come in between wait.
func (s *Starting) End() {
	if s == nil {
		return
	}
	s.stop()
	s.serving.Wait()
	if t, ok := s.listener.(interface{ SetDeadline(time.Time) error }); ok {
		_ = t.SetDeadline(time.Time{}) // fails on a closed one only
	}
}
