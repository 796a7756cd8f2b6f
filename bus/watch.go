package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// watchEvery is how often a bucket is asked whether it holds more than was seen.
const watchEvery = 2 * time.Second

// All hands fn every value that the bucket holds, the oldest first. What is
// written meanwhile may be missing. An error of fn ends it and is returned as it
// is.
func (k *Bucket) All(ctx context.Context, fn func(value []byte) error) error {
	_, err := k.all(ctx, 0, fn)
	return err
}

// all reads the bucket if it holds more than after, and returns how far it got.
func (k *Bucket) all(ctx context.Context, after uint64, fn func(value []byte) error) (uint64, error) {
	state, err := k.bus.stateOf(ctx, k.stream)
	if err != nil {
		return after, fmt.Errorf("read %s: %w", k.stream, unavailable(err))
	}
	if state.last == after || state.last == 0 {
		return state.last, nil
	}
	l := latest{bus: k.bus, stream: k.stream, replicated: func() bool { return k.replicated }, filter: k.keys + ">", upto: state.last, fn: func(m Message) error {
		if m.Header.Get("KV-Operation") != "" { // deleted, by an operator
			return nil
		}
		return fn(m.Data)
	}}
	if err := l.all(ctx); err != nil {
		return after, err
	}
	return state.last, nil
}

// Watch hands fn every value that the bucket holds, and then each that is
// written, as soon as its writer has sent it, until ctx ends; then it returns
// nil. A value may come twice, and one that was overwritten at once may not come.
// What is written while the connection is away comes when it is back, and what
// was lost in another way within some seconds. The calls of fn do not overlap,
// and none runs when Watch has returned.
//
// A writer whom the bucket refuses has been heard nevertheless: what a value
// says must be true whether or not it is kept.
func (k *Bucket) Watch(ctx context.Context, fn func(value []byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := watch{bucket: k, fn: fn, look: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		defer cancel()
		h := hearing{fn: w.hear, lost: w.again}
		failed = h.run(ctx, k.bus, k.keys+">", w.again)
	})
	w.read(ctx)
	wg.Wait()
	if failed != nil {
		return fmt.Errorf("watch %s: %w", k.stream, unavailable(failed))
	}
	return nil
}

type watch struct {
	bucket *Bucket
	look   chan struct{} // something may have been missed

	mu sync.Mutex
	fn func(value []byte)
}

func (w *watch) again() {
	select {
	case w.look <- struct{}{}:
	default:
	}
}

func (w *watch) hear(m Message) {
	if m.Header.Get("KV-Operation") != "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fn(m.Data)
}

// read reads what the bucket holds whenever that may be more than was seen.
func (w *watch) read(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var seen uint64
	for {
		select {
		case <-w.look:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		reached, err := w.bucket.all(ctx, seen, func(value []byte) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.fn(value)
			return nil
		})
		if err == nil {
			seen = reached
		}
	}
}

// Update writes what change makes of a key's value, which is nil when there is
// none; nil as the result leaves it. It tries again when another process was
// faster. Errors are those of Get and Put, and of change as they are.
func (k *Bucket) Update(ctx context.Context, key string, change func(value []byte) ([]byte, error)) error {
	for {
		old, revision, err := k.Get(ctx, key)
		if err != nil {
			return err
		}
		value, err := change(old)
		if value == nil || err != nil {
			return err
		}
		if _, err := k.Put(ctx, key, value, revision); !errors.Is(err, ErrConflict) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
