package auth_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tidings/auth"
	"tidings/fault"
)

// tries allows until it is shut, and holds up who is about to be looked at
// while it has a gate.
type tries struct {
	shut  atomic.Bool
	wrong atomic.Int32
	gate  chan struct{}
	asked atomic.Int32
}

func (s *tries) Allow() error {
	if s.shut.Load() {
		return &fault.Error{Code: fault.RateLimited, Message: "too many", RetryAfter: 6}
	}
	if s.asked.Add(1) > 1 && s.gate != nil { // the first time is before the turn
		<-s.gate
	}
	return nil
}

func (s *tries) Wrong() { s.wrong.Add(1) }

func TestOnlyWrongPasswordsCount(t *testing.T) {
	t.Parallel()
	a, s := accounts(t), &tries{}
	for _, password := range []string{"right", "wrong", "right", "other"} {
		_, _ = a.Password("partner", password, s)
	}
	_, _ = a.Password("nobody", "right", s)
	if n := s.wrong.Load(); n != 3 {
		t.Errorf("%d wrong passwords were counted, want 3", n)
	}
}

func TestWhoMayNotTryIsRefusedUnlessThePasswordIsKnownToBeRight(t *testing.T) {
	t.Parallel()
	a, s := accounts(t), &tries{}
	if _, err := a.Password("partner", "right", s); err != nil {
		t.Fatal(err)
	}
	s.shut.Store(true)
	for _, c := range []struct{ user, password string }{{"partner", "wrong"}, {"batch", "right"}, {"nobody", "right"}} {
		if _, err := a.Password(c.user, c.password, s); !fault.Is(err, fault.RateLimited) || fault.Of(err).RetryAfter != 6 {
			t.Errorf("%s %s: %v", c.user, c.password, err)
		}
	}
	if _, err := a.Password("partner", "right", s); err != nil {
		t.Errorf("who is in was locked out: %v", err)
	}
	if n := s.wrong.Load(); n != 0 {
		t.Errorf("%d passwords were looked at", n)
	}
}

func TestAPasswordThatComesManyTimesAtOnceIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := accounts(t)
		first := &tries{gate: make(chan struct{})}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = a.Password("partner", "wrong", first) })
		synctest.Wait()
		others := &tries{}
		for range 20 {
			wg.Go(func() {
				if _, err := a.Password("partner", "wrong", others); !fault.Is(err, fault.Unauthenticated) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(first.gate)
		wg.Wait()
		if n, m := first.wrong.Load(), others.wrong.Load(); n != 1 || m != 0 {
			t.Errorf("it was looked at %d times, and %d times for the others", n, m)
		}
	})
}

func TestFewPasswordsWaitToBeLookedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := accounts(t)
		gate := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, _ = a.Password("partner", fmt.Sprint("wrong ", i), &tries{gate: gate})
			})
		}
		synctest.Wait()
		if _, err := a.Password("partner", "right", nil); !fault.Is(err, fault.RateLimited) || fault.Of(err).RetryAfter != 1 {
			t.Errorf("a 17th: %v", err)
		}
		close(gate)
		wg.Wait()
		if _, err := a.Password("partner", "right", nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

var _ auth.Tries = (*tries)(nil)
