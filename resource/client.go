package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/internal/proc"
	"tidings/schema"
	"tidings/view"
)

// Client is what the bindings use: reads from this process's view, commands to
// the workers. It is safe for concurrent use.
type Client struct {
	bus   *bus.Bus
	model *schema.Model
	view  View
	feed  *Feed
	here  *Worker // nil: every command goes over the bus

	patience *bus.Patience // nil: no command is sent again

	waiting *proc.Level
	took    *proc.Histogram // nil: nobody asks how long commands take
}

// NewClient returns a client. The feed must be the one that fills the view;
// whoever made the parts closes them.
func NewClient(b *bus.Bus, m *schema.Model, v View, f *Feed) *Client {
	return &Client{bus: b, model: m, view: v, feed: f}
}

// Found is one result of Get. Raw nil and Err nil: there is no such record.
// Err is Forbidden when the caller may not read it.
type Found struct {
	Raw []byte
	Err error
}

// Get returns the records with the given ids, in their order.
func (c *Client) Get(ctx context.Context, who auth.Principal, typ string, ids []string) ([]Found, error) {
	raws, err := c.view.Get(ctx, typ, ids)
	if err != nil {
		return nil, err
	}
	r := c.model.Resource(typ)
	found := make([]Found, len(raws))
	for i, raw := range raws {
		switch {
		case raw == nil:
		case May(who, r.Auth[schema.Read], r, raw):
			found[i].Raw = raw
		default:
			found[i].Err = forbidden(r, schema.Read)
		}
	}
	return found, nil
}

// Related returns the related records of every parent, at most limit each,
// newest first. Records that the caller may not read are left out.
func (c *Client) Related(ctx context.Context, who auth.Principal, rel *schema.Relation, parents []string, limit int) ([][][]byte, error) {
	owner, err := readable(who, rel.Target)
	if err != nil {
		return nil, err
	}
	if rel.Through != nil && !who.May(rel.Through.Auth[schema.Read], "") {
		return nil, forbidden(rel.Through, schema.Read)
	}
	return c.view.Related(ctx, view.Related{Relation: rel, Parents: parents, Limit: limit, Owner: owner})
}

// List returns one page. Where only owners may read, it holds the caller's own
// records; where the caller may read none by rule, the fault is Forbidden.
func (c *Client) List(ctx context.Context, who auth.Principal, q view.Query) (view.Page, error) {
	owner, err := readable(who, c.model.Resource(q.Type))
	if err != nil {
		return view.Page{}, err
	}
	q.Owner = owner
	return c.view.List(ctx, q)
}

// Count returns how many records a List with the same filter would walk over.
func (c *Client) Count(ctx context.Context, who auth.Principal, typ string, filter *view.Filter) (int, error) {
	owner, err := readable(who, c.model.Resource(typ))
	if err != nil {
		return 0, err
	}
	return c.view.Count(ctx, typ, filter, owner)
}

// ListAt is a List that says of which state it is (view.View.ListAt).
func (c *Client) ListAt(ctx context.Context, who auth.Principal, q view.Query) (page view.Page, position uint64, err error) {
	if q.Owner, err = readable(who, c.model.Resource(q.Type)); err != nil {
		return view.Page{}, 0, err
	}
	return c.view.ListAt(ctx, q)
}

// CountTo is a Count that stops at most.
func (c *Client) CountTo(ctx context.Context, who auth.Principal, typ string, filter *view.Filter, most int) (int, error) {
	owner, err := readable(who, c.model.Resource(typ))
	if err != nil {
		return 0, err
	}
	return c.view.CountTo(ctx, typ, filter, owner, most)
}

