package bus_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// absentBucket opens a bucket as p bears it and takes its stream away; back brings
// an empty one.
func absentBucket(t *testing.T, p *bus.Patience) (k *bus.Bucket, back func()) {
	t.Helper()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	b := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	k = bucket(t, b, bus.BucketOptions{Name: "b", Patience: p})
	nc, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	name := "KV_" + b.Subjects().Bucket("b")
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	if err := js.DeleteStream(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return k, func() {
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Error(err)
		}
	}
}

func TestABucketWithPatienceIsWaitedFor(t *testing.T) {
	t.Parallel()
	for what, use := range map[string]func(k *bus.Bucket) error{
		"written": func(k *bus.Bucket) error { _, err := k.Put(t.Context(), "k", []byte("v"), 0); return err },
		"read":    func(k *bus.Bucket) error { _, _, err := k.Get(t.Context(), "k"); return err },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := &bus.Patience{For: time.Minute}
			k, back := absentBucket(t, p)
			done := make(chan error, 1)
			go func() { done <- use(k) }()
			until(t, "it was tried some times", func() bool { return p.Repeated() >= 3 })
			back()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestABucketThatIsAwayIsUnavailableWithoutPatience(t *testing.T) {
	t.Parallel()
	k, _ := absentBucket(t, nil)
	if _, err := k.Put(t.Context(), "k", nil, 0); !fault.Is(err, fault.Unavailable) {
		t.Errorf("put: %v", err)
	}
	if _, _, err := k.Get(t.Context(), "k"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("get: %v", err)
	}
}
