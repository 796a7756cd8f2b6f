package soap

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
	"tidings/schema"
)

// A pull tells what changed after a cursor: the events of the subscription, by
// the root field that polls them. When there are none yet it may wait for the
// first one. Then it subscribes, so that only what its caller may see wakes it,
// and asks again.

const (
	// maxWait is how long a pull may wait, in seconds: clients give up after 60 s,
	// and some proxies after 30.
	maxWait = 25
	// maxWaiting is how many pulls wait at a service; the next is answered at once.
	maxWaiting = 256
	// maxWaitingBytes is how large an envelope may be that waits: it is held in memory.
	maxWaitingBytes = 64 << 10
	// answering is what a caller's patience must leave for the answer.
	answering = 2 * time.Second
	// The names of the arguments, and those that they have in GraphQL.
	pullCursor, pullMax, pullWait = "cursor", "max", "waitSeconds"
	fieldAfter, fieldFirst        = "after", "first"
)

const (
	docCursor = "Where to begin: the cursor of the result before, or of an event. Without one there are no events, but the cursor of this moment: keep it, then read the records, then pull what changed since."
	docWait   = "Wait for so many seconds, at most 25, when there is nothing yet: the answer comes with the first event. It may come earlier without one."
	docKind   = "What happened: CREATED, UPDATED, DELETED; ENTERED or LEFT when the record came into, or out of, what the caller may read. New kinds may appear."
)

// pull maps the root field that polls a resource's changes. It is nil when the
// schema declares the field without the argument that SOAP needs.
func (b *builder) pull(f rootField) *operation {
	at := func(name string) int {
		return slices.IndexFunc(f.args, func(a argument) bool { return a.name == name })
	}
	if at(fieldAfter) < 0 {
		return nil
	}
	op := &operation{name: cmp.Or(f.soap.Name, "Pull"+f.Resource.Name+"Changes"), kind: kindPull}
	op.doc = "The changes of " + f.Resource.Name + " records that the caller may read, oldest first, after a cursor. Pull, carry out the events, store the cursor, pull again: at once while hasMore is true."
	op.result = &part{name: resultName, typ: b.changePage(f.Resource)}
	op.args = []*part{{name: pullCursor, doc: docCursor, typ: b.leaf("String"), optional: true}}
	declared, given := []string{"$cursor: String"}, []string{"after: $cursor"}
	if i := at(fieldFirst); i >= 0 {
		op.args = append(op.args, &part{name: pullMax, doc: f.args[i].doc, typ: b.leaf("Int"), optional: true, nillable: true})
		declared, given = append(declared, "$max: Int"), append(given, "first: $max")
	}
	op.document = "query " + op.name + parenthesised(declared) + " { " + resultName + ": " + f.Name + parenthesised(given) + op.result.typ.selection() + " }"
	if changed := b.model.Root("Subscription", f.Resource.Singular+"Changed"); changed != nil && changed.Kind == schema.RootChanged {
		op.wakes = "subscription " + op.name + " { " + changed.Name + " { cursor } }"
		op.args = append(op.args, &part{name: pullWait, doc: docWait, typ: b.leaf("Int"), optional: true, nillable: true})
	}
	return op
}

// changePage maps a page of changes.
func (b *builder) changePage(r *schema.Resource) *xsdType {
	t, _ := b.declare(&xsdType{name: r.Name + "ChangePage", origin: "the changes of " + r.Name, form: formObject, doc: b.model.Contract.Types[r.Name+"ChangePage"].Description})
	change, _ := b.declare(&xsdType{name: r.Name + "Change", origin: "a change of " + r.Name, form: formObject, doc: "A change of a " + r.Name + ".", fields: []*part{
		{name: "kind", doc: docKind, typ: b.leaf("String")},
		{name: "id", doc: b.model.Contract.Types[r.Name+"Change"].Fields.ForName("id").Description, typ: b.leaf("ID")},
		{name: "cursor", doc: "Pulls after this event go on here.", typ: b.leaf("String")},
		{name: "at", doc: "When it happened.", typ: b.leaf("DateTime")},
		{name: r.Singular, doc: "The record after the change; absent when it was deleted, or may no longer be read.", typ: b.object(r, whole), optional: true},
	}})
	t.fields = []*part{
		{name: "events", source: "nodes", doc: "The changes, oldest first.", typ: b.list(&part{name: "item", typ: change})},
		{name: "cursor", source: "endCursor", doc: "Where the next pull begins. Store it when these events are carried out.", typ: b.leaf("String")},
		{name: "hasMore", doc: "There are more events already: pull again at once.", typ: b.leaf("Boolean")},
	}
	return t
}

// pullArgs is what a pull asks for; the first two are the document's variables.
type pullArgs struct {
	Cursor *string `json:"cursor,omitempty"`
	Max    *int    `json:"max,omitempty"`
	Wait   int     `json:"waitSeconds,omitempty"`
}