// Submit sends a command to a worker and returns the record as it is after the
// log has acknowledged the change; for Delete the record as it was. As a rule
// this process's view shows the change by then; WaitFor makes sure. Faults:
// those of Decide, Unavailable when no worker is there, Timeout when the
// answer did not come in time (the command may have been carried out). With
// Persist it is sent again before it fails so.
func (c *Client) Submit(ctx context.Context, cmd Command) (Record, error) {
	named := cmd.ID != ""
	if !named {
		cmd.ID = newID()
	}
	done := c.sent(string(cmd.Verb))
	record, err := c.submit(ctx, cmd, named)
	done(err)
	if err == nil {
		c.settle(ctx, record.Seq)
	}
	return record, err
}

// submit has a command carried out here or, when there is no place, by others.
// The caller has named it if its id is not one of ours.
func (c *Client) submit(ctx context.Context, cmd Command, named bool) (Record, error) {
	if record, done, err := c.carryHere(ctx, cmd); done {
		return record, err
	}
	m, err := c.persist(ctx, c.bus.Subjects().Command(cmd.Type, string(cmd.Verb)), named, cmd.Once, func(once *Once) any {
		return request{ID: cmd.ID, Who: cmd.Who, Input: cmd.Input, Once: once}
	})
	if err != nil {
		return Record{}, c.stranger(cmd, err)
	}
	var r reply
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return Record{}, fmt.Errorf("decode the worker's reply: %w", err)
	}
	return Record{Raw: r.Record, Seq: r.Seq}, nil
}

// stranger tells the refusal of a field by a worker with another schema, which
// is no mistake of the caller, from that of a field that is none here either.
func (c *Client) stranger(cmd Command, err error) error {
	f := fault.Of(err)
	name, ok := strings.CutPrefix(f.Field, "input.")
	if !ok || f.Code != fault.BadUserInput || f.Message != noField(cmd.Type, name).Message {
		return err
	}
	if _, unknown := readInput(c.model, cmd); unknown != nil {
		return err
	}
	return fault.Wrap(err, fault.Unavailable, "the worker that was asked has another schema, without %s.%s; nothing was changed: try again when all processes have the same schema", cmd.Type, name)
}

// settled is how long an answer is held back for this process's view: what a
// view that is not busy needs a thousand times over.
const settled = time.Second

// settle waits until this process's view shows a change, so that the caller's
// next read here sees it. The change has happened whatever the view does, so
// the wait is short and its failure none.
func (c *Client) settle(ctx context.Context, seq uint64) {
	timer := time.NewTimer(settled)
	defer timer.Stop()
	_ = c.feed.waitUntil(ctx, seq, timer.C) // see above
}

// WaitFor returns when this process's view shows the log up to seq, or with
// the fault Timeout when ctx ends before.
func (c *Client) WaitFor(ctx context.Context, seq uint64) error { return c.feed.waitFor(ctx, seq) }

// Position returns how far this process's view has come.
func (c *Client) Position() Position { return c.feed.Now() }

// request and reply are the payloads of a command on the bus (docs/bus.md).
type request struct {
	ID    string          `json:"id"`
	Who   auth.Principal  `json:"who"`
	Input json.RawMessage `json:"input"`
	Once  *Once           `json:"once,omitempty"`
}

type reply struct {
	Record json.RawMessage `json:"record"`
	Seq    uint64          `json:"seq"`
}

// readable says whose records the caller may read: everybody's ("", nil), only
// those of the returned owner, or none.
func readable(who auth.Principal, r *schema.Resource) (owner string, err error) {
	rule := r.Auth[schema.Read]
	if who.May(rule, "") {
		return "", nil
	}
	if rule.Roles.Has(schema.Owner) && !who.Anonymous() {
		return who.Subject, nil
	}
	return "", forbidden(r, schema.Read)
}

func forbidden(r *schema.Resource, a schema.Action) error {
	return fault.New(fault.Forbidden, "not allowed to %s %s", actionWords[a], r.Name)
}

var actionWords = [...]string{"read", "create", "update", "delete"}

// newID returns a new id: UUIDv7 (RFC 9562), so that ids sort by age.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// timeNow is the worker's clock, in the precision that records keep.
func timeNow() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
