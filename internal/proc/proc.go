// Package proc is what the programs share: logger, signals, listeners, admin port,
// metrics, what the machine allows, and running the parts of a process side by side. A
// connection of its listeners notices a client that goes without its answer: see [Conn].
//
// It knows nothing of what the parts do.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Logger returns a logger that writes to w: JSON for machines, or text for a
// person at a terminal. level is debug, info, warn or error.
func Logger(w io.Writer, level string, text bool) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("unknown log level %q; use debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	if text {
		return slog.New(slog.NewTextHandler(w, o)), nil
	}
	return slog.New(slog.NewJSONHandler(w, o)), nil
}

// Context returns a context that ends with the first SIGINT or SIGTERM, or with
// the SIGHUP of a terminal that was closed, unless that is ignored (nohup). The
// second one ends the process at once, with status 1. From then on no other
// SIGHUP ends the process: see Hangups.
func Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	attached := !signal.Ignored(syscall.SIGHUP) && !terminalGone()
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	end := func() {
		for s := range signals {
			if s != syscall.SIGHUP || attached && terminalGone() {
				return
			}
		}
	}
	go func() {
		end()
		cancel()
		end()
		os.Exit(1)
	}()
	return ctx, cancel
}

// Part is one thing that a process does. Run blocks until ctx ends and its
// work is over; nil or ctx's own error is a good end.
type Part struct {
	Name string
	Run  func(ctx context.Context) error
}

// Run starts the parts in their order, each on a goroutine of its own, and
// waits. When ctx ends, or a part ends before that, the parts are stopped one
// after the other in reverse order, each after the one above it has finished:
// what takes work in stops before what does it. Run returns the first error,
// with the part's name.
func Run(ctx context.Context, log *slog.Logger, parts ...Part) error {
	type end struct {
		part int
		err  error
	}
	ends := make(chan end, len(parts))
	stops := make([]context.CancelFunc, len(parts))
	dones := make([]chan struct{}, len(parts))
	for i, p := range parts {
		// Not derived from ctx: the order of stopping is ours.
		partCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
		stops[i], dones[i] = stop, make(chan struct{})
		go func() {
			defer close(dones[i])
			ends <- end{i, p.Run(partCtx)}
		}()
	}
	var first error
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case e := <-ends:
		first = e.err
		if first == nil {
			first = errors.New("ended early")
		}
		first = fmt.Errorf("%s: %w", parts[e.part].Name, first)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		stops[i]()
		<-dones[i]
	}
	close(ends)
	for e := range ends {
		if first == nil && e.err != nil && !errors.Is(e.err, context.Canceled) {
			first = fmt.Errorf("%s: %w", parts[e.part].Name, e.err)
		}
	}
	return first
}
