package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tidings/bus"
	"tidings/fault"
)

const (
	// readsAtOnce is how much of the log one transaction reads side by side.
	readsAtOnce = 16
	// replyRoom is what an answer on the bus has beside the records: for each of
	// them, and for the headers.
	replyRoom = 64
)

// bundle is a transaction on its way: the carry of many.
type bundle struct {
	w      *Worker
	tx     Transaction
	alone  bool   // it is one command, and no transaction to its caller
	parts  []part // those that were asked for, and in an attempt those that follow from them
	asked  int    // how many were asked for
	doubts bool   // an append got no answer

	lost     int               // attempts that others were in the way of
	endings  []ending          // what the last attempt was to delete, and others may refer to
	closed   map[string]ending // what others have been told of, by the references' subjects
	insisted time.Time         // until when that needs not be told again
}

// part is one change of a bundle.
type part struct {
	cmd     asked
	fresh   string // the id of a new record
	id      string
	subject string
	// unused: the id was made just now, so there is nothing to read under it.
	unused bool
	// doubt is the sequence that the first append without an answer expected.
	doubt uint64
	last  *bus.Message // as it was read for this attempt; nil: there is none
	// cause is the place of the deletion that this part follows from.
	cause int
}

// CarryAll carries out a transaction as Carry does a command: it decides all the
// changes on what the log says now and appends them as one batch, again and
// again until ctx ends (within 10 s when that has no deadline). Errors as
// Client.Transact.
func (w *Worker) CarryAll(ctx context.Context, t Transaction) (records []Record, err error) {
	done := w.work("", verbTransaction, t.Once)
	defer func() { done(err) }()
	ctx, cancel := inTime(ctx)
	defer cancel()
	b, err := w.bundle(t)
	if err != nil {
		return nil, err
	}
	return b.carry(ctx)
}

// carry tries until it is done or ctx ends.
func (b *bundle) carry(ctx context.Context) ([]Record, error) {
	w := b.w
	subjects := make([]string, len(b.parts))
	for i := range b.parts {
		subjects[i] = b.parts[i].subject
	}
	unlock, err := w.records.lock(ctx, subjects...)
	if err != nil {
		return nil, b.giveUp(heldUp(err, b.tx.Once))
	}
	defer unlock()
	var lost error
	for attempt := 0; ; attempt++ {
		began := time.Now()
		records, err := b.attempt(ctx)
		if err == nil || !again(err) && !errors.Is(err, context.DeadlineExceeded) {
			b.relent(ctx, err)
			if errors.Is(err, bus.ErrStale) {
				err = b.giveUp(err)
			}
			return records, err
		}
		lost = worse(lost, err)
		w.log.LogAttrs(ctx, slog.LevelDebug, "try a transaction again", slog.String("command", b.tx.ID), slog.Any("error", err))
		b.insist(ctx, err, time.Since(began))
		if !pause(ctx, attempt) {
			b.relent(ctx, err)
			return nil, b.giveUp(lost)
		}
	}
}

// bundle takes the changes apart.
func (w *Worker) bundle(t Transaction) (*bundle, error) {
	switch {
	case !validTransactionID(t.ID):
		return nil, errTransactionID
	case len(t.Changes) == 0:
		return nil, fault.New(fault.BadRequest, "the transaction holds no changes")
	case len(t.Changes) > bus.MaxEntries:
		return nil, tooManyEntries(len(t.Changes))
	}
	b := &bundle{w: w, tx: t, parts: make([]part, len(t.Changes)), asked: len(t.Changes)}
	at := map[string]int{}
	for i, change := range t.Changes {
		input, err := b.linked(i)
		if err != nil {
			return nil, &ItemError{Index: i, Cause: err}
		}
		p, err := w.part(Command{Type: change.Type, Verb: change.Verb, Input: input, Who: t.Who, ID: CommandID(t.ID, i), Once: t.Once})
		if err != nil {
			return nil, &ItemError{Index: i, Cause: err}
		}
		if other, twice := at[p.subject]; twice {
			return nil, &ItemError{Index: i, Cause: fault.Input("input.id", "the transaction changes this %s already, at place %d; a record may be changed once", change.Type, other)}
		}
		at[p.subject] = i
		b.parts[i] = p
	}
	return b, nil
}

