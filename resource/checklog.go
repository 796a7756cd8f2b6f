package resource

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tidings/bus"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// LogCheck is what CheckLog found.
type LogCheck struct {
	// Messages were looked at, up to Seq; Records are the newest of them.
	Messages int    `json:"messages"`
	Seq      uint64 `json:"seq"`
	// Malformed are the messages that are no records, the first MaxNamed of them,
	// and MalformedCount how many there are.
	Malformed      []MalformedMessage `json:"malformed"`
	MalformedCount int                `json:"malformedCount"`
	// Reservations that no record has a claim to, and values that a record has
	// and that are not reserved for it.
	Orphans         []Reservation `json:"orphans"`
	OrphanCount     int           `json:"orphanCount"`
	Unreserved      []Reservation `json:"unreserved"`
	UnreservedCount int           `json:"unreservedCount"`
	// Dangling are the references with a rule of deletion whose record is not
	// there, which an import or an older schema may have left.
	Dangling      []Dangling `json:"dangling"`
	DanglingCount int        `json:"danglingCount"`
	// Backward is how often a message has an earlier time than the one before it:
	// a server's clock was put back, or another server with another clock became
	// the leader. BackwardMost is by how much at most, BackwardSeq where.
	Backward     int           `json:"backward"`
	BackwardMost time.Duration `json:"backwardMostNanoseconds"`
	BackwardSeq  uint64        `json:"backwardSeq,omitempty"`
	// Records is what Inspect finds.
	Records Inspection `json:"records"`
}

// MaxNamed is how many of each sort a LogCheck names.
const MaxNamed = 100

// MalformedMessage is one that is no record.
type MalformedMessage struct {
	Seq     uint64    `json:"seq"`
	Subject string    `json:"subject"`
	Reason  Malformed `json:"reason"`
	// Last says that it is the newest of its subject: whoever reads that alone
	// finds no record.
	Last bool `json:"last"`
}

// Dangling is a reference to a record that is not there.
type Dangling struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Field string `json:"field"` // the key
	To    string `json:"to"`    // the id that it names
}

// String tells the reference in one line.
func (d Dangling) String() string { return fmt.Sprintf("%s %q: %s is %q", d.Type, d.ID, d.Field, d.To) }

// Reservation is a unique value, by the digest in its subject.
type Reservation struct {
	Type  string `json:"type"`
	Field string `json:"field"`
	ID    string `json:"id"` // of the record: that it is reserved for, or that has it
	Hash  string `json:"hash"`
}

// Flaws is how many things are wrong that somebody should look at. Clocks that
// went back are none: nothing depends on them.
func (c LogCheck) Flaws() int {
	return c.MalformedCount + c.OrphanCount + c.UnreservedCount + c.DanglingCount + c.Records.Flawed
}

// CheckLog walks through the log and says what is wrong with it. It writes
// nothing; others may write meanwhile. Its memory grows with the number of unique
// values (some 100 bytes each).
func CheckLog(ctx context.Context, b *bus.Bus, m *schema.Model, log *slog.Logger) (LogCheck, error) {
	c := newChecker(b, m, log)
	if err := c.run(ctx); err != nil {
		return LogCheck{}, fmt.Errorf("check the log: %w", err)
	}
	return c.found, nil
}

// checker is one run of CheckLog.
type checker struct {
	worker   *Worker // for its reading; it does not run
	bus      *bus.Bus
	model    *schema.Model
	found    LogCheck
	before   time.Time
	bad      map[string]uint64 // subjects whose newest message is malformed
	reserved map[[16]byte]held
	fields   map[string]bool       // unique fields of the schema, as Type.field
	there    map[[16]byte]struct{} // records to which others refer by rule, by their subjects
}

// held is a reservation, until a record is found that has the value.
type held struct {
	Reservation
	claimed bool
}

func newChecker(b *bus.Bus, m *schema.Model, log *slog.Logger) *checker {
	c := &checker{worker: NewWorker(b, m, WorkerOptions{Logger: log}), bus: b, model: m, bad: map[string]uint64{}, reserved: map[[16]byte]held{}, fields: map[string]bool{}, there: map[[16]byte]struct{}{}}
	for _, f := range uniqueFields(m) {
		c.fields[f] = true
	}
	c.found.Malformed, c.found.Orphans, c.found.Unreserved = []MalformedMessage{}, []Reservation{}, []Reservation{}
	c.found.Dangling = []Dangling{}
	return c
}

