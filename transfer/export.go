package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"time"

	"tidings/bus"
	"tidings/resource"
)

// Options says what Export writes. The zero value is all records as of now.
type Options struct {
	// Types are the types of records; empty: all.
	Types []string
	// After is a position of this log: only what was changed or deleted since.
	After *resource.Position
	// Schema is the fingerprint of the service's schema, for the header.
	Schema string
	// Resumed is called by Resume when it has copied what there was; nil: nothing is.
	Resumed func() error
	// Progress is told how far the export has come, often; nil: nobody is.
	Progress func(Progress)
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Progress is how far an export or an import has come.
type Progress struct {
	Done int // records, deleted ones included
	// At and Of are places on the way: sequences of the log for an export, bytes of
	// the file for an import; Of is 0 when nobody knows.
	At, Of int64
}

// Report is what an export wrote.
type Report struct {
	Header  Header
	Trailer Trailer
}

// Export writes all records as the log says at one position, though others write
// meanwhile: the position at which the log stands when Export begins. What the
// log no longer keeps as it was then, because a record was changed more often
// than the log keeps changes while Export ran, is written as it was after that,
// and counted in Trailer.Newer. Messages that are no records are logged, counted
// and left out: the newest that is one is in their place.
//
// Its memory grows with the log (1 bit a message) and with what is written
// meanwhile.
func Export(ctx context.Context, b *bus.Bus, to io.Writer, o Options) (Report, error) {
	_, last, err := b.State(ctx)
	if err != nil {
		return Report{}, err
	}
	h := Header{
		Format: Format, Log: b.LogID(), Seq: last, Position: resource.Position{Log: b.LogID(), Seq: last}.String(),
		Schema: o.Schema, Prefix: b.Subjects().Prefix, Types: o.Types, Time: time.Now().UTC().Truncate(time.Second),
	}
	if o.After != nil {
		if o.After.Log != b.LogID() {
			return Report{}, fmt.Errorf("the position %s is of another log than this one (%s): begin with a full export", o.After, b.LogID())
		}
		if o.After.Seq > last {
			return Report{}, fmt.Errorf("the position %s lies beyond the end of the log: begin with a full export", o.After)
		}
		h.After, h.AfterSeq = o.After.String(), o.After.Seq
	}
	e := newExport(b, to, h, o)
	if err := e.write(h); err != nil {
		return Report{}, err
	}
	return e.run(ctx)
}

// export is one run of Export.
type export struct {
	bus      *bus.Bus
	to       io.Writer
	sum      hash.Hash
	header   Header
	trailer  Trailer
	written  bitmap              // sequences that are in the file
	bad      map[uint64]struct{} // messages that are no records
	progress func(Progress)
	log      *slog.Logger
	buffer   bytes.Buffer
}

func newExport(b *bus.Bus, to io.Writer, h Header, o Options) *export {
	e := &export{bus: b, to: to, header: h, progress: o.Progress, log: o.Logger, bad: map[uint64]struct{}{}, sum: sha256.New()}
	e.trailer = Trailer{End: true, Types: map[string]int{}}
	if e.progress == nil {
		e.progress = func(Progress) {}
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	return e
}

func (e *export) run(ctx context.Context) (Report, error) {
	for _, filter := range e.filters() {
		if err := e.bus.Latest(ctx, filter, e.header.Seq, func(m bus.Message) error { return e.take(ctx, m) }); err != nil {
			return Report{}, fmt.Errorf("export: %w", err)
		}
	}
	for _, filter := range e.filters() {
		if err := e.mend(ctx, filter); err != nil {
			return Report{}, fmt.Errorf("export: %w", err)
		}
	}
	e.trailer.Malformed = len(e.bad)
	e.trailer.SHA256 = hex.EncodeToString(e.sum.Sum(nil))
	err := e.write(e.trailer)
	return Report{Header: e.header, Trailer: e.trailer}, err
}

func (e *export) filters() []string {
	if len(e.header.Types) == 0 {
		return []string{e.bus.Subjects().EveryRecord()}
	}
	var list []string
	for _, t := range e.header.Types {
		list = append(list, e.bus.Subjects().Records(t))
	}
	return list
}

// take writes the record of its last message at the position.
func (e *export) take(ctx context.Context, m bus.Message) error {
	e.progress(Progress{Done: e.trailer.Records + e.trailer.Deleted, At: int64(m.Seq), Of: int64(e.header.Seq)})
	ev, ok, err := e.event(ctx, m)
	if !ok || err != nil {
		return err
	}
	return e.record(ev)
}

// event reads the last message of a record, or the last one before it that is
// the record's.
func (e *export) event(ctx context.Context, m bus.Message) (resource.Event, bool, error) {
	ev, ok, bad := resource.ReadEvent(e.bus.Subjects(), m)
	if bad == nil {
		return ev, ok, nil
	}
	if _, known := e.bad[m.Seq]; !known {
		e.bad[m.Seq] = struct{}{}
		e.log.LogAttrs(ctx, slog.LevelError, "a message of the log is no record; it is left out",
			slog.String("subject", m.Subject), slog.Uint64("seq", m.Seq), slog.Any("error", bad))
	}
	if errors.Is(bad, resource.MalformedSubject) {
		return ev, false, nil
	}
	return resource.NewestEvent(ctx, e.bus, m.Subject, m.Seq-1)
}

// record writes one line, unless it is there or belongs to the time before. Of
// deleted records a full export has those alone whose versions go on.
func (e *export) record(ev resource.Event) error {
	deleted := ev.Kind == resource.Deleted
	if ev.Seq <= e.header.AfterSeq || e.written.has(ev.Seq) || deleted && e.header.AfterSeq == 0 && !resource.Counted(ev.Raw) {
		return nil
	}
	when := ev.Time.UTC()
	if err := e.write(Line{Type: ev.Type, ID: ev.ID, Seq: ev.Seq, Time: &when, Deleted: deleted, Record: ev.Raw}); err != nil {
		return err
	}
	e.count(ev.Seq, ev.Type, deleted)
	return nil
}

func (e *export) count(seq uint64, typ string, deleted bool) {
	e.written.set(seq)
	if deleted {
		e.trailer.Deleted++
		return
	}
	e.trailer.Records++
	e.trailer.Types[typ]++
}

// mend looks at what was written to the log since the position: a record that was
// changed before its turn came is not among those that were taken. The message
// before the first change says what it was.
func (e *export) mend(ctx context.Context, filter string) error {
	_, last, err := e.bus.State(ctx)
	if err != nil {
		return err
	}
	seen := map[string]struct{}{}
	_, err = e.bus.Read(ctx, filter, e.header.Seq, last, func(m bus.Message) error {
		if _, again := seen[m.Subject]; again {
			return nil
		}
		seen[m.Subject] = struct{}{}
		return e.before(ctx, m)
	})
	return err
}

// before writes what a record was before the first change that the log keeps of
// those after the position.
func (e *export) before(ctx context.Context, m bus.Message) error {
	ev, ok, err := resource.ReadEvent(e.bus.Subjects(), m)
	switch {
	case err != nil, m.Prev == 0 && ev.Kind != resource.Created: // who wrote it did not say what was before
		was, ok, err := resource.NewestEvent(ctx, e.bus, m.Subject, e.header.Seq)
		if !ok || err != nil {
			return err
		}
		return e.record(was)
	case !ok || m.Prev == 0 || e.written.has(m.Prev):
		return nil // it is younger than the position, or taken
	case m.Prev <= e.header.Seq:
		was, err := e.bus.At(ctx, m.Prev)
		if err != nil {
			return err
		}
		if was != nil && was.Subject == m.Subject {
			return e.take(ctx, *was)
		}
	}
	e.trailer.Newer++
	return e.record(ev)
}

// write writes a line and adds it to the sum.
func (e *export) write(v any) error {
	e.buffer.Reset()
	enc := json.NewEncoder(&e.buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	e.sum.Write(e.buffer.Bytes())
	if _, err := e.to.Write(e.buffer.Bytes()); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}