func (w *Worker) part(cmd Command) (part, error) {
	fresh, err := w.fresh(cmd)
	if err != nil {
		return part{}, err
	}
	a, err := readInput(w.model, cmd)
	if err != nil {
		return part{}, err
	}
	id, err := a.target(fresh)
	if err != nil {
		return part{}, err
	}
	return w.partOf(a, fresh, id), nil
}

func (w *Worker) partOf(a asked, fresh, id string) part {
	return part{cmd: a, fresh: fresh, id: id, subject: w.bus.Subjects().Record(a.Type, id), unused: id == fresh && a.Once.first()}
}

func tooManyEntries(n int) error {
	return fault.New(fault.BadUserInput, "the transaction comes to %d messages of the log, for its records, their unique values and what refers to them; at most %d are possible: make it smaller", n, bus.MaxEntries)
}

// attempt decides on what the log says now. Errors as those of carry.attempt.
func (b *bundle) attempt(ctx context.Context) ([]Record, error) {
	b.parts = b.parts[:b.asked]
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	if records, err := b.happened(ctx); err != nil || records != nil {
		return records, err
	}
	now := b.w.now()
	decisions, err := b.decide(now)
	if err != nil {
		return nil, b.confirmed(ctx, err)
	}
	if err := b.giveWay(ctx, decisions); err != nil {
		return nil, err
	}
	decisions, guards, err := b.consequences(ctx, decisions, now)
	if err != nil {
		return nil, err
	}
	entries, err := b.entries(ctx, decisions, guards)
	if err != nil {
		return nil, err
	}
	if err := bus.Stale(ctx); err != nil { // what comes of it now nobody hears
		return nil, err
	}
	appending, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	last, err := b.w.bus.Append(appending, entries...)
	switch {
	case errors.Is(err, bus.ErrUnknownOutcome):
		b.doubt()
	case err != nil && appending.Err() != nil && ctx.Err() == nil: // it has not left, and there is time
		err = fault.Wrap(err, fault.Unavailable, "the log has too much to do")
	}
	if err != nil {
		return nil, err
	}
	records := make([]Record, b.asked)
	for i, d := range decisions[:b.asked] { // they are the last of the batch but for the guards
		records[i] = Record{Raw: d.Answer, Seq: last - uint64(len(guards)+b.asked-1-i)}
	}
	return records, nil
}

// read reads the newest message of each record.
func (b *bundle) read(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, _ int, p *part) (err error) {
		if p.unused {
			p.unused = false // an attempt that fails may have been stored
			return nil
		}
		p.last, err = b.w.last(ctx, p.subject)
		return err
	})
}

// each calls fn for the parts, some side by side, and returns the first error.
func (b *bundle) each(ctx context.Context, fn func(context.Context, int, *part) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for i := range b.parts {
		g.Go(func() error { return fn(ctx, i, &b.parts[i]) })
	}
	return g.Wait()
}

// decide decides all the changes. What they answer must fit into a message of
// the bus, since it is too late to find out when they have happened.
func (b *bundle) decide(now time.Time) ([]Decision, error) {
	decisions := make([]Decision, len(b.parts))
	size := replyRoom
	for i := range b.parts {
		p := &b.parts[i]
		current, tombstone := standing(p.last)
		d, err := p.cmd.decide(current, tombstone, now, p.fresh)
		if err != nil {
			return nil, &ItemError{Index: i, Cause: err}
		}
		decisions[i] = d
		size += len(d.Answer) + replyRoom
	}
	if limit := b.w.bus.MaxPayload(); size > limit {
		return nil, fault.New(fault.PayloadTooLarge, "the transaction's records have %d bytes together; the bus carries %d: make it smaller", size, limit)
	}
	return decisions, nil
}

