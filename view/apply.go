package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"tidings/internal/rawjson"
	"tidings/schema"
)

// Change is one record as a message of the log left it.
type Change struct {
	// Seq is the message's sequence in the log.
	Seq      uint64
	Type, ID string
	// Raw is the whole record, a JSON object; nil when it was deleted. It is
	// kept as it is and must never be modified.
	Raw []byte
	// Time is when the log stored the message; zero when that is not known.
	Time time.Time
	// Look asks Apply for Before: the record as it was until then, nil when there
	// was none.
	Look   bool
	Before []byte
	// Lost, set by a Shared: what the record was is not known any more.
	Lost bool
}

// Apply takes changes in, in the order of the log, and moves the position to
// upto, all of it or nothing. Reads that start after it returned see it; the file
// gets it within a moment, so a process that dies may find it missing there,
// with the position that belongs to what it finds. Changes at or below the
// position are passed over, so a batch may be given again; so are types that the
// model does not have, which older messages may name.
//
// It fails without any effect when the changes are out of order or beyond upto,
// when a record is not a JSON object, or when what earlier calls left cannot be
// written because the disk is full.
func (v *View) Apply(ctx context.Context, upto uint64, changes []Change) error {
	v.apply.Lock()
	defer v.apply.Unlock()
	select {
	case <-v.closed:
		return ErrClosed
	default:
	}
	position := v.position.Load()
	if upto <= position {
		return nil
	}
	if v.before == nil {
		return v.failed(ctx, "apply", errAway)
	}
	batch, err := v.batch(ctx, position, upto, changes)
	if err != nil {
		return v.failed(ctx, fmt.Sprintf("apply changes up to %d", upto), err)
	}
	if v.behind.full() {
		if err := v.write(ctx, position); err != nil {
			return err
		}
	}
	for _, r := range batch.rows {
		r.table.changing.Store(upto)
	}
	hot := v.memory.changing(upto, changes)
	for i := range changes {
		if changes[i].Seq > position {
			v.marks.add(&changes[i])
		}
	}
	v.behind.add(upto, v.marks, batch.rows)
	v.memory.changed(hot, changes)
	v.position.Store(upto)
	select {
	case v.some <- struct{}{}:
	default:
	}
	return nil
}

// maxWAL is how large the write-ahead log may grow, in bytes. SQLite begins it
// anew by itself only in a moment without readers, and a busy process has none.
const maxWAL = 32 << 20

// trim empties the write-ahead log when it has grown too large. That waits a
// moment for the reads that still need it, never the other way round; when one
// of them takes long, the log may double before the next attempt. A failure
// costs disk and no more, so it is logged.
func (v *View) trim(ctx context.Context) {
	info, err := os.Stat(v.files.path(dataFile + "-wal"))
	if err != nil || info.Size() < max(maxWAL, v.walLimit) {
		return
	}
	var busy, frames, moved int
	err = v.writer.query(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(TRUNCATE)", nil,
		func(scan func(...any) error) error { return scan(&busy, &frames, &moved) })
	v.walLimit = 0
	if err != nil || busy != 0 {
		v.walLimit = 2 * info.Size()
		v.log.WarnContext(ctx, "the view's write-ahead log could not be emptied", "bytes", info.Size(), "error", err)
	}
}

// batch turns the changes that are new into what is written, and tells those
// who ask what they change.
func (v *View) batch(ctx context.Context, position, upto uint64, changes []Change) (*layer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	batch := newLayer(len(changes))
	previous := uint64(0)
	for i := range changes {
		c := &changes[i]
		if c.Seq < previous || c.Seq > upto {
			return nil, fmt.Errorf("change %d of %s %q is out of order: after %d, up to %d", c.Seq, c.Type, c.ID, previous, upto)
		}
		previous = c.Seq
		t := v.tables[c.Type]
		if c.Seq <= position || t == nil {
			continue
		}
		if err := v.look(ctx, t, batch, c); err != nil {
			return nil, fmt.Errorf("what change %d of %s %q changes: %w", c.Seq, c.Type, c.ID, err)
		}
		r, err := t.row(*c)
		if err != nil {
			return nil, fmt.Errorf("change %d of %s %q: %w", c.Seq, c.Type, c.ID, err)
		}
		batch.put(r)
	}
	return batch, nil
}

// look finds the record that is about to change, if that is asked for: in the
// changes before it, in memory, or in the file, by a connection that nobody else
// uses.
func (v *View) look(ctx context.Context, t *table, batch *layer, c *Change) error {
	if !c.Look {
		return nil
	}
	doc, known := batch.find(recordKey{c.Type, c.ID})
	if !known {
		doc = v.memory.record(c.Type, c.ID)
	}
	if !known && doc == nil {
		doc, known = v.behind.find(c.Type, c.ID)
	}
	c.Before = doc
	if known || doc != nil {
		return nil
	}
	return v.before.query(ctx, t.get, []any{c.ID}, func(scan func(...any) error) error { return scan(&c.Before) })
}

// row is a change of the table's records with the arguments of its statement.
func (t *table) row(c Change) (r row, err error) {
	r = row{key: recordKey{c.Type, c.ID}, table: t, raw: c.Raw}
	if c.Raw == nil {
		r.args = []any{c.ID}
		return r, nil
	}
	r.args = make([]any, 3, 3+len(t.columns))
	r.args[0], r.args[1], r.args[2] = c.ID, c.Raw, int64(c.Seq)
	r.args, err = appendFields(r.args, t.fields, c.Raw)
	return r, err
}

// appendFields appends what the fields' columns hold of a record. Of members
// with the same name the last one counts.
func appendFields(values []any, fields []*schema.Field, doc []byte) ([]any, error) {
	first := len(values)
	for range fields {
		values = append(values, missing)
	}
	err := rawjson.Members(doc, func(key, value []byte) {
		if bytes.IndexByte(key, '\\') >= 0 {
			var plain string
			if json.Unmarshal([]byte(`"`+string(key)+`"`), &plain) != nil {
				return
			}
			key = []byte(plain)
		}
		for i, f := range fields {
			if string(key) == f.Name {
				values[first+i] = columnValue(f.Kind, value)
			}
		}
	})
	return values, err
}
