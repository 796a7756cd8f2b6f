package bus_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"tidings/bus"
	"tidings/fault"
)

// What lay about in a queue until it may have been sent again is not begun, and is
// answered when it comes the next time.
func TestARequestThatLayAboutIsNotBegun(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	busy, release := make(chan struct{}), make(chan struct{})
	var begun, again atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	served, started := make(chan error, 1), make(chan struct{})
	go func() {
		served <- server.Serve(ctx, bus.Service{Name: "s", Started: func() { close(started) }, Endpoints: []bus.Endpoint{
			{Name: "slow", Subject: "tidings.cmd.Slow.create", Handle: func(context.Context, bus.Message) ([]byte, bus.Header, error) {
				close(busy)
				<-release
				return nil, nil, nil
			}},
			{Name: "e", Subject: patienceSubject, Handle: func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
				begun.Add(1)
				return m.Data, nil, nil
			}},
		}})
	}()
	<-started
	go func() { _, _ = caller.Call(t.Context(), "tidings.cmd.Slow.create", nil, nil) }()
	<-busy
	go func() { // by then the first time is over
		defer close(release)
		until(t, "it is sent again", func() bool { return again.Load() > 0 })
	}()
	var times atomic.Int32
	if m, err := caller.Persist(t.Context(), &bus.Patience{For: time.Minute}, asking(300*time.Millisecond, &times, &again)); err != nil || string(m.Data) != "x" {
		t.Errorf("%q, %v", m.Data, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if begun.Load() != 1 {
		t.Errorf("it was begun %d times, of %d", begun.Load(), times.Load())
	}
}

// A worker whose clock is ahead takes everything for old. It is told it again
// without a time.
func TestClocksThatDifferCostOneMoreQuestion(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	var stamped, bare atomic.Int32
	serving(t, server, func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
		if m.Header.Get("Tidings-Sent") != "" {
			stamped.Add(1)
			return nil, nil, fault.Wrap(bus.ErrStale, fault.Unavailable, "the request came too late")
		}
		bare.Add(1)
		return m.Data, nil, nil
	})
	var times, again atomic.Int32
	m, err := caller.Persist(t.Context(), &bus.Patience{For: time.Minute}, asking(time.Minute, &times, &again))
	if err != nil || string(m.Data) != "x" || stamped.Load() != 1 || bare.Load() != 1 || again.Load() != 0 {
		t.Errorf("%q, %v after %d with a time and %d without; %d as if it had been done", m.Data, err, stamped.Load(), bare.Load(), again.Load())
	}
}

// Who works too long for a request to be good is told so when it asks, and whatever
// it answers, its caller hears that it is to be sent again.
func TestWhoAsksTooLateWhetherARequestIsGoodAnswersNothing(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	var came atomic.Int32
	serving(t, server, func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
		if came.Add(1) > 1 {
			return m.Data, nil, bus.Stale(ctx)
		}
		sent, err := strconv.ParseInt(m.Header.Get("Tidings-Sent"), 10, 64)
		if err != nil {
			return nil, nil, err
		}
		until(t, "it is too old", func() bool { return bus.Stale(ctx) != nil })
		if age := time.Since(time.UnixMilli(sent)); age < 400*time.Millisecond || age > time.Minute {
			t.Errorf("it was good for %s", age)
		}
		return []byte("of no use"), nil, nil
	})
	var times, again atomic.Int32
	m, err := caller.Persist(t.Context(), &bus.Patience{For: time.Minute}, asking(900*time.Millisecond, &times, &again))
	if err != nil || string(m.Data) != "x" {
		t.Errorf("%q, %v", m.Data, err)
	}
}

// What became too old in the middle may have been done in part: it is sent again as
// such, and when there is no time for that its caller is not told that it was not.
func TestWhatBecameTooOldInTheMiddleMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(stale error) error{
		"says nothing of it": func(error) error { return nil },
		"says so":            func(stale error) error { return fault.Wrap(stale, fault.Timeout, "it may have happened") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, server := apart(t)
			serving(t, server, func(ctx context.Context, _ bus.Message) ([]byte, bus.Header, error) {
				until(t, "it is too old", func() bool { return bus.Stale(ctx) != nil })
				return nil, nil, answer(bus.Stale(ctx))
			})
			var times, again atomic.Int32
			_, err := caller.Persist(t.Context(), &bus.Patience{For: 2 * time.Second}, asking(900*time.Millisecond, &times, &again))
			if !fault.Is(err, fault.Timeout) || again.Load() == 0 {
				t.Errorf("%v after %d times, %d of them as if it had been done", err, times.Load(), again.Load())
			}
		})
	}
}

// What takes longer than it was given gets more time when it is sent again.
func TestARequestThatTakesLongGetsMoreTime(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	serving(t, server, func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
		work := time.NewTimer(700 * time.Millisecond) // good for 500 ms at first
		defer work.Stop()
		<-work.C
		return m.Data, nil, bus.Stale(ctx)
	})
	var times, again atomic.Int32
	m, err := caller.Persist(t.Context(), &bus.Patience{For: 8 * time.Second}, asking(time.Second, &times, &again))
	if err != nil || string(m.Data) != "x" {
		t.Errorf("%q, %v after %d times", m.Data, err, times.Load())
	}
}

// A refusal of any code may come of what is stored. While another may still carry the
// request out it is asked for again, and where there is no time for that not told.
func TestNoRefusalIsToldWhileAnotherMayCarryTheRequestOut(t *testing.T) {
	t.Parallel()
	refusal := fault.New(fault.BadUserInput, "there is no such team")
	for name, s := range map[string]struct {
		wait    time.Duration
		settled bool
	}{"there is no time": {50 * time.Millisecond, true}, "there is time": {time.Minute, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), s.wait)
			defer cancel()
			open := time.Hour
			if !s.settled {
				open = 10 * time.Millisecond
			}
			settled, err := bus.Settled(ctx, time.Now().Add(open), refusal)
			if settled != s.settled || settled && !fault.Is(err, fault.Timeout) {
				t.Errorf("%t, %v", settled, err)
			}
		})
	}
}

