package bus_test

import (
	"errors"
	"testing"

	"tidings/bus"
	"tidings/fault"
)

// What is refused because of what the log said of a subject is confirmed by the
// log itself: it takes a message only while that is so.
func TestWhatALogWithReplicasSaidIsConfirmed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	b := openCluster(t, startCluster(t))
	alice, bob := b.Subjects().Record("User", "alice"), b.Subjects().Record("User", "bob")
	var seq uint64
	var err error
	until(t, "the log, which was just made, has a leader that hears", func() bool {
		seq, err = b.Append(t.Context(), bus.Entry{Subject: alice, Data: []byte(`{}`)})
		return !fault.Is(err, fault.Unavailable)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if at, err := b.Confirm(t.Context(), alice, seq); err != nil || at <= seq {
			t.Errorf("the newest message of a subject: at %d, %v", at, err)
		}
		if _, err := b.Confirm(t.Context(), bob, 0); err != nil {
			t.Errorf("a subject without messages: %v", err)
		}
		for subject, at := range map[string]uint64{alice: 0, bob: seq} {
			if _, err := b.Confirm(t.Context(), subject, at); !errors.Is(err, bus.ErrConflict) {
				t.Errorf("%s at %d is confirmed: %v", subject, at, err)
			}
		}
	}
}
