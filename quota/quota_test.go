package quota_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/quota"
	"tidings/schema"
)

var (
	ada  = auth.Principal{Subject: "ada", Roles: schema.User}
	ben  = auth.Principal{Subject: "ben", Roles: schema.User}
	root = auth.Principal{Subject: "root", Roles: schema.Admin}
	crm  = auth.Principal{Subject: "crm", Roles: schema.Service | schema.User}
)

func limited(t testing.TB, err error) time.Duration {
	t.Helper()
	x, ok := errors.AsType[*quota.Exceeded](err)
	if !ok || !fault.Is(err, fault.RateLimited) || x.After <= 0 {
		t.Fatalf("want RATE_LIMITED with a time, got %v", err)
	}
	return x.After
}

// drain makes requests until one is refused, and returns how many were not.
func drain(l *quota.Limiter, ctx context.Context, who auth.Principal) int {
	for n := range 10_000 {
		if l.Request(ctx, who) != nil {
			return n
		}
	}
	return 10_000
}

func TestMoreThanAMinutesRequestsAreRefusedAndComeBackEvenly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{User: quota.Rate{Requests: 100, Cost: 100_000}})
		if n := drain(l, t.Context(), ada); n != 100 {
			t.Fatalf("%d requests passed at once", n)
		}
		wait := limited(t, l.Peek(t.Context(), ada))
		if again := limited(t, l.Request(t.Context(), ada)); again != wait {
			t.Errorf("a look says %v, the request %v", wait, again)
		}
		if wait != 600*time.Millisecond {
			t.Errorf("the wait is %v", wait)
		}
		if err := l.Request(t.Context(), ben); err != nil {
			t.Errorf("another caller pays for it: %v", err)
		}
		time.Sleep(wait)
		for range 3 { // to look costs nothing
			if err := l.Peek(t.Context(), ada); err != nil {
				t.Error(err)
			}
		}
		if n := drain(l, t.Context(), ada); n != 1 {
			t.Errorf("%d requests passed after the wait", n)
		}
		time.Sleep(time.Minute)
		if n := drain(l, t.Context(), ada); n != 100 {
			t.Errorf("%d requests passed after a minute", n)
		}
	})
}

func TestMoreThanAMinutesCostIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{User: quota.Rate{Requests: 100, Cost: 1000}})
		for _, cost := range []int{600, 400} {
			if err := l.Spend(t.Context(), ada, cost); err != nil {
				t.Fatal(err)
			}
		}
		if wait := limited(t, l.Spend(t.Context(), ada, 100)); wait != 6*time.Second {
			t.Errorf("the wait is %v", wait)
		}
		if err := l.Spend(t.Context(), ada, 0); err != nil {
			t.Errorf("what costs nothing is refused: %v", err)
		}
		time.Sleep(time.Minute)
		if err := l.Spend(t.Context(), ada, 5000); err != nil {
			t.Errorf("what is dearer than a minute could never be asked for: %v", err)
		}
		limited(t, l.Spend(t.Context(), ada, 1))
	})
}

func TestEachClassHasItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{Anonymous: quota.Rate{Requests: 3}, User: quota.Rate{Requests: 5}})
		for who, want := range map[auth.Principal]int{{}: 3, ada: 5, root: 5, crm: 10_000} {
			if n := drain(l, t.Context(), who); n != want {
				t.Errorf("%q: %d requests passed, want %d", who.Subject, n, want)
			}
		}
	})
}

func TestAnonymousCallersAreToldApartByTheirNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{Anonymous: quota.Rate{Requests: 2}})
		from := func(addr string) int {
			return drain(l, quota.WithClient(t.Context(), netip.MustParseAddr(addr)), auth.Principal{})
		}
		for _, c := range []struct {
			addr string
			want int
		}{
			{"192.0.2.1", 2}, {"192.0.2.2", 2}, {"::ffff:192.0.2.2", 0},
			{"2001:db8::1", 2}, {"2001:db8::ffff:1", 0}, {"2001:db8:0:1::1", 2},
		} {
			if n := from(c.addr); n != c.want {
				t.Errorf("%s: %d requests passed, want %d", c.addr, n, c.want)
			}
		}
	})
}

func TestANilLimiterLimitsNobody(t *testing.T) {
	t.Parallel()
	var l *quota.Limiter
	if err := errors.Join(l.Request(t.Context(), ada), l.Spend(t.Context(), ada, 1<<30)); err != nil {
		t.Error(err)
	}
}

func TestMeasuringTellsTheLogAndRefusesNobody(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	l := quota.New(nil, quota.Options{User: quota.Rate{Requests: 3}, Measure: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if n := drain(l, t.Context(), ada); n != 10_000 {
		t.Errorf("%d requests passed", n)
	}
	if !strings.Contains(log.String(), "user=ada") {
		t.Errorf("the log says %.300s", log.String())
	}
}

func TestIdleCallersAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{User: quota.Rate{Requests: 60}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		for i := range 1000 {
			if err := l.Request(ctx, auth.Principal{Subject: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if n := l.Callers(); n != 1000 {
			t.Errorf("%d callers are counted", n)
		}
		time.Sleep(15 * time.Second)
		if n := l.Callers(); n != 0 {
			t.Errorf("%d callers are counted still", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestManyCallersTakeBoundedMemoryAndTheBusyStayCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{User: quota.Rate{Requests: 100}, Callers: 500})
		drain(l, t.Context(), ada)
		for i := range 50_000 {
			if err := l.Request(t.Context(), auth.Principal{Subject: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if n := l.Callers(); n != 500 {
			t.Errorf("%d callers are counted", n)
		}
		limited(t, l.Request(t.Context(), ada))
	})
}

func TestRatesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]quota.Rate{
		"": {}, "0": {}, "100": {Requests: 100}, "100/100000": {Requests: 100, Cost: 100_000}, "/5": {Cost: 5}, " 0/7 ": {Cost: 7},
	} {
		if got, err := quota.ParseRate(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"many", "-1", "1/-1", "1/2/3", "10/", "1e3", "99999999999"} {
		if got, err := quota.ParseRate(text); err == nil || !strings.Contains(err.Error(), "100/100000") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzReportsOfOtherProcesses(f *testing.F) {
	f.Add([]byte(`{"from":"x","used":[{"key":"` + quota.Sample('u') + `","requests":3,"cost":40}]}`))
	f.Add([]byte(`{"from":"x","used":[{"key":"` + quota.Sample('z') + `","requests":9223372036854775807,"cost":-1}]}`))
	f.Add([]byte(`{"used":null}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := quota.New(nil, quota.Options{Anonymous: quota.Rate{Requests: 1}, User: quota.Rate{Requests: 10, Cost: 10}, Callers: 3})
		l.Hear(data)
		l.Hear(data)
		if n := l.Callers(); n > 3 {
			t.Errorf("%d callers", n)
		}
		if err := l.Request(t.Context(), ada); err != nil { // nobody hits on her key by chance
			t.Error(err)
		}
	})
}

func TestNobodyIsShutOutForLongByAReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := quota.New(nil, quota.Options{User: quota.Rate{Requests: 10, Cost: 10}})
		report, err := json.Marshal(map[string]any{"from": "x", "used": []any{map[string]any{"key": quota.Key(ada), "requests": 1 << 62, "cost": 1 << 62}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			l.Hear(report)
		}
		if wait := limited(t, l.Request(t.Context(), ada)); wait > 2*time.Minute {
			t.Errorf("the wait is %v", wait)
		}
	})
}
