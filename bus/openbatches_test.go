package bus_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// Writers that were killed in the midst of a batch leave it open at the server,
// which holds back so many and no more, for seconds: another writer's batch is
// refused as what may succeed later, and is stored in no part.
func TestOpenBatchesOfTheDeadAreNoFaultOfTheLiving(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for i := range 60 {
		m := &nats.Msg{Subject: fmt.Sprintf("tidings.log.Dead.%d", i), Header: nats.Header{"Nats-Batch-Id": {fmt.Sprintf("dead%d", i)}, "Nats-Batch-Sequence": {"1"}}}
		if err := bus.Conn(b).PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Append(t.Context(), bus.Entry{Subject: "tidings.log.Post.1", Data: []byte("{}")}, bus.Entry{Subject: "tidings.log.Post.2", Data: []byte("{}")})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("a batch: %v", err)
	}
	if _, err := b.Append(t.Context(), bus.Entry{Subject: "tidings.log.Post.1", Data: []byte("{}")}); err != nil {
		t.Errorf("one by itself: %v", err)
	}
	if _, last, err := b.State(t.Context()); err != nil || last != 1 {
		t.Errorf("the log ends at %d, %v", last, err)
	}
}