// entries returns the messages of the decisions: the unique values, then the
// records that change because of others, those before these, then those that were
// asked for in their order, then the guards.
func (b *bundle) entries(ctx context.Context, decisions []Decision, guards []bus.Entry) ([]bus.Entry, error) {
	entries, err := b.reservations(ctx, decisions)
	if err != nil {
		return nil, err
	}
	for i := len(decisions) - 1; i >= b.asked; i-- {
		entries = append(entries, b.entry(i, decisions[i]))
	}
	for i, d := range decisions[:b.asked] {
		entries = append(entries, b.entry(i, d))
	}
	entries = append(entries, guards...)
	if len(entries) > bus.MaxEntries {
		return nil, tooManyEntries(len(entries))
	}
	return entries, nil
}

// entry is the message of a record.
func (b *bundle) entry(i int, d Decision) bus.Entry {
	p := &b.parts[i]
	after := uint64(0)
	if p.last != nil {
		after = p.last.Seq
	}
	return bus.Entry{
		Subject: p.subject,
		Header:  bus.Header{headerKind: {string(d.Kind)}, headerActor: {b.tx.Who.Subject}, headerCommand: {p.cmd.ID}},
		Data:    d.Raw,
		After:   after,
	}
}

// doubt notes that nobody knows whether this attempt's append has happened.
func (b *bundle) doubt() {
	if b.doubts {
		return
	}
	b.doubts = true
	for i := range b.parts {
		if last := b.parts[i].last; last != nil {
			b.parts[i].doubt = last.Seq
		}
	}
}

// since is a position from before the transaction.
func (b *bundle) since(p *part) uint64 {
	if b.tx.Once != nil {
		return b.tx.Once.Since
	}
	return p.doubt
}

// happened looks for a transaction that has been sent before, or whose
// acknowledgement was lost: nil when it has not happened. One record that does
// not have its change tells so, because the changes happen together. The fault is
// Conflict when it cannot be told.
func (b *bundle) happened(ctx context.Context) ([]Record, error) {
	if b.tx.Once == nil && !b.doubts {
		return nil, nil
	}
	records, absent, alone := make([]Record, len(b.parts)), make([]bool, len(b.parts)), make([]bool, len(b.parts))
	err := b.each(ctx, func(ctx context.Context, i int, p *part) (err error) {
		if absent[i] = p.last == nil || without(p.last, p.cmd.ID, b.since(p)); absent[i] {
			return nil
		}
		var trimmed time.Time
		records[i], trimmed, err = b.w.find(ctx, p.subject, p.cmd.Command, b.since(p), p.last.Seq)
		absent[i], alone[i] = trimmed.IsZero(), !b.doubts && p.cmd.alone(trimmed)
		return err
	})
	if err != nil {
		return nil, err
	}
	found, missing, lost := 0, false, ""
	for i, r := range records {
		switch {
		case r.Seq > 0:
			found++
		case absent[i]:
			missing = true
		default:
			lost = b.parts[i].cmd.Type
		}
	}
	switch {
	case found == len(records):
		return records, nil
	case found > 0 && missing: // it happened between two reads
		return nil, fmt.Errorf("transaction %s: %w", b.tx.ID, bus.ErrConflict)
	case found > 0:
		return nil, fault.New(fault.Conflict, "%s was carried out, but the %s has changed too often since to tell what came of it; read it", b.noun(), lost)
	case missing, slices.Contains(alone, true):
		return nil, nil
	}
	return nil, fault.New(fault.Conflict, "the %s has changed too often since to tell whether %s was carried out; read it", lost, b.noun())
}

// giveUp says why time ran out, as carry.giveUp does.
func (b *bundle) giveUp(err error) error {
	switch {
	case b.doubts:
		return fault.Wrap(err, fault.Timeout, "the log did not answer in time; %s may have happened", b.noun())
	case b.tx.Once != nil && (errors.Is(err, bus.ErrConflict) || errors.Is(err, errClosing)):
		return elsewhere(err)
	case errors.Is(err, bus.ErrConflict):
		return fault.Wrap(err, fault.Conflict, "the records of %s are being changed by too many at once; try again", b.noun())
	}
	return err
}

// noun is what the caller calls it.
func (b *bundle) noun() string {
	if b.alone {
		return "the change"
	}
	return "the transaction"
}
