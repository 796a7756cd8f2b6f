package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"tidings/bus"
	"tidings/cmd/internal/boot"
	"tidings/console"
	"tidings/fault"
)

// lookTime is how long processes may take to say that they are there.
const lookTime = 2 * time.Second

// startWorker is the remedy where none answers.
const startWorker = "start a worker with the same settings, and credentials of the role worker: docs/operations.md"

// processes asks which processes of the service are there.
func (x *examination) processes(ctx context.Context, b *bus.Bus, may []string) {
	if x.config.NATSURL == "" {
		return // one process is all there is, and it does not run
	}
	answered := true
	if slices.Contains(may, boot.RoleAPI) || slices.Contains(may, boot.RoleWorker) {
		answered = x.worker(ctx, b)
	}
	if slices.Contains(may, boot.RoleAdmin) && answered {
		x.workers(ctx, b)
	}
	if slices.Contains(may, boot.RoleAPI) {
		x.seen(ctx, b)
	}
}

// worker asks any worker for something that is no command: who refuses it is
// there. It reports false when nobody is.
func (x *examination) worker(ctx context.Context, b *bus.Bus) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	sent := time.Now()
	_, err := b.Reach(ctx, b.Subjects().Transaction(), []byte("?"))
	switch took := time.Since(sent).Round(100 * time.Microsecond); {
	case fault.Is(err, fault.BadRequest):
		x.add("processes", stateOK, "", "a worker answers, in %s", took)
	case fault.Is(err, fault.NotFound):
		x.add("processes", stateFailure, startWorker, "no worker answers: mutations and SOAP calls fail with UNAVAILABLE")
	case fault.Is(err, fault.Timeout):
		x.add("processes", stateFailure, "see whether workers have too much to do: docs/runbook.md", "the workers have not answered within %s", lookTime)
	default:
		x.fail("processes", fmt.Errorf("whether a worker answers is not known: %w", err), startWorker)
	}
	return !fault.Is(err, fault.NotFound)
}

// workers counts them, which an administrator may.
func (x *examination) workers(ctx context.Context, b *bus.Bus) {
	switch n, err := b.Workers(ctx, lookTime); {
	case err != nil:
		x.fail("processes", err, "docs/nats.md, What each role may do")
	case n == 0:
		x.add("processes", stateFailure, startWorker, "no worker is on the bus")
	case n == 1:
		x.add("processes", stateWarning, "start a second one: any of them takes over from another", "one worker is on the bus: while it is started again nothing is written")
	default:
		x.add("processes", stateOK, "", "%d workers are on the bus", n)
	}
}

// seen lists the processes that report themselves, which an api may hear.
func (x *examination) seen(ctx context.Context, b *bus.Bus) {
	list, err := console.Processes(ctx, b, lookTime)
	if err != nil {
		x.fail("processes", err, "let the role api use the subjects of the console: deploy/nats/api.conf")
		return
	}
	if len(list) == 0 {
		x.add("processes", stateSkipped, "", "none reports itself: those do that run with --console")
		return
	}
	count := map[string]int{}
	for _, p := range list {
		count[p.Role]++
		if p.NotReady != "" {
			x.add("processes", stateWarning, "docs/runbook.md", "the %s %s on %s is not ready: %s", p.Role, p.ID, p.Host, p.NotReady)
		}
		if len(p.Open) > 0 {
			x.add("processes", stateWarning, "docs/runbook.md", "the %s %s on %s does not ask: %s", p.Role, p.ID, p.Host, strings.Join(p.Open, ", "))
		}
	}
	var said []string
	for _, role := range slices.Sorted(maps.Keys(count)) {
		said = append(said, fmt.Sprintf("%d %s", count[role], role))
	}
	x.add("processes", stateOK, "", "report themselves: %s", strings.Join(said, ", "))
}

// discard is the log of what looks.
func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
