package bus_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"tidings/bus"
)

// A leader that was replaced and does not know it refuses what the one that leads
// now stores, and may be the faster one to answer. So nobody can tell by a refusal
// that nothing was stored, while there are several replicas.
func TestARefusalOfALogWithReplicasMayBeThatOfAFormerLeader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	b := openCluster(t, startCluster(t))
	subject := b.Subjects().Record("User", "alice")
	former, err := nats.Connect(bus.Conn(b).ConnectedUrl())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(former.Close)
	if _, err := former.Subscribe(subject, func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 7"},"stream":"tidings-log","seq":0}`))
	}); err != nil {
		t.Fatal(err)
	}
	if err := former.Flush(); err != nil {
		t.Fatal(err)
	}
	seq, err := b.Append(t.Context(), bus.Entry{Subject: subject, Data: []byte(`{}`)})
	if err != nil && (!errors.Is(err, bus.ErrUnknownOutcome) || !errors.Is(err, bus.ErrConflict)) {
		t.Errorf("the refusal is %v", err)
	}
	if err == nil {
		t.Skipf("the leader was faster, and has stored it as %d", seq)
	}
	until(t, "it is stored", func() bool {
		m, err := b.Last(t.Context(), subject)
		return err == nil && m != nil
	})
}
