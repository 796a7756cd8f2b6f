package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// One reader stands still at the first of many large messages; the same
// connection carries another reader of the same stream, and requests.
func TestASlowTailSlowsNobodyElse(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	config := alarms()
	config.AllowDirect = true
	makeStream(t, b, config)
	responder(t, b, "svc", saying("{}"))
	gate, begun, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	slow := 0
	go func() {
		ended <- b.Tail(t.Context(), bus.Tail{Stream: "ALARMS", Subject: "alarms.*"}, func(m bus.Message) error {
			if slow++; slow == 1 {
				close(begun)
				<-gate
			}
			if slow == 100 {
				return errEnough
			}
			return nil
		})
	}()
	large := []byte(strings.Repeat("x", 300<<10))
	fast := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.*"})
	for i := range 100 {
		if err := b.Tell(t.Context(), "ALARMS", "alarms.a", nil, large); err != nil {
			t.Fatal(err)
		}
		fast.expect(t, uint64(i+1))
	}
	<-begun
	if _, err := b.Ask(t.Context(), "svc", "svc", nil, nil); err != nil {
		t.Fatal(err)
	}
	close(gate)
	if err := <-ended; err != errEnough {
		t.Fatal(err)
	}
}

// What is taken out of a stream before the position of a reader does not
// matter to it, however much and however often.
func TestTailGoesOnWhereOldMessagesAreReplaced(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	config := alarms()
	config.MaxMsgsPerSubject = 1
	makeStream(t, b, config)
	told(t, b, "alarms.first")
	r := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.a", New: true})
	for i := range 50 {
		told(t, b, "alarms.a")
		r.expect(t, uint64(i+2))
	}
}

// A stream that other streams fill is not announced by publications on its
// subjects.
func TestTailReadsAStreamThatAnotherFills(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	makeStream(t, b, jetstream.StreamConfig{Name: "COPY", Storage: jetstream.MemoryStorage, Sources: []*jetstream.StreamSource{{
		Name: "ALARMS", SubjectTransforms: []jetstream.SubjectTransformConfig{{Source: "alarms.*", Destination: "copy.{{wildcard(1)}}"}},
	}}})
	r := tail(t, b, bus.Tail{Stream: "COPY", Subject: "copy.*"})
	told(t, b, "alarms.a", "alarms.b")
	r.expect(t, 1, 2)
}

// Messages that are announced together are not always stored together: the last
// one of a burst comes as fast as the first.
func TestTheEndOfABurstDoesNotWait(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	r := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.*"})
	slow := 0
	const bursts, each = 20, 50
	for i := range bursts {
		for range each {
			if err := b.Publish("alarms.a", nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		for n := range each {
			r.expect(t, uint64(i*each+n+1))
		}
		if time.Since(start) > time.Second {
			slow++
		}
	}
	if slow > bursts/4 {
		t.Errorf("%d of %d bursts waited for the next look", slow, bursts)
	}
}

func TestAStreamThatDoesNotAnswerInTimeIsUnavailable(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, _, _, err := b.StreamState(ctx, "ALARMS"); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
}
