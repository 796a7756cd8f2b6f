package bus

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/sony/gobreaker/v2"

	"tidings/fault"
)

const (
	// breakerFailures in a row open a breaker.
	breakerFailures = 10
	// breakerPause is how long it then stays open before one call may try. It
	// is short: asking where nobody listens costs microseconds, and a worker
	// that came back should not wait for its callers.
	breakerPause = time.Second
	// maxBreakers bounds the map when subjects are made from foreign input;
	// the classes beyond share one.
	maxBreakers = 1000
)

// breakers holds one circuit breaker for each class of subjects, so that a
// silent service does not cost the callers of another.
type breakers struct {
	log    *slog.Logger
	prefix string // of our own subjects
	mu     sync.Mutex
	by     map[string]*breaker
}

type breaker struct {
	*gobreaker.CircuitBreaker[Message]
	seen atomic.Int32 // the state that was logged last
}

// class is the first two tokens of a subject; of our own subjects the first
// three, since a command whose type no worker knows yet says nothing about the
// others.
func (bs *breakers) class(subject string) string {
	tokens := strings.SplitN(subject, ".", 4)
	n := 2
	if tokens[0] == bs.prefix {
		n = 3
	}
	return strings.Join(tokens[:min(n, len(tokens))], ".")
}

func (bs *breakers) of(name string) *breaker {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if b, ok := bs.by[name]; ok {
		return b
	}
	if len(bs.by) >= maxBreakers {
		name = "others"
		if b, ok := bs.by[name]; ok {
			return b
		}
	}
	if bs.by == nil {
		bs.by = map[string]*breaker{}
	}
	chosen := strings.Contains(name, "{{")
	b := &breaker{CircuitBreaker: gobreaker.NewCircuitBreaker[Message](gobreaker.Settings{
		Name:        name,
		Timeout:     breakerPause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		// A caller that went away says nothing about the service, nor does a
		// subject that nobody hears when a caller has chosen it.
		IsExcluded: func(err error) bool {
			return errors.Is(err, context.Canceled) || chosen && errors.Is(err, nats.ErrNoResponders)
		},
		// A service that answers is alive, whatever it answers.
		IsSuccessful: func(err error) bool { _, answered := errors.AsType[*answered](err); return err == nil || answered },
	})}
	bs.by[name] = b
	return b
}

// do runs one call behind the breaker of that name. A change of state is logged by the call that caused it,
// after the fact: inside OnStateChange the breaker holds its lock.
func (bs *breakers) do(ctx context.Context, name string, call func() (Message, error)) (Message, error) {
	b := bs.of(name)
	m, err := b.Execute(call)
	if shut(err) {
		err = fault.Wrap(err, fault.Unavailable, "the service does not answer just now")
	}
	now := b.State()
	if was := b.seen.Swap(int32(now)); was != int32(now) {
		bs.log.LogAttrs(ctx, slog.LevelWarn, "circuit breaker changed", slog.String("breaker", b.Name()), slog.String("state", now.String()))
	}
	return m, err
}

// shut reports whether the breaker did not let a call through.
func shut(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}
