package resource

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"tidings/bus"
	"tidings/schema"
)

// Finding is one flaw that records of a type share.
type Finding struct {
	Type   string `json:"type"`
	Field  string `json:"field,omitempty"` // empty when it is the records as a whole
	Flaw   Flaw   `json:"flaw"`
	Reason string `json:"reason"`
	// Count is how many records have the flaw; for duplicates how many have a
	// value that a record before them has.
	Count int `json:"count"`
	// IDs are those of the first, at most 10; for duplicates with the records
	// before them.
	IDs []string `json:"ids"`
}

// Inspection is what Inspect found.
type Inspection struct {
	// Records is how many there are, of all types.
	Records int `json:"records"`
	// Flawed is how many of them the schema would make invalid.
	Flawed int `json:"flawed"`
	// Findings by type and field.
	Findings []Finding `json:"findings"`
	// Dangling are the references with a rule of deletion whose record is not
	// there, the first MaxNamed of them. They are no flaw of the records: a rule
	// that is added later leaves them as they are. Nil when nobody has looked.
	Dangling      []Dangling `json:"dangling,omitempty"`
	DanglingCount int        `json:"danglingCount"`
}

// maxIDs is how many records a finding names.
const maxIDs = 10

// Inspect looks through the newest state of every record in the log, and says
// which the schema would make invalid. It writes nothing; others may write
// meanwhile, and what they write after Inspect has begun is not looked at. Its
// memory grows with the number of values of unique fields (16 bytes and an id
// for each), and of records to which others refer by a rule (16 bytes).
func Inspect(ctx context.Context, b *bus.Bus, m *schema.Model) (Inspection, error) {
	_, last, err := b.State(ctx)
	if err != nil {
		return Inspection{}, err
	}
	found, err := inspect(ctx, b, m, last, func(string) bool { return true })
	if err != nil {
		return Inspection{}, err
	}
	c := newChecker(b, m, nil)
	c.found.Seq = last
	if err := c.dangling(ctx); err != nil {
		return Inspection{}, fmt.Errorf("look for references that lead nowhere: %w", err)
	}
	found.Dangling, found.DanglingCount = c.found.Dangling, c.found.DanglingCount
	return found, nil
}

// inspect looks at the records up to a position, and for duplicates of the
// unique fields that it is asked about, as "Type.field".
func inspect(ctx context.Context, b *bus.Bus, m *schema.Model, upto uint64, unique func(field string) bool) (Inspection, error) {
	i := inspector{model: m, unique: unique, holders: map[[16]byte]string{}, findings: map[finding]*Finding{}}
	err := eachRecord(ctx, b, upto, func(typ, id string, raw []byte) error {
		i.record(typ, id, raw)
		return nil
	})
	if err != nil {
		return Inspection{}, fmt.Errorf("look through the records: %w", err)
	}
	return i.result(), nil
}

// eachRecord hands over the newest state of every record that is not deleted.
// What is malformed is passed over, as by everybody else.
func eachRecord(ctx context.Context, b *bus.Bus, upto uint64, fn func(typ, id string, raw []byte) error) error {
	return b.Latest(ctx, b.Subjects().EveryRecord(), upto, func(m bus.Message) error {
		e, ok, bad := ReadEvent(b.Subjects(), m)
		if bad != nil {
			var err error
			if e, ok, err = NewestEvent(ctx, b, m.Subject, m.Seq-1); err != nil {
				return err
			}
		}
		if !ok || e.Kind == Deleted {
			return nil
		}
		return fn(e.Type, e.ID, e.Raw)
	})
}

type inspector struct {
	model    *schema.Model
	unique   func(field string) bool
	records  int
	flawed   int
	holders  map[[16]byte]string // of unique values, by their digest
	findings map[finding]*Finding
}

// finding is what the records of a Finding have in common.
type finding struct {
	typ, field string
	flaw       Flaw
	reason     string
}

func (i *inspector) record(typ, id string, raw []byte) {
	violations := Audit(i.model, typ, id, raw)
	for _, v := range violations {
		i.found(v)
	}
	i.records++
	if i.duplicates(typ, id, raw) || len(violations) > 0 {
		i.flawed++
	}
}

func (i *inspector) found(v Violation, more ...string) {
	key := finding{v.Type, v.Field, v.Flaw, v.Reason}
	f := i.findings[key]
	if f == nil {
		f = &Finding{Type: v.Type, Field: v.Field, Flaw: v.Flaw, Reason: v.Reason}
		i.findings[key] = f
	}
	f.Count++
	for _, id := range append(more, v.ID) {
		if len(f.IDs) < maxIDs && !slices.Contains(f.IDs, id) {
			f.IDs = append(f.IDs, id)
		}
	}
}

// duplicates looks for values that a record before this one has.
func (i *inspector) duplicates(typ, id string, raw []byte) (found bool) {
	for _, u := range uniquesOf(i.model.Resource(typ), raw) {
		if !i.unique(typ + "." + u.Field) {
			continue
		}
		sum := sha256.Sum256([]byte(typ + "." + u.Field + "." + u.Hash))
		key := [16]byte(sum[:])
		holder, taken := i.holders[key]
		if !taken {
			i.holders[key] = id
			continue
		}
		found = true
		i.found(Violation{Type: typ, ID: id, Field: u.Field, Flaw: FlawDuplicate, Reason: "is unique, and another record has the same value"}, holder)
	}
	return found
}

func (i *inspector) result() Inspection {
	out := Inspection{Records: i.records, Flawed: i.flawed, Findings: []Finding{}}
	for _, f := range i.findings {
		out.Findings = append(out.Findings, *f)
	}
	slices.SortFunc(out.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Flaw, b.Flaw), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Err returns nil when every record is valid, and otherwise ErrFlawed with a list
// of what was found, with the first ids.
func (i Inspection) Err() error {
	if i.Flawed == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d", i.Flawed, i.Records)
	for n, f := range i.Findings {
		if n == maxIDs {
			fmt.Fprintf(&b, "\n  and %d more flaws", len(i.Findings)-n)
			break
		}
		b.WriteString("\n  " + f.String())
	}
	return fmt.Errorf("%w: %s", ErrFlawed, b.String())
}

// String tells the finding in one line.
func (f Finding) String() string {
	place := f.Type
	if f.Field != "" {
		place += "." + f.Field
	}
	more := ""
	if f.Count > len(f.IDs) {
		more = ", …"
	}
	return fmt.Sprintf("%s: %s (%s, %d): %s%s", place, f.Reason, f.Flaw, f.Count, strings.Join(f.IDs, ", "), more)
}
