package quota_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tidings/auth"
	"tidings/quota"
)

var _ auth.Tries = quota.Tries{}

// guess is wrong until it is refused, and returns how often.
func guess(tries func() quota.Tries) int {
	for n := range 1000 {
		t := tries()
		if t.Allow() != nil {
			return n
		}
		t.Wrong()
	}
	return 1000
}

func from(ctx context.Context, address string) context.Context {
	return quota.WithClient(ctx, netip.MustParseAddr(address))
}

func TestWrongPasswordsAreLimitedForEachAddressAndEachAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{WrongFrom: 10, WrongFor: 25, Measure: true})
		try := func(address, account string) int {
			return guess(func() quota.Tries { return l.Tries(from(t.Context(), address), account) })
		}
		for _, c := range []struct {
			address, account string
			want             int
		}{
			{"192.0.2.1", "crm", 10},
			{"192.0.2.1", "erp", 0},
			{"2001:db8::1", "crm", 10},
			{"2001:db8::ffff", "erp", 0}, // of the same network
			{"192.0.2.2", "crm", 5},      // the account's
			{"192.0.2.3", "crm", 0},
			{"192.0.2.3", "erp", 10},
		} {
			if n := try(c.address, c.account); n != c.want {
				t.Errorf("%s at %s: %d were wrong before it was refused, want %d", c.address, c.account, n, c.want)
			}
		}
		if wait := limited(t, l.Tries(from(t.Context(), "192.0.2.1"), "nobody").Allow()); wait != 6*time.Second {
			t.Errorf("the wait is %v", wait)
		}
		if err := l.Request(from(t.Context(), "192.0.2.1"), auth.Principal{}); err != nil {
			t.Errorf("calls without a password are refused too: %v", err)
		}
		time.Sleep(time.Minute)
		if n := try("192.0.2.1", "crm"); n != 10 {
			t.Errorf("after a minute %d", n)
		}
	})
}

func TestWrongPasswordsAreNotLimitedUnlessItIsSaid(t *testing.T) {
	t.Parallel()
	for _, l := range []*quota.Limiter{nil, quota.New(nil, quota.Options{})} {
		if n := guess(func() quota.Tries { return l.Tries(t.Context(), "crm") }); n != 1000 {
			t.Errorf("%d", n)
		}
	}
}

func TestPodsShareTheCountOfWrongPasswords(t *testing.T) {
	t.Parallel()
	list := pods(t, 2, quota.Options{User: quota.Rate{Requests: 1000}, WrongFrom: 10, WrongFor: 10})
	settle(t, list, 0)
	guess(func() quota.Tries { return list[0].Tries(from(t.Context(), "192.0.2.1"), "crm") })
	await(t, func() bool { return list[1].Tries(from(t.Context(), "192.0.2.1"), "erp").Allow() != nil })
	await(t, func() bool { return list[1].Tries(from(t.Context(), "192.0.2.2"), "crm").Allow() != nil })
}
