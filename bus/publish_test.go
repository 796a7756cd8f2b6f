package bus_test

import (
	"context"
	"strings"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestWhatIsPublishedReachesThoseWhoSubscribe(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	subject := b.Subjects().Control("test")
	if subject != "tidings.ctl.test" {
		t.Error(subject)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan bus.Message, 8)
	var ready [2]chan struct{}
	ended := make(chan error, len(ready))
	for i := range ready {
		ready[i] = make(chan struct{})
		go func() {
			ended <- b.Subscribe(ctx, subject, func() { close(ready[i]) }, func(m bus.Message) { got <- m })
		}()
		<-ready[i]
	}
	if err := b.Publish(subject, bus.Header{"K": {"v"}}, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	for range ready {
		if m := <-got; string(m.Data) != "hello" || m.Header.Get("K") != "v" || m.Subject != subject {
			t.Errorf("got %+v", m)
		}
	}
	cancel()
	for range ready {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := b.Publish(subject, nil, nil); err != nil {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestATooLongSubjectIsNotPublished(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if err := b.Publish(strings.Repeat("x", 5000), nil, nil); err == nil {
		t.Error("it was published")
	}
}
