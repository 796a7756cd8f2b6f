package resource

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/view"
)

// SnapshotOptions tunes a SnapshotMaker.
type SnapshotOptions struct {
	// Every is how often a snapshot is made at most. It must not be 0.
	Every time.Duration
	// Changes is how many messages must have come since the last one. A log with
	// fewer has none: it is read in a moment. Zero means 100,000. When the last one
	// is a day old, a new one is made however few came.
	Changes uint64
	// Look is how often it is looked whether one is due. Zero means a twentieth of
	// Every, from 1 s to 1 min.
	Look time.Duration
	// Now replaces the clock; nil means the time.
	Now func() time.Time
	// Logger; nil means silent.
	Logger *slog.Logger
}

// SnapshotMaker makes snapshots of a process's view now and then. Each worker has
// one; all of them share the turns, so that one at a time makes the snapshot of a
// schema, and none makes one that another has just made.
type SnapshotMaker struct {
	store  *Snapshots
	view   SnapshotView
	feed   *Feed
	turns  *bus.Bucket
	key    string
	me     string
	o      SnapshotOptions
	paused time.Time // until then this one does not try again
}

// SnapshotView is what a snapshot is taken of: a view.View.
type SnapshotView interface {
	Position() uint64
	Snapshot(ctx context.Context) (*view.Snapshot, error)
	Ready() error
}

// SnapshotBucket is the name of the bucket in which workers share their turns.
const SnapshotBucket = "snapshots"

// makingLimit is how long one may take; who takes longer has lost the turn.
const makingLimit = 30 * time.Minute

// turn is what workers share of a schema's snapshots (docs/bus.md).
type turn struct {
	Log   string    `json:"log"`            // bus.LogID
	Made  time.Time `json:"made,omitzero"`  // when the last one was finished
	Seq   uint64    `json:"seq,omitempty"`  // where that one stands
	By    string    `json:"by,omitempty"`   // who is making one now
	Begun time.Time `json:"begun,omitzero"` // since when
}

// EnsureSnapshots creates the store of snapshots, and the bucket in which workers
// share their turns, when they are absent.
func EnsureSnapshots(ctx context.Context, b *bus.Bus) (*bus.Bucket, error) {
	if err := NewSnapshots(b, "", nil).objects.Ensure(ctx); err != nil {
		return nil, err
	}
	return b.Bucket(ctx, bus.BucketOptions{Name: SnapshotBucket, Description: "Who makes the snapshots of views, and when.", MaxValue: 4 << 10, MaxAge: snapshotAge})
}

// OpenSnapshotMaker opens what the makers share. Run makes it go.
func OpenSnapshotMaker(ctx context.Context, s *Snapshots, v SnapshotView, f *Feed, o SnapshotOptions) (*SnapshotMaker, error) {
	turns, err := EnsureSnapshots(ctx, s.bus)
	if err != nil {
		return nil, err
	}
	o.Changes = cmp.Or(o.Changes, 100_000)
	o.Look = cmp.Or(o.Look, min(max(o.Every/20, time.Second), time.Minute))
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	return &SnapshotMaker{store: s, view: v, feed: f, turns: turns, key: fmt.Sprintf("%.16s", s.fingerprint), me: rand.Text(), o: o}, nil
}

// Run makes snapshots until ctx ends. What fails is logged and tried again.
func (m *SnapshotMaker) Run(ctx context.Context) error {
	select {
	case <-m.feed.Ready():
	case <-ctx.Done():
		return nil
	}
	look := time.NewTicker(m.o.Look)
	defer look.Stop()
	for {
		if err := m.look(ctx); err != nil && ctx.Err() == nil {
			m.paused = m.o.Now().Add(max(m.o.Every/4, m.o.Look))
			m.o.Logger.LogAttrs(ctx, slog.LevelWarn, "no snapshot of the view was made", slog.Any("error", err))
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look makes a snapshot when one is due and it is this one's turn.
func (m *SnapshotMaker) look(ctx context.Context) error {
	now := m.o.Now()
	if m.view.Position() < m.o.Changes || now.Before(m.paused) || errors.Join(m.feed.Whole(), m.view.Ready()) != nil {
		return nil
	}
	raw, revision, err := m.turns.Get(ctx, m.key)
	if err != nil {
		return err
	}
	var t turn
	if raw != nil && json.Unmarshal(raw, &t) != nil || t.Log != m.store.bus.LogID() {
		t = turn{Log: m.store.bus.LogID()}
	}
	if !m.due(t, now) {
		return nil
	}
	t.By, t.Begun = m.me, now
	revision, err = m.save(ctx, t, revision)
	if fault.Is(err, fault.Conflict) { // another one was faster
		return nil
	}
	if err != nil {
		return err
	}
	position, err := m.make(ctx)
	if err == nil {
		t.Made, t.Seq = m.o.Now(), position
	}
	t.By, t.Begun = "", time.Time{}
	_, saveErr := m.save(context.WithoutCancel(ctx), t, revision)
	return errors.Join(err, saveErr)
}

func (m *SnapshotMaker) due(t turn, now time.Time) bool {
	since := now.Sub(t.Made)
	switch {
	case t.By != "" && now.Sub(t.Begun) < makingLimit:
		return false
	case t.Made.IsZero() || since >= refreshAge:
		return true
	}
	return since >= m.o.Every && m.view.Position() >= t.Seq+m.o.Changes
}

func (m *SnapshotMaker) save(ctx context.Context, t turn, revision uint64) (uint64, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return 0, err
	}
	return m.turns.Put(ctx, m.key, raw, revision)
}

// make stores a snapshot, and then removes what it replaces.
func (m *SnapshotMaker) make(ctx context.Context) (position uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, makingLimit-time.Minute)
	defer cancel()
	start := time.Now()
	s, err := m.view.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	err = m.store.put(ctx, s)
	if err = errors.Join(err, s.Close()); err != nil {
		return 0, err
	}
	m.o.Logger.LogAttrs(ctx, slog.LevelInfo, "a snapshot of the view is stored", slog.Uint64("seq", s.Position),
		slog.Int64("bytes", s.Bytes), slog.Duration("took", time.Since(start)))
	if err := m.store.prune(ctx, m.o.Now()); err != nil {
		m.o.Logger.LogAttrs(ctx, slog.LevelWarn, "old snapshots of the view cannot be removed", slog.Any("error", err))
	}
	return s.Position, nil
}

// Made tells when the newest snapshot of this schema's view was finished, by
// whichever worker; zero before the first. It may be called concurrently with Run.
func (m *SnapshotMaker) Made(ctx context.Context) (time.Time, error) {
	raw, _, err := m.turns.Get(ctx, m.key)
	var t turn
	if err != nil || raw == nil || json.Unmarshal(raw, &t) != nil || t.Log != m.store.bus.LogID() {
		return time.Time{}, err
	}
	return t.Made, nil
}
