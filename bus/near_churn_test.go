package bus_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// Services of one subject come and go, as at reloads, under callers of the same
// process: each call is answered, or refused at once, and none is left waiting.
func TestNoCallOfTheProcessIsLostWhenServicesFollowOneAnother(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	var done atomic.Bool
	handle := func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
		if len(m.Data)%3 == 0 {
			bus.Aside(ctx, runtime.Gosched)
		}
		return m.Data, nil, nil
	}
	var callers sync.WaitGroup
	var answered atomic.Int64
	for n := range 16 {
		callers.Go(func() {
			for i := 0; !done.Load(); i++ {
				data := fmt.Sprintf("%d-%d", n, i)
				m, err := b.Call(context.Background(), "tidings.cmd.User.create", nil, []byte(data))
				switch {
				case err == nil && string(m.Data) == data:
					answered.Add(1)
				case fault.Is(err, fault.Unavailable): // nobody is there
				default:
					t.Errorf("%s: %q %v", data, m.Data, err)
					return
				}
			}
		})
	}
	for range 20 {
		stop, before := serve(t, b, endpoint("create", handle)), answered.Load()
		until(t, "calls are answered", func() bool { return answered.Load() > before })
		next := serve(t, b, endpoint("create", handle))
		stop()
		next()
	}
	done.Store(true)
	callers.Wait()
}