func (c *checker) run(ctx context.Context) (err error) {
	if _, c.found.Seq, err = c.bus.State(ctx); err != nil {
		return err
	}
	if _, err = c.bus.Read(ctx, c.bus.Subjects().Log(), 0, c.found.Seq, c.message); err != nil {
		return err
	}
	for i := range c.found.Malformed {
		m := &c.found.Malformed[i]
		m.Last = c.bad[m.Subject] == m.Seq
		m.Subject = shortened(m.Subject)
	}
	if c.found.Records, err = inspect(ctx, c.bus, c.model, c.found.Seq, func(string) bool { return true }); err != nil {
		return err
	}
	err = eachRecord(ctx, c.bus, c.found.Seq, func(typ, id string, raw []byte) error { return c.record(ctx, typ, id, raw) })
	if err != nil {
		return err
	}
	if err := c.references(ctx); err != nil {
		return err
	}
	return c.orphans(ctx)
}

// message looks at one message of the log.
func (c *checker) message(m bus.Message) error {
	c.found.Messages++
	if back := c.before.Sub(m.Time); back > 0 {
		c.found.Backward++
		if back > c.found.BackwardMost {
			c.found.BackwardMost, c.found.BackwardSeq = back, m.Seq
		}
	}
	c.before = m.Time
	delete(c.bad, m.Subject)
	_, isRecord, err := ReadEvent(c.bus.Subjects(), m)
	if err == nil && !isRecord && !isNote(c.bus.Subjects(), m.Subject) {
		err = MalformedSubject
	}
	typ, field, hash, isUnique := c.bus.Subjects().ParseUnique(m.Subject)
	if isUnique {
		h, ok := readHolder(m)
		if ok {
			c.reserve(Reservation{Type: typ, Field: field, ID: h.ID, Hash: hash})
		} else {
			err = MalformedReservation
		}
	}
	if reason, malformed := errors.AsType[Malformed](err); malformed {
		c.malformed(m, reason)
	}
	return nil
}

func (c *checker) malformed(m bus.Message, reason Malformed) {
	c.found.MalformedCount++
	if len(c.found.Malformed) < MaxNamed {
		c.bad[m.Subject] = m.Seq
		c.found.Malformed = append(c.found.Malformed, MalformedMessage{Seq: m.Seq, Subject: m.Subject, Reason: reason})
	}
}

func (c *checker) reserve(r Reservation) {
	if !c.fields[r.Type+"."+r.Field] {
		return
	}
	if r.ID == "" {
		delete(c.reserved, r.key())
		return
	}
	c.reserved[r.key()] = held{Reservation: r}
}

func (r Reservation) key() [16]byte {
	return digest16(r.Type + "." + r.Field + "." + r.Hash)
}

func digest16(s string) [16]byte {
	sum := sha256.Sum256([]byte(s))
	return [16]byte(sum[:])
}

// record looks whether a record's unique values are reserved for it.
func (c *checker) record(ctx context.Context, typ, id string, raw []byte) error {
	c.stands(typ, id)
	for _, u := range uniquesOf(c.model.Resource(typ), raw) {
		r := Reservation{Type: typ, Field: u.Field, ID: id, Hash: u.Hash}
		h, reserved := c.reserved[r.key()]
		if reserved {
			h.claimed = true // by whoever has the value, so that it is named once
			c.reserved[r.key()] = h
		}
		if reserved && h.ID == id {
			continue
		}
		_, holder, err := c.worker.reservation(ctx, typ, u)
		if err != nil {
			return err
		}
		mine, err := c.worker.holds(ctx, typ, id, u)
		if err != nil {
			return err
		}
		other, err := c.worker.holds(ctx, typ, holder, u)
		if err != nil {
			return err
		}
		if holder == id || mine == "" || other != "" { // somebody wrote meanwhile, or both have it: a duplicate
			continue
		}
		c.found.UnreservedCount++
		if len(c.found.Unreserved) < MaxNamed {
			c.found.Unreserved = append(c.found.Unreserved, r)
		}
	}
	return nil
}

// stands notes that a record is there, if others may refer to it by rule.
func (c *checker) stands(typ, id string) {
	if r := c.model.Resource(typ); r != nil && len(r.Referrers) > 0 {
		c.there[digest16(c.bus.Subjects().Record(typ, id))] = struct{}{}
	}
}

// dangling looks for references by rule alone.
func (c *checker) dangling(ctx context.Context) error {
	if !c.refers() {
		return nil
	}
	err := eachRecord(ctx, c.bus, c.found.Seq, func(typ, id string, _ []byte) error {
		c.stands(typ, id)
		return nil
	})
	if err != nil {
		return err
	}
	return c.references(ctx)
}

