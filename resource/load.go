package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/schema"
)

// OnConflict says what becomes of a record that the log has otherwise than it is
// to be loaded; one that was deleted there counts as such.
type OnConflict string

// The ways. Where a unique value is held by another record, Skip leaves the
// record out and the others refuse it: no two records get one value.
const (
	ConflictFail    OnConflict = "fail"
	ConflictSkip    OnConflict = "skip"
	ConflictReplace OnConflict = "replace"
)

// Loaded is what became of one record.
type Loaded string

// What can become of a record that is loaded.
const (
	LoadedNew      Loaded = "created"
	LoadedReplaced Loaded = "replaced"
	LoadedDeleted  Loaded = "deleted"
	LoadedSame     Loaded = "there already"
	LoadedSkipped  Loaded = "skipped"
	LoadedFailed   Loaded = "failed"
)

// LoadResult tells it. Err is a fault and set when it is LoadedFailed: Conflict,
// of a record that is there otherwise, or with Field of a unique value that
// another one holds.
type LoadResult struct {
	Loaded Loaded
	Err    error
}

// LoadOptions tunes a loader. The zero value fails on conflicts and writes.
type LoadOptions struct {
	OnConflict OnConflict
	// Dry finds out what would become of the records and writes nothing. What they
	// would take of each other is not seen.
	Dry bool
	// Patience is how long a log that cannot be reached is waited for; zero means
	// one minute.
	Patience time.Duration
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Loader writes records as they are told from elsewhere: with the expectations
// and the reservations of a worker, so that it may run beside workers and
// followers see what it writes, but without its rules on who may do what, and
// without filling in. Its messages have the actor "import". It serves one
// goroutine.
type Loader struct {
	w       *Worker
	options LoadOptions
	run     string // begins the ids of its commands
	count   int
	fresh   bool // what was loaded last was new, and so what follows is taken to be
}

// loaderActor is the actor of what a Loader writes.
const loaderActor = "import"

// NewLoader returns a loader. The log must have admitted the schema (Admit, with
// Write) before.
func NewLoader(b *bus.Bus, m *schema.Model, o LoadOptions) *Loader {
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	if o.OnConflict == "" {
		o.OnConflict = ConflictFail
	}
	w := NewWorker(b, m, WorkerOptions{Logger: o.Logger})
	w.dry = o.Dry
	return &Loader{w: w, options: o, run: newID(), fresh: !o.Dry}
}

// MaxLoad is how many records one Load takes.
const MaxLoad = 250

// Load loads up to MaxLoad records, each once among them, and returns after the
// log has acknowledged them, with what became of each. Those that fail do not
// hold up the others. To load them again does no harm. The error says that the
// log could not be read or written, and which of them were is then not known.
func (l *Loader) Load(ctx context.Context, items []Loadable) ([]LoadResult, error) {
	if len(items) > MaxLoad {
		return nil, fmt.Errorf("load %d records: at most %d are possible", len(items), MaxLoad)
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.Patience)
	defer cancel()
	parts := make([]part, len(items))
	for i, item := range items {
		l.count++
		subject := l.w.bus.Subjects().Record(item.Type, item.ID)
		parts[i] = part{cmd: asked{Command: Command{Type: item.Type, ID: CommandID(l.run, l.count)}, r: item.r}, subject: subject, unused: l.fresh && !item.Deleted}
	}
	results := make([]LoadResult, len(items))
	for attempt := 0; ; attempt++ {
		err := l.attempt(ctx, items, parts, results)
		if err == nil {
			l.fresh = !l.options.Dry && !slices.ContainsFunc(results, func(r LoadResult) bool { return r.Loaded != LoadedNew })
			return results, nil
		}
		if !again(err) || !pause(ctx, attempt) {
			return nil, err
		}
	}
}

// attempt writes on what the log says now. The error is bus.ErrConflict when
// somebody wrote meanwhile, or something is there that was taken to be new.
func (l *Loader) attempt(ctx context.Context, items []Loadable, parts []part, results []LoadResult) error {
	b := &bundle{w: l.w, parts: parts}
	if err := b.read(ctx); err != nil {
		return err
	}
	var places []int // of those that are to be written
	var decisions []Decision
	for i, item := range items {
		d, result := l.decide(item, parts[i].last)
		results[i] = result
		if result.Err == nil && result.Loaded != LoadedSame && result.Loaded != LoadedSkipped {
			places, decisions = append(places, i), append(decisions, d)
		}
	}
	for len(places) > 0 {
		err := l.write(ctx, parts, places, decisions)
		item, ok := errors.AsType[*ItemError](err)
		if !ok {
			return err
		}
		results[places[item.Index]] = l.refuse(item.Cause)
		places, decisions = slices.Delete(places, item.Index, item.Index+1), slices.Delete(decisions, item.Index, item.Index+1)
	}
	return nil
}

// decide says what is to become of a record, given its last message.
func (l *Loader) decide(item Loadable, last *bus.Message) (Decision, LoadResult) {
	var current []byte
	if last != nil && last.Header.Get(headerKind) != string(Deleted) {
		current = last.Data
	}
	switch {
	case item.Deleted && current == nil && !item.counts(last), !item.Deleted && current != nil && item.same(current):
		return Decision{}, LoadResult{Loaded: LoadedSame}
	case last != nil && !neverWas(last) && l.options.OnConflict != ConflictReplace:
		return Decision{}, l.refuse(fault.New(fault.Conflict, "%s %q is there otherwise", item.Type, item.ID))
	}
	old, _ := membersOf(current) // what cannot be read is replaced as a whole
	if item.Deleted {
		stub := members{"id": quoted(item.ID)}
		if item.r.Owner != nil {
			stub[item.r.Owner.Name] = quoted(item.owner(current))
		}
		if v := item.r.Version; v != nil {
			stub[v.Name] = item.counted(last)
		}
		return Decision{ID: item.ID, Kind: Deleted, Raw: encode(item.r, stub), Release: uniques(item.r, old, nil)}, LoadResult{Loaded: LoadedDeleted}
	}
	record, _ := membersOf(item.raw) // Fit has made it
	raw := item.raw
	if v := item.r.Version; v != nil {
		record[v.Name] = item.counted(last)
		raw = encode(item.r, record)
	}
	d := Decision{ID: item.ID, Kind: Created, Raw: raw, Take: uniques(item.r, record, old), Release: uniques(item.r, old, record)}
	if current == nil {
		return d, LoadResult{Loaded: LoadedNew}
	}
	d.Kind = Updated
	return d, LoadResult{Loaded: LoadedReplaced}
}

func (l *Loader) refuse(cause error) LoadResult {
	if l.options.OnConflict == ConflictSkip {
		return LoadResult{Loaded: LoadedSkipped}
	}
	return LoadResult{Loaded: LoadedFailed, Err: cause}
}

// write appends the decisions of the parts at the places. An *ItemError names the
// one that another record is in the way of.
func (l *Loader) write(ctx context.Context, parts []part, places []int, decisions []Decision) error {
	b := &bundle{w: l.w, tx: Transaction{Who: auth.Principal{Subject: loaderActor}}, asked: len(places)}
	for _, i := range places {
		b.parts = append(b.parts, parts[i])
	}
	entries, err := b.entries(ctx, decisions, nil)
	if err != nil && len(places) > 1 && fault.Is(err, fault.BadUserInput) { // too many for one batch
		return l.halves(ctx, parts, places, decisions)
	}
	if err != nil || l.options.Dry {
		return err
	}
	appending, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	_, err = l.w.bus.Append(appending, entries...)
	if err != nil && appending.Err() != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrUnknownOutcome) {
		err = fault.Wrap(err, fault.Unavailable, "the log has too much to do")
	}
	return err
}

// halves writes what does not fit into one batch as two.
func (l *Loader) halves(ctx context.Context, parts []part, places []int, decisions []Decision) error {
	half := len(places) / 2
	if err := l.write(ctx, parts, places[:half], decisions[:half]); err != nil {
		return err
	}
	err := l.write(ctx, parts, places[half:], decisions[half:])
	if item, ok := errors.AsType[*ItemError](err); ok {
		return &ItemError{Index: half + item.Index, Cause: item.Cause}
	}
	return err
}
