package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/proc"
)

// Whoever may write below the log's subjects may write what is no record. It is
// said once for each message, with subject and sequence and without its data,
// and counted; and then everybody goes on as if it were not there: the record is
// what its newest sound message says. The next change of the record stands after
// it, and expects it as the last one of its subject.

// leftOut tells of messages of the log that are left out.
type leftOut struct {
	reader  string // who reads: feed or worker
	counter *proc.Counter
	log     *slog.Logger

	mu    sync.Mutex
	prev  map[uint64]uint64   // of messages that are no records: the one before each
	types map[string]struct{} // that no schema has, as far as was said
}

// maxLeftOut bounds the messages that are remembered. Beyond that they are
// forgotten, said again, and a change that follows one counts as one that has
// lost what was before it.
const maxLeftOut = 10_000

func newLeftOut(reader string, m *proc.Metrics, log *slog.Logger) *leftOut {
	return &leftOut{
		reader: reader, log: log, prev: map[uint64]uint64{}, types: map[string]struct{}{},
		counter: m.Counter("tidings_log_left_out_total", "Messages of the log that were left out: malformed (subject, kind, json, id, reservation), or of a type that the schema does not have.", "reader", "reason").
			Closed([]string{reader}, leftOutReasons),
	}
}

// leftOutReasons are why messages are left out.
var leftOutReasons = []string{
	string(MalformedSubject), string(MalformedKind), string(MalformedJSON), string(MalformedID), string(MalformedReservation), "type",
}

// tell says that a message is left out.
func (l *leftOut) tell(m bus.Message, reason Malformed) {
	l.mu.Lock()
	_, known := l.prev[m.Seq]
	if len(l.prev) == maxLeftOut {
		clear(l.prev)
	}
	l.prev[m.Seq] = m.Prev
	l.mu.Unlock()
	if known {
		return
	}
	l.counter.Add(1, l.reader, string(reason))
	l.log.LogAttrs(context.Background(), slog.LevelError, "a message of the log is malformed; it is left out: see `api log check`",
		slog.String("subject", shortened(m.Subject)), slog.Uint64("seq", m.Seq), slog.Any("error", reason))
}

func shortened(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// foreign says, once for each type, that its records are left out.
func (l *leftOut) foreign(typ string, m bus.Message) {
	l.counter.Add(1, l.reader, "type")
	l.mu.Lock()
	_, known := l.types[typ]
	if !known && len(l.types) < maxLeftOut {
		l.types[typ] = struct{}{}
	}
	l.mu.Unlock()
	if !known {
		l.log.LogAttrs(context.Background(), slog.LevelWarn, "the log has records of a type that the schema does not have; they are left out",
			slog.String("type", shortened(typ)), slog.Uint64("seq", m.Seq))
	}
}

// before passes over what was left out: the sequence of the sound message at or
// before seq of its record.
func (l *leftOut) before(seq uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		prev, malformed := l.prev[seq]
		if !malformed || prev >= seq {
			return seq
		}
		seq = prev
	}
}

// leave tells of a message that is no event.
func (f *Feed) leave(m bus.Message) {
	e, ok, err := ReadEvent(f.bus.Subjects(), m)
	switch {
	case err != nil:
		bad, _ := err.(Malformed)
		f.left.tell(m, bad)
	case ok:
		f.left.foreign(e.Type, m)
	}
}

// newest reads the last message of a record as its newest event: where that is
// malformed, it is one before it. ok is false when there is none.
func (f *Feed) newest(ctx context.Context, m bus.Message) (e Event, ok bool, err error) {
	if e, ok = f.event(m); ok {
		return e, true, nil
	}
	f.leave(m)
	typ, _, isRecord := f.bus.Subjects().ParseRecord(m.Subject)
	r := f.model.Resource(typ)
	if !isRecord || r == nil {
		return Event{}, false, nil
	}
	e, ok, err = NewestEvent(ctx, f.bus, m.Subject, m.Seq-1)
	if err != nil {
		return Event{}, false, fmt.Errorf("read what was before %s: %w", m.Subject, err)
	}
	if ok && e.Kind != Deleted {
		e.Raw = complete(r, e.Raw)
	}
	return e, ok, nil
}

// last reads the newest message of a record; nil when there is none. Where that
// is malformed it has the place of that and the rest of the newest one that is
// sound, or is a deletion when none is.
func (w *Worker) last(ctx context.Context, subject string) (*bus.Message, error) {
	m, err := w.bus.Last(ctx, subject)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", subject, err)
	}
	if m == nil {
		return nil, nil
	}
	_, ok, bad := ReadEvent(w.bus.Subjects(), *m)
	if ok {
		return m, nil
	}
	reason, _ := bad.(Malformed)
	w.left.tell(*m, reason)
	e, ok, err := NewestEvent(ctx, w.bus, subject, m.Seq-1)
	if err != nil {
		return nil, fmt.Errorf("read what was before %s: %w", subject, err)
	}
	sound := *m
	sound.Header, sound.Data = bus.Header{headerKind: {string(Deleted)}}, nil
	if ok {
		sound.Header, sound.Data = bus.Header{headerKind: {string(e.Kind)}}, e.Raw
	}
	return &sound, nil
}

// MalformedReservation: the body does not name who holds the value.
const MalformedReservation Malformed = "reservation"

// readHolder reads a reservation.
func readHolder(m bus.Message) (h holder, ok bool) {
	return h, isObject(m.Data) && json.Unmarshal(m.Data, &h) == nil
}

// lastHolder reads the newest sound reservation before one that is malformed;
// nobody holds the value when there is none.
func (w *Worker) lastHolder(ctx context.Context, last bus.Message) (h holder, err error) {
	w.left.tell(last, MalformedReservation)
	_, err = w.bus.Read(ctx, last.Subject, 0, last.Seq-1, func(m bus.Message) error {
		if sound, ok := readHolder(m); ok {
			h = sound
		}
		return nil
	})
	if err != nil {
		return holder{}, fmt.Errorf("read what was before %s: %w", last.Subject, err)
	}
	return h, nil
}

// work notes that a command is carried out; done is called with what became of it.
func (w *Worker) work(typ, verb string, once *Once) (done func(error)) {
	began, fall := time.Now(), w.running.Rise()
	if !once.first() {
		w.again.Add(1)
	}
	return func(err error) {
		fall()
		w.took.Observe(time.Since(began), verb)
		w.count(typ, verb, err)
	}
}

// count counts a command.
func (w *Worker) count(typ, verb string, err error) {
	code := "OK"
	if err != nil {
		code = string(fault.Of(err).Code)
	}
	w.commands.Add(1, typ, verb, code)
}
