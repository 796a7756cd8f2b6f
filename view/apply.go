package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

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
	// Look asks Apply for Before: the record as it was until then, nil when there
	// was none.
	Look   bool
	Before []byte
}

// Apply takes changes in, in the order of the log, and moves the position to
// upto, in one transaction: all of it or nothing. Reads that start after it
// returned see it. Changes at or below the position are passed over, so a batch
// may be given again; so are types that the model does not have, which older
// messages may name.
//
// It fails without any effect when the changes are out of order or beyond upto,
// when a record is not a JSON object, or when the disk is full.
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
	hot := v.memory.changing(v.tables, upto, changes)
	err := v.writer.transact(ctx, func(ctx context.Context) error {
		if err := v.applyAll(ctx, position, upto, changes); err != nil {
			return err
		}
		return v.writer.exec(context.WithoutCancel(ctx), "UPDATE meta SET position = ?", int64(upto))
	})
	if err != nil {
		return v.failed(ctx, fmt.Sprintf("apply changes up to %d", upto), err)
	}
	v.memory.changed(hot, changes)
	v.position.Store(upto)
	v.trim(ctx)
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

func (v *View) applyAll(ctx context.Context, position, upto uint64, changes []Change) error {
	inside := context.WithoutCancel(ctx) // watching a context costs as much as a row
	previous := uint64(0)
	for i := range changes {
		c := &changes[i]
		if c.Seq < previous || c.Seq > upto {
			return fmt.Errorf("change %d of %s %q is out of order: after %d, up to %d", c.Seq, c.Type, c.ID, previous, upto)
		}
		previous = c.Seq
		t := v.tables[c.Type]
		if c.Seq <= position || t == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.writer.look(inside, t, c); err != nil {
			return fmt.Errorf("what change %d of %s %q changes: %w", c.Seq, c.Type, c.ID, err)
		}
		if err := v.writer.put(inside, t, *c); err != nil {
			return fmt.Errorf("change %d of %s %q: %w", c.Seq, c.Type, c.ID, err)
		}
	}
	return nil
}

// look reads the record that is about to change, if that is asked for. It is
// read where it is written: nobody waits for a reader then.
func (s *session) look(ctx context.Context, t *table, c *Change) error {
	if !c.Look {
		return nil
	}
	return s.query(ctx, t.get, []any{c.ID}, func(scan func(...any) error) error { return scan(&c.Before) })
}

// put writes one record or removes it.
func (s *session) put(ctx context.Context, t *table, c Change) error {
	if c.Raw == nil {
		return s.exec(ctx, t.remove, c.ID)
	}
	args := make([]any, 3, 3+len(t.columns))
	args[0], args[1], args[2] = c.ID, c.Raw, int64(c.Seq)
	args, err := appendFields(args, t.fields, c.Raw)
	if err != nil {
		return err
	}
	return s.exec(ctx, t.upsert, args...)
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
