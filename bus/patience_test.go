package bus_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

const patienceSubject = "tidings.cmd.User.create"

// apart are two buses on one server: who calls, and who serves.
func apart(t *testing.T) (caller, server *bus.Bus) {
	t.Helper()
	server = bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	return bustest.Open(t, bus.Options{URL: server.URL(), Memory: true}), server
}

// serving answers the subject until stop is called.
func serving(t *testing.T, b *bus.Bus, handle func(context.Context, bus.Message) ([]byte, bus.Header, error)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := b.Serve(ctx, bus.Service{Name: "s", Concurrency: 4, Started: func() { close(started) },
			Endpoints: []bus.Endpoint{{Name: "e", Subject: patienceSubject, Handle: handle}}})
		if err != nil {
			t.Error(err)
		}
	})
	<-started
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

func echo(_ context.Context, m bus.Message) ([]byte, bus.Header, error) { return m.Data, nil, nil }

// asking counts how often a request is made, and how often as one that may have
// been carried out.
func asking(silence time.Duration, times, again *atomic.Int32) bus.Asked {
	return bus.Asked{Subject: patienceSubject, Silence: silence, Make: func(a bool) (bus.Header, []byte, error) {
		times.Add(1)
		if a {
			again.Add(1)
		}
		return nil, []byte("x"), nil
	}}
}

func TestWhoIsPatientGetsTheAnswerOfWhoComesLater(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	p := &bus.Patience{For: time.Minute}
	var times, again atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if m, err := caller.Persist(t.Context(), p, asking(time.Minute, &times, &again)); err != nil || string(m.Data) != "x" {
				t.Errorf("%q, %v", m.Data, err)
			}
		})
	}
	until(t, "each has asked some times", func() bool { return times.Load() >= 60 })
	serving(t, server, echo)
	wg.Wait()
	if again.Load() != 0 {
		t.Error("what nobody had got was sent as if somebody had")
	}
}

func TestARequestThatWasLostIsSentAgain(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	var came atomic.Int32
	lost, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	serving(t, server, func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
		if came.Add(1) == 1 { // dies
			close(lost)
			<-over
		}
		return m.Data, nil, nil
	})
	var times, again atomic.Int32
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	m, err := caller.Persist(ctx, &bus.Patience{For: time.Minute}, asking(20*time.Millisecond, &times, &again))
	<-lost
	if err != nil || string(m.Data) != "x" || times.Load() < 2 || again.Load() != times.Load()-1 {
		t.Errorf("%q, %v; sent %d times, %d of them again", m.Data, err, times.Load(), again.Load())
	}
}

func TestPatienceHasAnEnd(t *testing.T) {
	t.Parallel()
	caller, _ := apart(t)
	p := &bus.Patience{For: 300 * time.Millisecond}
	var times, again atomic.Int32
	start := time.Now()
	if _, err := caller.Persist(t.Context(), p, asking(0, &times, &again)); !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	if times.Load() < 2 || time.Since(start) < 100*time.Millisecond {
		t.Errorf("sent %d times in %s", times.Load(), time.Since(start))
	}
	<-time.After(time.Until(start.Add(p.For + 50*time.Millisecond)))
	times.Store(0)
	if _, err := caller.Persist(t.Context(), p, asking(0, &times, &again)); !fault.Is(err, fault.Unavailable) || times.Load() != 1 {
		t.Errorf("whom nobody has answered for long is not waited for: sent %d times, %v", times.Load(), err)
	}
}

func TestWhatMayHaveBeenDoneIsATimeout(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	took := make(chan struct{})
	stop := serving(t, server, func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
		close(took)
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	go func() { <-took; stop() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var times, again atomic.Int32
	if _, err := caller.Persist(ctx, &bus.Patience{For: 500 * time.Millisecond}, asking(50*time.Millisecond, &times, &again)); !fault.Is(err, fault.Timeout) {
		t.Error(err)
	}
}

func TestNoMoreWaitThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	caller, _ := apart(t)
	p := &bus.Patience{For: time.Minute, Most: 3}
	ctx, cancel := context.WithCancel(t.Context())
	var times, again, refused atomic.Int32
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			_, err := caller.Persist(ctx, p, asking(0, &times, &again))
			if fault.Is(err, fault.Unavailable) && refused.Add(1) == 7 {
				cancel()
			}
		})
	}
	wg.Wait()
	cancel()
	if refused.Load() < 7 {
		t.Errorf("%d of 10 were refused", refused.Load())
	}
}

func TestWhoHasNoPatienceAsksOnce(t *testing.T) {
	t.Parallel()
	caller, _ := apart(t)
	for _, p := range []*bus.Patience{nil, {}} {
		var times, again atomic.Int32
		if _, err := caller.Persist(t.Context(), p, asking(0, &times, &again)); !fault.Is(err, fault.Unavailable) || times.Load() != 1 {
			t.Errorf("sent %d times, %v", times.Load(), err)
		}
	}
}