// refers reports whether the schema has references by rule.
func (c *checker) refers() bool {
	return slices.ContainsFunc(c.model.Resources, func(r *schema.Resource) bool { return len(r.References) > 0 })
}

// references looks whether those to which records refer by rule are there.
func (c *checker) references(ctx context.Context) error {
	if !c.refers() {
		return nil
	}
	return eachRecord(ctx, c.bus, c.found.Seq, func(typ, id string, raw []byte) error {
		r := c.model.Resource(typ)
		if r == nil {
			return nil
		}
		for _, ref := range r.References {
			if err := c.reference(ctx, ref, Dangling{Type: typ, ID: id, Field: ref.Key.Name, To: rawjson.String(raw, ref.Key.Name)}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) reference(ctx context.Context, ref *schema.Reference, d Dangling) error {
	subject := c.bus.Subjects().Record(ref.To.Name, d.To)
	if _, there := c.there[digest16(subject)]; there || d.To == "" || len(d.To) > maxID {
		return nil
	}
	target, err := c.standing(ctx, subject)
	if err != nil || target != nil { // it was made meanwhile
		return err
	}
	record, err := c.standing(ctx, c.bus.Subjects().Record(d.Type, d.ID))
	if err != nil || record == nil || rawjson.String(record, d.Field) != d.To {
		return err
	}
	c.found.DanglingCount++
	if len(c.found.Dangling) < MaxNamed {
		c.found.Dangling = append(c.found.Dangling, d)
	}
	return nil
}

// standing reads a record as it is now; nil when there is none.
func (c *checker) standing(ctx context.Context, subject string) ([]byte, error) {
	last, err := c.worker.last(ctx, subject)
	current, _ := standing(last)
	return current, err
}

// orphans looks whether the reservations that no record has claimed are still
// nobody's.
func (c *checker) orphans(ctx context.Context) error {
	for _, h := range c.reserved {
		if h.claimed {
			continue
		}
		orphan, err := c.worker.orphan(ctx, h.Reservation)
		if err != nil {
			return err
		}
		if !orphan {
			continue
		}
		c.found.OrphanCount++
		if len(c.found.Orphans) < MaxNamed {
			c.found.Orphans = append(c.found.Orphans, h.Reservation)
		}
	}
	return nil
}

// orphan reports whether a value is reserved for a record that does not have it.
func (w *Worker) orphan(ctx context.Context, r Reservation) (bool, error) {
	u := Unique{Field: r.Field, Hash: r.Hash}
	_, holder, err := w.reservation(ctx, r.Type, u)
	if err != nil || holder == "" {
		return false, err
	}
	has, err := w.holds(ctx, r.Type, holder, u)
	return err == nil && has == "", err
}

// release gives a value back that is reserved for a record that does not have it.
// The error is bus.ErrConflict when somebody has just taken it.
func (w *Worker) release(ctx context.Context, r Reservation) (done bool, err error) {
	u := Unique{Field: r.Field, Hash: r.Hash}
	e, holder, err := w.reservation(ctx, r.Type, u)
	if err != nil || holder == "" {
		return false, err
	}
	keeper, err := w.keeper(ctx, r.Type, holder, e.After, u)
	if err != nil || keeper != "" {
		return false, err
	}
	e.Data = []byte(released)
	_, err = w.bus.Append(ctx, e)
	return err == nil, err
}

// RepairLog mends what can be mended without a choice: it releases unique values
// that are reserved for records that do not have them, and reserves those that a
// record has and nobody holds. It looks again at each, and may run beside
// workers. It returns how many it has mended of what CheckLog has named.
func RepairLog(ctx context.Context, b *bus.Bus, m *schema.Model, found LogCheck, log *slog.Logger) (mended int, err error) {
	a := admission{bus: b, model: m, worker: NewWorker(b, m, WorkerOptions{Logger: log})}
	for _, r := range found.Orphans {
		done, err := a.worker.release(ctx, r)
		if err != nil && !errors.Is(err, bus.ErrConflict) {
			return mended, fmt.Errorf("release a value of %s.%s: %w", r.Type, r.Field, err)
		}
		if done {
			mended++
		}
	}
	for _, r := range found.Unreserved {
		if err := a.claim(ctx, claim{typ: r.Type, id: r.ID, Unique: Unique{Field: r.Field, Hash: r.Hash}}); err != nil {
			return mended, err
		}
		mended++
	}
	return mended, nil
}