// A refusal may travel as an answer: it says so, and is held back like any other
// while whoever had the request first may still carry it out.
func TestARefusalThatTravelsAsAnAnswerIsHeldBackToo(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		header bus.Header
		times  int32
	}{
		"a refusal": {bus.Header{bus.HeaderRefused: {"1"}}, 3},
		"a success": {nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, server := apart(t)
			var came, times, again atomic.Int32
			serving(t, server, func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
				switch came.Add(1) {
				case 1: // stands still while the line is cut
					return nil, nil, errors.Join(bus.Conn(caller).ForceReconnect(), fault.New(fault.Internal, "nobody hears this"))
				case 2:
					return []byte("second"), s.header, nil
				}
				return []byte("third"), s.header, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			m, err := caller.Persist(ctx, &bus.Patience{For: time.Minute}, asking(5*time.Second, &times, &again))
			if err != nil || times.Load() != s.times || again.Load() != s.times-1 {
				t.Errorf("%q, %v after %d times, %d of them as if it had been done", m.Data, err, times.Load(), again.Load())
			}
		})
	}
}

// Where there is no time to ask again, the caller is not told of the refusal.
func TestARefusalThatTravelsAsAnAnswerIsNotToldTooEarly(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	var came, times, again atomic.Int32
	serving(t, server, func(context.Context, bus.Message) ([]byte, bus.Header, error) {
		if came.Add(1) == 1 {
			return nil, nil, bus.Conn(caller).ForceReconnect()
		}
		return []byte("no"), bus.Header{bus.HeaderRefused: {"1"}}, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if m, err := caller.Persist(ctx, &bus.Patience{For: time.Minute}, asking(time.Minute, &times, &again)); !fault.Is(err, fault.Timeout) || m.Data != nil {
		t.Errorf("%q, %v after %d times", m.Data, err, times.Load())
	}
}

// What is asked for on account of a request is good for no longer than that one:
// otherwise it would be carried out after that one's caller has been told no.
func TestWhatIsAskedOnAccountOfARequestIsGoodForNoLonger(t *testing.T) {
	t.Parallel()
	caller, first := apart(t)
	var came atomic.Int32
	var within, over atomic.Bool
	inner := func(_ context.Context, m bus.Message) ([]byte, bus.Header, error) {
		good, err := strconv.Atoi(m.Header.Get("Tidings-Good"))
		within.Store(err == nil && good <= 900)
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	served, started := make(chan error, 1), make(chan struct{})
	go func() {
		served <- first.Serve(ctx, bus.Service{Name: "s", Concurrency: 4, Started: func() { close(started) }, Endpoints: []bus.Endpoint{
			{Name: "inner", Subject: "tidings.cmd.Inner.create", Handle: inner},
			{Name: "e", Subject: patienceSubject, Handle: func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
				ask := func() error {
					_, err := first.Persist(ctx, &bus.Patience{For: time.Minute}, bus.Asked{Subject: "tidings.cmd.Inner.create", Silence: time.Minute,
						Make: func(bool) (bus.Header, []byte, error) { return nil, nil, nil }})
					return err
				}
				if came.Add(1) > 1 {
					return m.Data, nil, nil
				}
				err := ask()
				until(t, "it is too old", func() bool { return bus.Stale(ctx) != nil })
				over.Store(errors.Is(ask(), bus.ErrStale))
				return nil, nil, err
			}},
		}})
	}()
	<-started
	var times, again atomic.Int32
	if _, err := caller.Persist(t.Context(), &bus.Patience{For: time.Minute}, asking(1400*time.Millisecond, &times, &again)); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !within.Load() || !over.Load() {
		t.Errorf("it was good for no longer: %t; it was not sent when that was over: %t", within.Load(), over.Load())
	}
}

// A worker whose clock is behind its caller's holds a request that it has got for no
// longer than others do.
func TestARequestFromAClockThatIsAheadIsGoodForNoLonger(t *testing.T) {
	t.Parallel()
	caller, server := apart(t)
	serving(t, server, func(ctx context.Context, _ bus.Message) ([]byte, bus.Header, error) {
		until(t, "it is too old", func() bool { return bus.Stale(ctx) != nil })
		return nil, nil, bus.Stale(ctx)
	})
	h := bus.Header{"Tidings-Sent": {strconv.FormatInt(time.Now().Add(5*time.Minute).UnixMilli(), 10)}, "Tidings-Good": {"300"}, bus.HeaderTimeout: {"60000"}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := caller.Call(ctx, patienceSubject, h, nil); !errors.Is(err, bus.ErrStale) {
		t.Error(err)
	}
}

// A lease under a request is over with it, and a lease alone does not make the
// request too old.
func TestALeaseUnderALeaseEndsWithEither(t *testing.T) {
	t.Parallel()
	far, near := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	for name, c := range map[string]struct {
		outer, inner time.Time
		over         bool
	}{"both last": {far, far, false}, "the outer is over": {near, far, true}, "the inner is over": {far, near, true}} {
		outer, _ := bus.WithLease(t.Context(), c.outer)
		inner, _ := bus.WithLease(outer, c.inner)
		if over := errors.Is(bus.Stale(inner), bus.ErrStale); over != c.over {
			t.Errorf("%s: over is %t", name, over)
		}
		if over := errors.Is(bus.Stale(outer), bus.ErrStale); over != (c.outer == near) {
			t.Errorf("%s: of the outer one over is %t", name, over)
		}
	}
}
