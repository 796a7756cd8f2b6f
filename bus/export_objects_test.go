package bus

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// PutOrphan stores a chunk as a writer does who is killed before the end.
func PutOrphan(t *testing.T, o *Objects, data []byte) {
	t.Helper()
	if _, err := o.bus.js.Publish(t.Context(), "$O."+o.name+".C.orphan", data); err != nil {
		t.Fatal(err)
	}
}

// Chunks is how many objects have chunks in the store, whole or not.
func Chunks(t *testing.T, o *Objects) int {
	t.Helper()
	stream, err := o.bus.js.Stream(t.Context(), o.stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("$O."+o.name+".C.*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(info.State.Subjects)
}
