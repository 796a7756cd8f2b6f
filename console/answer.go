package console

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/resource"
	"tidings/schema"
)

// answer answers those who look, until ctx ends. Looks come one after the other,
// so that what they cost is bounded by one processor.
func (c *Console) answer(ctx context.Context) {
	subjects := c.opts.Bus.Subjects()
	err := c.opts.Bus.Subscribe(ctx, subjects.Control("look"), nil, func(m bus.Message) {
		l, err := decodeLook(m.Data)
		if err != nil || l.From == c.id { // who looks knows what is here
			return
		}
		data, err := json.Marshal(c.report(l))
		if err == nil {
			err = c.opts.Bus.Publish(subjects.Control("report"), nil, data)
		}
		if err != nil && !fault.Is(err, fault.Unavailable) {
			c.missed(ctx, "cannot say what this process does", err)
		}
	})
	c.missed(ctx, "does not hear who looks", err)
}

// report is what there is to see in this process.
func (c *Console) report(l look) report {
	all, err := c.opts.Metrics.Figures()
	if err != nil {
		c.missed(context.Background(), "cannot read all metrics", err)
	}
	f := figures(all)
	r := report{
		To: l.From, Nth: l.Nth, identity: c.self, At: time.Now().UTC(),
		Draining: f.is("tidings_draining"), Bus: f.is("tidings_bus_connected"), Open: f.open(),
		Numbers: f.pick(numbers), Log: f.pick(logNumbers), Late: f.late(),
	}
	if err := c.opts.Ready(); err != nil {
		r.NotReady = err.Error()
	}
	if c.opts.Groups != nil {
		for _, g := range c.opts.Groups(maxGroups) {
			r.Groups = append(r.Groups, groupOf(g))
		}
	}
	if c.opts.Hub != nil {
		r.Answers = c.operations(l.Questions)
	}
	return r
}

func groupOf(g graphql.LiveGroup) group {
	return group{
		Field: g.Field, Name: clip(g.Operation, maxName), Document: clip(g.Document, maxDocument), Variables: shown(g.Variables),
		Roles: rolesOf(g.Roles), Subject: clip(g.Subject, maxName), Members: g.Members, Processes: 1,
	}
}

// operations answers questions by one walk over what is live.
func (c *Console) operations(questions []question) []list {
	found := make([]candidates, 0, len(questions))
	for _, q := range questions {
		if q.Process == "" || q.Process == c.id {
			found = append(found, candidates{question: q, search: strings.ToLower(q.Search), text: c.opts.Text})
		}
	}
	if len(found) == 0 {
		return nil
	}
	for l := range c.opts.Hub.Live() {
		for i := range found {
			found[i].offer(l)
		}
	}
	lists := make([]list, 0, len(found))
	room := maxReport
	for i := range found {
		lists = append(lists, found[i].list(c.id, &room))
	}
	return lists
}

// candidates are the operations that may be among those which a question is for.
type candidates struct {
	question question
	search   string // in lower case
	text     func(graphql.Request) string
	total    int
	best     []realtime.Live
}

func (c *candidates) offer(l realtime.Live) {
	if !c.matches(l) {
		return
	}
	c.total++
	if c.question.First == 0 {
		return
	}
	if c.best = append(c.best, l); len(c.best) == 2*c.question.First {
		c.cut()
	}
}

func (c *candidates) matches(l realtime.Live) bool {
	if c.search == "" {
		return true
	}
	for _, text := range [...]string{l.Who.Subject, l.Connection, l.Request.OperationName, l.Client.String(), c.text(l.Request)} {
		if strings.Contains(strings.ToLower(text), c.search) {
			return true
		}
	}
	return false
}

// cut keeps as many as were asked for, the first ones first.
func (c *candidates) cut() {
	slices.SortFunc(c.best, func(a, b realtime.Live) int {
		return c.question.compare(orderOf(a), orderOf(b))
	})
	c.best = c.best[:min(len(c.best), c.question.First)]
}

// compare says which of two operations comes first.
func (q question) compare(a, b operation) int {
	first := 0
	switch q.Order {
	case "DELIVERED":
		first = cmp.Compare(b.Delivered, a.Delivered)
	case "QUEUE":
		first = cmp.Compare(b.Queue, a.Queue)
	}
	return cmp.Or(first, b.Begun.Compare(a.Begun), strings.Compare(a.Connection, b.Connection), strings.Compare(a.ID, b.ID))
}

// orderOf is what of an operation its order depends on.
func orderOf(l realtime.Live) operation {
	return operation{Connection: l.Connection, ID: l.ID, Begun: l.Begun, Delivered: l.Delivered, Queue: l.Queue}
}

func (c *candidates) list(process string, room *int) list {
	c.cut()
	out := list{Question: c.question, Total: c.total, Nodes: make([]operation, 0, len(c.best))}
	for _, l := range c.best {
		op := operationOf(process, l, c.text(l.Request))
		size, err := json.Marshal(op)
		if *room -= len(size); err != nil || *room < 0 {
			break
		}
		out.Nodes = append(out.Nodes, op)
	}
	return out
}

// operationOf is an operation whose document has that text, if it is known.
func operationOf(process string, l realtime.Live, text string) operation {
	op := operation{
		Process: process, Connection: l.Connection, ID: l.ID, Transport: l.Transport, Client: l.Client.String(),
		Subject: l.Who.Subject, Roles: rolesOf(l.Who.Roles), Name: clip(l.Request.OperationName, maxName),
		Document: clip(cmp.Or(text, named(l.Request)), maxDocument), Variables: sent(l.Request.Variables),
		Begun: l.Begun.UTC(), Delivered: l.Delivered, Queue: l.Queue,
	}
	if !l.Who.Expires.IsZero() {
		end := l.Who.Expires.UTC()
		op.Expires = &end
	}
	if at, err := resource.ParsePosition(l.Cursor); err == nil {
		op.Sequence = &at.Seq
	}
	return op
}

// named says what a client names instead of a document that is not known here.
func named(r graphql.Request) string {
	if id := cmp.Or(r.DocumentID, r.QueryID); id != "" {
		return "# registered as " + id
	}
	return "# registered by its hash"
}

// rolesOf are the names of roles, those that no credentials carry included.
func rolesOf(r schema.Roles) []string {
	names := auth.RoleNames(r)
	if r.Has(schema.Owner) {
		names = append(names, "OWNER")
	}
	return names
}
