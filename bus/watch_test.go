package bus_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestAWatchHearsWhatIsThereAndWhatComes(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	other := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	mine, theirs := bucket(t, server, bus.BucketOptions{Name: "b"}), bucket(t, other, bus.BucketOptions{Name: "b"})
	put := func(k *bus.Bucket, key, value string) {
		t.Helper()
		err := k.Update(t.Context(), key, func([]byte) ([]byte, error) { return []byte(value), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	put(mine, "k", "overwritten")
	put(mine, "k", "first")
	put(mine, "l", "second")
	var all []string
	if err := theirs.All(t.Context(), func(v []byte) error { all = append(all, string(v)); return nil }); err != nil || !slices.Equal(all, []string{"first", "second"}) {
		t.Errorf("%v, %v", all, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	heard, done := make(chan string, 100), make(chan error, 1)
	go func() { done <- theirs.Watch(ctx, func(v []byte) { heard <- string(v) }) }()
	await := func(want string) {
		t.Helper()
		for late := time.After(20 * time.Second); ; {
			select {
			case got := <-heard:
				if got == want {
					return
				}
			case <-late:
				t.Fatalf("%q was not heard", want)
			}
		}
	}
	await("second")
	put(mine, "k", "third")
	await("third")
	put(theirs, "m", "fourth")
	await("fourth")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnUpdateMayLeaveTheValueAsItIs(t *testing.T) {
	t.Parallel()
	k := bucket(t, bustest.New(t), bus.BucketOptions{Name: "b"})
	for _, next := range []string{"a", "", "b"} {
		err := k.Update(t.Context(), "k", func([]byte) ([]byte, error) {
			if next == "" {
				return nil, nil
			}
			return []byte(next), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if v, rev, err := k.Get(t.Context(), "k"); string(v) != "b" || rev != 2 || err != nil {
		t.Errorf("%q %d %v", v, rev, err)
	}
}
