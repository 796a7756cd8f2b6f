package view

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"time"
)

// What Apply took in is shown at once and reaches the file a moment later,
// together with what came meanwhile: a transaction costs as much as ten of the
// records that it writes. Until then it is here, by type and id, where Get finds
// it. A read that needs SQL over a type with changes that are not written yet
// has them written first, so every read shows the position. The file knows its
// own position: what a process takes with it when it dies is read from the log
// again.
//
// A record is looked up here before the file, and is taken out of here after
// the transaction that wrote it was committed, so that it is always found in one
// of the two.

const (
	// gather is how long the first change waits for others.
	gather = 25 * time.Millisecond
	// maxUnwritten and maxUnwrittenBytes bound what waits: the next Apply writes
	// it first. Together with what is being written and the changes of that
	// Apply it is three times as much at most.
	maxUnwritten      = 2000
	maxUnwrittenBytes = 8 << 20
	// breath is after how many records the writing lets others run, unless
	// somebody waits for its end.
	breath = 4
)

// behind is what the file lacks.
type behind struct {
	mu      sync.RWMutex
	waiting *layer
	leaving *layer // being written; nil: none
	trouble error  // why the last transaction failed, if it did
}

// layer holds the newest change of each record, up to a sequence of the log.
type layer struct {
	upto  uint64
	marks marks
	rows  []row // in the order of the records' first change
	at    map[recordKey]int
	bytes int
}

// row is a change as it is written.
type row struct {
	key   recordKey
	table *table
	raw   []byte // nil: deleted
	args  []any  // of the statement
}

// newLayer returns an empty layer with room for so many records.
func newLayer(room int) *layer {
	return &layer{rows: make([]row, 0, room), at: make(map[recordKey]int, room)}
}

func (l *layer) put(r row) {
	l.bytes += len(r.raw)
	if i, ok := l.at[r.key]; ok {
		l.bytes -= len(l.rows[i].raw)
		l.rows[i] = r
		return
	}
	l.at[r.key] = len(l.rows)
	l.rows = append(l.rows, r)
}

// find reports whether the layer knows a record; doc is nil for a deleted one.
func (l *layer) find(key recordKey) (doc []byte, known bool) {
	if l == nil {
		return nil, false
	}
	i, known := l.at[key]
	if known {
		doc = l.rows[i].raw
	}
	return doc, known
}

// add shows changes up to a sequence, all of them at once.
func (b *behind) add(upto uint64, m marks, rows []row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.upto, b.waiting.marks = upto, m
	for _, r := range rows {
		b.waiting.put(r)
	}
}

// full reports whether Apply must write before it takes more.
func (b *behind) full() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.trouble != nil || len(b.waiting.rows) >= maxUnwritten || b.waiting.bytes >= maxUnwrittenBytes
}

// find reports whether a record is newer than the file; doc is nil for a deleted one.
func (b *behind) find(typ, id string) (doc []byte, known bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.findLocked(recordKey{typ, id})
}

func (b *behind) findLocked(key recordKey) (doc []byte, known bool) {
	if doc, known = b.waiting.find(key); !known {
		doc, known = b.leaving.find(key)
	}
	return doc, known
}

// look fills in the records that the file does not have yet, and returns the
// indexes of the others.
func (b *behind) look(typ string, ids []string, docs [][]byte) (others []int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i, id := range ids {
		doc, known := b.findLocked(recordKey{typ, id})
		if !known {
			others = append(others, i)
		} else if doc != nil {
			docs[i] = bytes.Clone(doc) // a part of a larger message
		}
	}
	return others
}

// leave takes what is to be written; nil when there is nothing.
func (b *behind) leave() *layer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.upto == 0 {
		return nil
	}
	b.leaving, b.waiting = b.waiting, newLayer(len(b.waiting.rows)) // what comes is often as much
	return b.leaving
}

// left ends what leave began. What could not be written waits again, below
// what came since.
func (b *behind) left(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble = err; err != nil {
		older := b.leaving
		for _, r := range b.waiting.rows {
			older.put(r)
		}
		if b.waiting.upto > older.upto {
			older.upto, older.marks = b.waiting.upto, b.waiting.marks
		}
		b.waiting = older
	}
	b.leaving = nil
}

// write writes what the file lacks, unless it has everything up to least. It
// waits for its turn as long as the context allows, but what it began it ends.
func (v *View) write(ctx context.Context, least uint64) error {
	v.hurry.Add(1)
	defer v.hurry.Add(-1)
	select {
	case v.writing <- struct{}{}:
	case <-v.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-v.writing }()
	if v.written.Load() >= least {
		return nil
	}
	return v.writeAll(context.WithoutCancel(ctx))
}

// writeAll writes what the file lacks as one transaction. The caller has the
// turn to write.
func (v *View) writeAll(ctx context.Context) error {
	if !v.connected {
		return v.failed(ctx, "write the view's file", errAway)
	}
	l := v.behind.leave()
	if l == nil {
		return nil
	}
	err := v.writer.transact(ctx, func(ctx context.Context) error {
		for i, r := range l.rows {
			statement := r.table.upsert
			if r.raw == nil {
				statement = r.table.remove
			}
			if err := v.writer.exec(ctx, statement, r.args...); err != nil {
				return err
			}
			if i%breath == 0 && v.hurry.Load() == 0 {
				runtime.Gosched()
			}
		}
		return v.writer.exec(ctx, "UPDATE meta SET position = ?, marks = ?", int64(l.upto), l.marks.encode())
	})
	if err == nil {
		v.written.Store(l.upto)
	}
	if err != nil {
		err = v.failed(ctx, "write the view's file", err)
	}
	v.behind.left(err)
	if err == nil {
		v.trim(ctx)
	}
	return err
}

// writeBehind writes what Apply left until the view is closed.
func (v *View) writeBehind() {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for told := false; ; {
		select {
		case <-v.some:
		case <-v.closed:
			return
		}
		timer.Reset(gather)
		select {
		case <-timer.C:
		case <-v.closed:
			return
		}
		select {
		case v.writing <- struct{}{}:
		case <-v.closed:
			return
		}
		err := v.writeAll(context.Background())
		<-v.writing
		if err == nil {
			told = false
			continue
		}
		if !told {
			v.log.Error("the view's file could not be written, trying again", "error", err)
			told = true
		}
		if !v.retryLater() {
			return
		}
	}
}

// retryEvery is the pause after a transaction that failed.
const retryEvery = time.Second

// retryLater waits, and sees to it that what waits is written then although
// nothing comes; false when the view is closed.
func (v *View) retryLater() bool {
	pause := time.NewTimer(retryEvery)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-v.closed:
		return false
	}
	select {
	case v.some <- struct{}{}:
	default:
	}
	return true
}

// Sync returns when the file has everything that the view shows, or with what
// keeps it from being written.
func (v *View) Sync(ctx context.Context) error {
	return v.write(ctx, v.position.Load())
}

// settle has the changes of some tables written, so that SQL shows them.
func (v *View) settle(ctx context.Context, tables ...*table) error {
	least := uint64(0)
	for _, t := range tables {
		least = max(least, t.changing.Load())
	}
	if least <= v.written.Load() {
		return nil
	}
	return v.write(ctx, least)
}
