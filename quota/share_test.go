package quota_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/quota"
)

// pods are several limiters that share over one server, each by a bus of its own.
func pods(t *testing.T, n int, o quota.Options) []*quota.Limiter {
	t.Helper()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	list := make([]*quota.Limiter, n)
	for i := range list {
		b := server
		if i > 0 {
			b = bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
		}
		list[i] = quota.New(b, o)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- list[i].Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	return list
}

func TestThreePodsShareOneRateWithinASecond(t *testing.T) {
	t.Parallel()
	list := pods(t, 3, quota.Options{Anonymous: quota.Rate{Requests: 100}, User: quota.Rate{Requests: 100, Cost: 1000}})
	// Until all of them hear each other.
	for i := range list {
		settle(t, list, i)
	}
	if n := drain(list[0], t.Context(), ada); n < 100 {
		t.Fatalf("%d requests passed", n)
	}
	start := time.Now()
	for i, l := range list[1:] {
		await(t, func() bool { return l.Request(t.Context(), ada) != nil })
		if took := time.Since(start); took > time.Second {
			t.Errorf("pod %d knew after %v", i+1, took)
		}
	}
	if err := list[1].Request(t.Context(), ben); err != nil {
		t.Errorf("another caller pays for it: %v", err)
	}
	if err := list[2].Spend(t.Context(), ben, 1000); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return list[0].Spend(t.Context(), ben, 1) != nil })
	// A caller without a name is the same one everywhere by the address.
	there := quota.WithClient(t.Context(), netip.MustParseAddr("192.0.2.1"))
	drain(list[2], there, auth.Principal{})
	await(t, func() bool { return list[0].Request(there, auth.Principal{}) != nil })
}

// settle waits until what the pod counts reaches all others.
func settle(t *testing.T, list []*quota.Limiter, from int) {
	t.Helper()
	before := make([]int, len(list))
	for i, l := range list {
		before[i] = l.Callers()
	}
	who := auth.Principal{Subject: "settle", Roles: ada.Roles}
	for i := range list {
		if i == from {
			continue
		}
		await(t, func() bool {
			who.Subject += "."
			_ = list[from].Request(t.Context(), who)
			return list[i].Callers() > before[i]
		})
	}
}

// await polls until the condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen within 20 s")
		}
	}
}
