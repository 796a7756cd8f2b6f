package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/schema"
	"tidings/view"
)

// closure is what an attempt's changes come to with all that follows from them:
// records that go with a deleted one, and records that cease to refer to it. Who
// may delete a record may bring this about; whether the caller may change the
// others is not asked. It is found level by level, from this process's view,
// which shows at least what the log held when the deletion was guarded; each
// record that it names is read from the log before it is changed.
type closure struct {
	*bundle
	now       time.Time
	decisions []Decision     // of the parts
	at        map[string]int // the parts by their subjects
	doomed    []int          // deletions whose referrers were not looked for yet
	deleted   []int          // those with rules
	guards    []bus.Entry
	guarded   map[string]bool
}

// consequences adds to the decisions what follows from them, and returns the
// messages that guard it all. The fault is Conflict when a record may not be
// deleted because others refer to it, BadUserInput when there is no record to
// refer to, or more would follow than one batch of the log holds.
func (b *bundle) consequences(ctx context.Context, decisions []Decision, now time.Time) ([]Decision, []bus.Entry, error) {
	if !slices.ContainsFunc(b.parts, func(p part) bool { return p.cmd.refers() }) {
		return decisions, nil, nil
	}
	b.endings = nil
	c := &closure{bundle: b, now: now, decisions: decisions, at: map[string]int{}, guarded: map[string]bool{}}
	for i := range b.parts {
		c.at[b.parts[i].subject] = i
		c.doom(i)
	}
	for len(c.doomed) > 0 {
		if err := c.level(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := c.restricted(ctx); err != nil {
		return nil, nil, err
	}
	if err := c.references(ctx); err != nil {
		return nil, nil, err
	}
	return c.decisions, c.guards, nil
}

// doom notes a deletion that has consequences.
func (c *closure) doom(i int) {
	if c.decisions[i].Kind == Deleted && ruled(c.parts[i].cmd.r) {
		c.doomed = append(c.doomed, i)
		c.deleted = append(c.deleted, i)
	}
}

// level follows the deletions that are known so far.
func (c *closure) level(ctx context.Context) error {
	level := c.doomed
	c.doomed = nil
	least, err := c.guard(ctx, level)
	if err != nil {
		return err
	}
	if err := c.w.shown(ctx, least); err != nil {
		return err
	}
	for _, i := range level {
		for _, ref := range c.parts[i].cmd.r.Referrers {
			if ref.OnDelete != schema.Cascade && ref.OnDelete != schema.SetNull {
				continue
			}
			if err := c.follow(ctx, i, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// guard makes the deletions fail if somebody refers to the records from now on,
// and returns where in the log the references end that there are.
func (c *closure) guard(ctx context.Context, level []int) (upto uint64, err error) {
	guards := make([]bus.Entry, len(level))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for n, i := range level {
		e := &guards[n]
		e.Subject, e.Data = c.w.bus.Subjects().Reference(c.parts[i].cmd.Type, c.decisions[i].ID), []byte(leftAlone)
		c.endings = append(c.endings, ending{record: c.parts[i].subject, reference: e.Subject})
		g.Go(func() error {
			last, err := c.w.bus.Last(ctx, e.Subject)
			if err != nil {
				return fmt.Errorf("read %s: %w", e.Subject, err)
			}
			if last != nil {
				e.After = last.Seq
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	c.guards = append(c.guards, guards...)
	for _, e := range guards {
		upto = max(upto, e.After)
	}
	return upto, nil
}

// shown waits until the view shows what the log holds now, which is at least up
// to a sequence: one of several servers may say less, and not know it.
func (w *Worker) shown(ctx context.Context, least uint64) error {
	if w.reads == nil {
		return errors.New("this worker cannot tell which records refer to another one: it was made without WorkerOptions.Reads")
	}
	_, last, err := w.bus.State(ctx)
	if err != nil {
		return err
	}
	return w.waitFor(ctx, max(last, least))
}

func (w *Worker) waitFor(ctx context.Context, seq uint64) error {
	if err := w.reads.WaitFor(ctx, seq); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the worker does not know yet which records refer to this one; try again")
	}
	return nil
}

// referring is the filter of the records that refer to one.
func referring(ref *schema.Reference, id string) *view.Filter {
	return &view.Filter{Field: ref.Key, Op: "eq", Value: id}
}

// follow finds what a reference to a deleted record brings about.
func (c *closure) follow(ctx context.Context, i int, ref *schema.Reference) error {
	id := c.decisions[i].ID
	page, err := c.w.reads.view.List(ctx, view.Query{Type: ref.From.Name, Filter: referring(ref, id), First: bus.MaxEntries})
	if err != nil {
		return fmt.Errorf("look for what refers to a %s: %w", ref.To.Name, err)
	}
	if page.HasNext || len(page.Records)+len(c.parts) > bus.MaxEntries {
		return c.tooMany(ctx, i, ref)
	}
	var found []part
	for _, raw := range page.Records {
		subject := c.w.bus.Subjects().Record(ref.From.Name, rawjson.String(raw, "id"))
		if place, planned := c.at[subject]; planned {
			if err := c.meet(ctx, place, i, ref); err != nil {
				return err
			}
			continue
		}
		found = append(found, part{subject: subject, cause: c.cause(i),
			cmd: asked{Command: Command{Type: ref.From.Name, Who: c.tx.Who, ID: c.parts[c.cause(i)].cmd.ID}, r: ref.From}})
	}
	if err := c.readAll(ctx, found); err != nil {
		return err
	}
	for _, p := range found {
		current, _ := standing(p.last)
		if current == nil || rawjson.String(current, ref.Key.Name) != id {
			continue // it has changed since the view was read
		}
		d, err := c.consequence(p, ref)
		if err != nil {
			return err
		}
		c.at[p.subject] = len(c.parts)
		c.parts, c.decisions = append(c.parts, p), append(c.decisions, d)
		c.doom(len(c.parts) - 1)
	}
	return nil
}

// cause is the place of the deletion that was asked for, of which part i is one
// or the consequence.
func (c *closure) cause(i int) int {
	if i < c.asked {
		return i
	}
	return c.parts[i].cause
}

func (c *closure) readAll(ctx context.Context, parts []part) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for n := range parts {
		g.Go(func() (err error) {
			parts[n].last, err = c.w.last(ctx, parts[n].subject)
			return err
		})
	}
	return g.Wait()
}

// consequence is what becomes of a record that refers to a deleted one.
func (c *closure) consequence(p part, ref *schema.Reference) (Decision, error) {
	d := draft{r: p.cmd.r, who: c.tx.Who, now: c.now, input: members{}}
	old, err := membersOf(p.last.Data)
	if err != nil {
		return Decision{}, fault.Wrap(err, fault.Internal, "a stored record cannot be read")
	}
	owner := Owner(p.cmd.r, p.last.Data)
	if ref.OnDelete == schema.Cascade {
		return d.remove(p.last.Data, old, owner)
	}
	changed, err := d.rewrite(old, owner)
	if err != nil {
		return Decision{}, err
	}
	return cleared(p.cmd.r, old, changed, ref)
}

// cleared is a change that takes a reference away, too.
func cleared(r *schema.Resource, old members, d Decision, ref *schema.Reference) (Decision, error) {
	record, err := membersOf(d.Raw)
	if err != nil {
		return Decision{}, err
	}
	record[ref.Key.Name] = null
	d.Raw = encode(r, record)
	d.Answer, d.Take, d.Release = d.Raw, uniques(r, record, old), uniques(r, old, record)
	return d, nil
}

// meet settles what becomes of a record that refers to a deleted one and is
// changed already.
func (c *closure) meet(ctx context.Context, place, i int, ref *schema.Reference) (err error) {
	p, d := &c.parts[place], c.decisions[place]
	switch {
	case d.Kind == Deleted || rawjson.String(d.Raw, ref.Key.Name) != c.decisions[i].ID:
		return nil
	case ref.OnDelete == schema.SetNull:
		old, err := membersOf(p.last.Data)
		if err != nil {
			return err
		}
		c.decisions[place], err = cleared(p.cmd.r, old, d, ref)
		return err
	case place < c.asked:
		refusal := fault.New(fault.Conflict, "the %s cannot be changed: it goes with the %s %s, which the transaction deletes", ref.From.Name, ref.To.Name, strconv.Quote(c.decisions[i].ID))
		return c.certain(ctx, &ItemError{Index: place, Cause: refusal}, nil, p.newest(), c.parts[i].newest())
	}
	if c.decisions[place], err = c.consequence(*p, ref); err == nil {
		c.doom(place)
	}
	return err
}

// countAtMost is how many referring records are counted for a message.
const countAtMost = 10_000

func (c *closure) tooMany(ctx context.Context, i int, ref *schema.Reference) error {
	count := func() (int, error) {
		return c.w.reads.view.CountTo(ctx, ref.From.Name, referring(ref, c.decisions[i].ID), "", countAtMost)
	}
	n, err := count()
	if err != nil {
		return err
	}
	refusal := &ItemError{Index: c.cause(i), Cause: fault.New(fault.BadUserInput,
		"deleting the %s comes to more than %d messages of the log: %s records refer to it by %s, and each is changed with it; delete some of them first", ref.To.Name, bus.MaxEntries, number(n), ref)}
	still := func() (bool, error) {
		n, err := count()
		return n+len(c.parts) > bus.MaxEntries, err
	}
	return c.certain(ctx, refusal, still, c.parts[i].newest())
}

// number tells a count that stops at countAtMost.
func number(n int) string {
	if n >= countAtMost {
		return "at least " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// restricted refuses deletions of records to which others refer that stay.
func (c *closure) restricted(ctx context.Context) error {
	for _, i := range c.deleted {
		for _, ref := range c.parts[i].cmd.r.Referrers {
			if ref.OnDelete != schema.Restrict {
				continue
			}
			if err := c.restrict(ctx, i, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *closure) restrict(ctx context.Context, i int, ref *schema.Reference) error {
	n, err := c.staying(ctx, i, ref)
	if err != nil || n <= 0 {
		return err
	}
	still := func() (bool, error) {
		n, err := c.staying(ctx, i, ref)
		return n > 0, err
	}
	on := []newest{c.parts[i].newest()}
	for place := range c.asked { // one that was taken for a record which refers to others does not count
		if c.parts[place].cmd.r == ref.From && !c.refers(place, ref, c.decisions[i].ID) {
			on = append(on, c.parts[place].newest())
		}
	}
	return c.certain(ctx, &ItemError{Index: c.cause(i), Cause: c.refusal(i, ref, n)}, still, on...)
}

// refers reports whether a record that is changed referred to another one, as it was read.
func (c *closure) refers(place int, ref *schema.Reference, id string) bool {
	current, _ := standing(c.parts[place].last)
	return current != nil && rawjson.String(current, ref.Key.Name) == id
}

// staying counts the records that refer to a deleted one and will do so after
// all that is planned.
func (c *closure) staying(ctx context.Context, i int, ref *schema.Reference) (int, error) {
	id := c.decisions[i].ID
	n, err := c.w.reads.view.CountTo(ctx, ref.From.Name, referring(ref, id), "", countAtMost+bus.MaxEntries)
	if err != nil {
		return 0, fmt.Errorf("count what refers to a %s: %w", ref.To.Name, err)
	}
	for place := range c.parts {
		p, d := &c.parts[place], c.decisions[place]
		if p.cmd.r != ref.From || p.last == nil {
			continue
		}
		before := c.refers(place, ref, id)
		after := d.Kind != Deleted && rawjson.String(d.Raw, ref.Key.Name) == id
		if before && !after {
			n--
		}
	}
	return n, nil
}

// refusal says which records forbid a deletion, and how many, if the caller may
// know of them all.
func (c *closure) refusal(i int, ref *schema.Reference, n int) error {
	by := ref.String()
	if c.tx.Who.May(ref.From.Auth[schema.Read], "") {
		by = number(min(n, countAtMost)) + " by " + by
	}
	if i < c.asked {
		return fault.New(fault.Conflict, "the %s cannot be deleted while records refer to it: %s", ref.To.Name, by)
	}
	return fault.New(fault.Conflict, "the %s cannot be deleted: a %s would go with it, and records refer to that: %s", c.parts[c.cause(i)].cmd.Type, ref.To.Name, by)
}