// runPull carries out an operation of kindPull.
func (s *Service) runPull(ctx context.Context, who auth.Principal, op *operation, r *request) ([]byte, *failure) {
	raw, err := s.contract.variables(op, r.payload)
	if err != nil {
		return nil, failed(err)
	}
	var args pullArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, failed(err)
	}
	if args.Wait < 0 || args.Wait > maxWait {
		return nil, failed(fault.Input(pullWait, "%s must be from 0 to %d", pullWait, maxWait))
	}
	if err := s.catchUp(ctx); err != nil {
		return nil, failed(err)
	}
	page, f := s.pull(ctx, who, op, args, false)
	if f != nil {
		return nil, f
	}
	if args.Cursor != nil && args.Wait > 0 && r.size <= maxWaitingBytes && page.empty() && s.await(ctx, who, op, page.Cursor, time.Duration(args.Wait)*time.Second) {
		args.Cursor = &page.Cursor
		if page, f = s.pull(ctx, who, op, args, true); f != nil {
			return nil, f
		}
	}
	return s.pulled(ctx, who, op, r, args, page)
}

// pulled writes a page, or as much of it as an answer can hold.
func (s *Service) pulled(ctx context.Context, who auth.Principal, op *operation, r *request, args pullArgs, page pullPage) ([]byte, *failure) {
	for {
		out, err := s.contract.answer(op, r, page.result, nil)
		if err != nil {
			return nil, failed(err)
		}
		if len(out) <= s.bus.MaxPayload()-answerRoom || len(page.Events) < 2 || !op.has(pullMax) {
			return out, nil
		}
		half := len(page.Events) / 2
		args.Max = &half
		var f *failure
		if page, f = s.pull(ctx, who, op, args, true); f != nil {
			return nil, f
		}
	}
}

func (op *operation) has(arg string) bool {
	return slices.ContainsFunc(op.args, func(p *part) bool { return p.name == arg })
}

// pullPage is a page of changes.
type pullPage struct {
	result  result
	Events  []json.RawMessage `json:"events"`
	Cursor  string            `json:"cursor"`
	HasMore bool              `json:"hasMore"`
}

func (p pullPage) empty() bool { return len(p.Events) == 0 && !p.HasMore }

// pull asks for a page of changes. again is not counted as another request.
func (s *Service) pull(ctx context.Context, who auth.Principal, op *operation, args pullArgs, again bool) (page pullPage, f *failure) {
	args.Wait = 0
	variables, err := json.Marshal(args)
	if err != nil {
		return page, failed(err)
	}
	response := s.engine.Execute(ctx, who, graphql.Request{Query: op.document, Variables: variables, Trusted: true, Counted: again})
	if page.result, err = op.read(response.Body); err != nil {
		return page, failed(err)
	}
	if f, _ := op.verdict(page.result); f != nil {
		return page, f.ofPull()
	}
	if err := json.Unmarshal(page.result.root, &page); err != nil {
		return page, failed(err)
	}
	return page, nil
}

// ofPull says what failed in the words of the operation.
func (f *failure) ofPull() *failure {
	e := *f.Error
	switch {
	case e.Code == fault.CursorExpired:
		e.Message = "the changes after this cursor are no longer all kept: pull without a cursor to get a new one, then read the records, then pull what changes from there"
		e.Field = pullCursor
	case e.Field == fieldAfter:
		e.Field = pullCursor
	case e.Field == fieldFirst:
		e.Field, e.Message = pullMax, strings.Replace(e.Message, fieldFirst, pullMax, 1)
	}
	return &failure{Error: &e, wire: f.wire}
}

// await reports whether something may have come after the cursor that the caller
// may see, before the time is over. It is false at once when too many wait.
func (s *Service) await(ctx context.Context, who auth.Principal, op *operation, cursor string, most time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)-answering)
	}
	if most <= 0 || op.wakes == "" {
		return false
	}
	select {
	case s.waiting <- struct{}{}:
	default:
		return false
	}
	defer func() { <-s.waiting }()
	w := &waker{woken: make(chan struct{})}
	stop, refused := s.engine.Subscribe(ctx, who, graphql.Request{Query: op.wakes, Trusted: true, Counted: true}, cursor, w)
	if refused != nil {
		return true // asking again says why
	}
	defer stop()
	came := false
	bus.Aside(ctx, func() {
		timer := time.NewTimer(most)
		defer timer.Stop()
		select {
		case <-w.woken:
			came = true
		case <-timer.C:
		case <-s.stopping:
		case <-ctx.Done():
		}
	})
	return came
}

// waker is the sink of a subscription of which only the first event matters.
type waker struct {
	once  sync.Once
	woken chan struct{}
}

func (w *waker) wake() { w.once.Do(func() { close(w.woken) }) }

// Next implements graphql.Sink.
func (w *waker) Next([]byte, string) bool { w.wake(); return false }

// End implements graphql.Sink.
func (w *waker) End([]byte) { w.wake() }

// patient bounds a call by what a pull may take that waits, when the envelope may
// be one; nothing else is read of it, and one that is packed may be. Otherwise the
// bus's own bound holds.
func patient(ctx context.Context, envelope []byte, packed bool) (context.Context, context.CancelFunc) {
	if !packed && !bytes.Contains(envelope, []byte(pullWait)) {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, maxWait*time.Second+5*answering)
}
