package resource

import (
	"context"
	"encoding/json"
)

// MakeSnapshot makes a snapshot if one is due.
func MakeSnapshot(ctx context.Context, m *SnapshotMaker) error { return m.look(ctx) }

// SnapshotPosition is where the maker's view stands.
func SnapshotPosition(m *SnapshotMaker) uint64 { return m.view.Position() }

// TakeTurn begins a snapshot that is never finished.
func TakeTurn(ctx context.Context, m *SnapshotMaker) error {
	raw, revision, err := m.turns.Get(ctx, m.key)
	if err != nil {
		return err
	}
	var t turn
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	t.By, t.Begun = m.me, m.o.Now()
	_, err = m.save(ctx, t, revision)
	return err
}
