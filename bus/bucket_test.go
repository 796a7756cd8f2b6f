package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

func bucket(t *testing.T, b *bus.Bus, o bus.BucketOptions) *bus.Bucket {
	t.Helper()
	k, err := b.Bucket(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestABucketIsGuardedByRevisions(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	other := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	one, two := bucket(t, server, bus.BucketOptions{Name: "b"}), bucket(t, other, bus.BucketOptions{Name: "b"})
	if v, rev, err := one.Get(t.Context(), "k"); v != nil || rev != 0 || err != nil {
		t.Fatalf("an absent key: %q, %d, %v", v, rev, err)
	}
	first, err := one.Put(t.Context(), "k", []byte("a"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if v, rev, err := two.Get(t.Context(), "k"); string(v) != "a" || rev != first || err != nil {
		t.Fatalf("elsewhere: %q, %d, %v", v, rev, err)
	}
	if _, err := two.Put(t.Context(), "k", []byte("x"), 0); !errors.Is(err, bus.ErrConflict) || !fault.Is(err, fault.Conflict) {
		t.Errorf("a key that is there: %v", err)
	}
	second, err := two.Put(t.Context(), "k", []byte("b"), first)
	if err != nil || second <= first {
		t.Fatalf("%d, %v", second, err)
	}
	if _, err := one.Put(t.Context(), "k", []byte("x"), first); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("an old revision: %v", err)
	}
	if v, _, err := one.Get(t.Context(), "k"); string(v) != "b" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
}

func TestAKeyOfABucketIsAnyText(t *testing.T) {
	t.Parallel()
	k := bucket(t, bustest.New(t), bus.BucketOptions{Name: "b"})
	for i, key := range []string{"a.b", "*", ">", "", "ü", "sha256:abc"} {
		if _, err := k.Put(t.Context(), key, []byte{byte('0' + i)}, 0); err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		if v, _, err := k.Get(t.Context(), key); string(v) != fmt.Sprint(i) || err != nil {
			t.Errorf("%q: %q, %v", key, v, err)
		}
	}
	if _, _, err := k.Get(t.Context(), strings.Repeat("k", 5000)); !fault.Is(err, fault.BadUserInput) {
		t.Errorf("a long key: %v", err)
	}
}

func TestABucketHasBounds(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	full := bucket(t, b, bus.BucketOptions{Name: "full", MaxBytes: 4096, MaxValue: 1000})
	forgets := bucket(t, b, bus.BucketOptions{Name: "forgets", MaxBytes: 4096, Forget: true})
	value := bytes.Repeat([]byte("x"), 1000)
	if _, err := full.Put(t.Context(), "large", append(value, 'x'), 0); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("a large value: %v", err)
	}
	var refused error
	for i := range 8 {
		if _, err := full.Put(t.Context(), fmt.Sprint(i), value, 0); err != nil {
			refused = err
		}
		if _, err := forgets.Put(t.Context(), fmt.Sprint(i), value, 0); err != nil {
			t.Fatal(err)
		}
	}
	if !fault.Is(refused, fault.Unavailable) {
		t.Errorf("a full bucket: %v", refused)
	}
	if v, _, err := full.Get(t.Context(), "0"); v == nil || err != nil {
		t.Errorf("a full bucket forgot what it took: %v", err)
	}
	if v, _, err := forgets.Get(t.Context(), "0"); v != nil || err != nil {
		t.Errorf("the oldest value is still there: %q, %v", v, err)
	}
	if v, _, err := forgets.Get(t.Context(), "7"); v == nil || err != nil {
		t.Errorf("the newest value is gone: %v", err)
	}
}

func TestAValueOfABucketEnds(t *testing.T) {
	t.Parallel()
	k := bucket(t, bustest.New(t), bus.BucketOptions{Name: "b", MaxAge: 200 * time.Millisecond})
	if _, err := k.Put(t.Context(), "k", []byte("v"), 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		v, _, err := k.Get(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			break
		}
	}
	if _, err := k.Put(t.Context(), "k", []byte("v"), 0); err != nil {
		t.Errorf("a key whose value ended is not free: %v", err)
	}
}

func TestABucketOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := bustest.Dir(t, dir)
	if _, err := bucket(t, b, bus.BucketOptions{Name: "b"}).Put(t.Context(), "k", []byte("v"), 0); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, _, err := bucket(t, bustest.Dir(t, dir), bus.BucketOptions{Name: "b", MaxBytes: 1 << 20}).Get(t.Context(), "k"); string(v) != "v" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
}

func TestABucketIsNamedByOneToken(t *testing.T) {
	t.Parallel()
	if _, err := bustest.New(t).Bucket(t.Context(), bus.BucketOptions{Name: "a.b"}); err == nil {
		t.Error("a name with a dot was taken")
	}
}
