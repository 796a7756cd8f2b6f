package graphql

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/auth"
	"tidings/fault"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// answer is the value of a root field: a link to objects, or the JSON of a leaf.
type answer struct {
	link
	raw []byte
}

func refused(err error) answer { return answer{link: link{err: err}} }

func single(b *batch) answer { return answer{link: link{next: b}} }

// answer finds the value of a root field. Those of functions are called side by
// side, see early.
func (r *run) answer(ctx context.Context, f *root) answer {
	if r.joint != nil {
		return r.jointly(ctx, f)
	}
	if err := ctx.Err(); err != nil {
		return refused(err)
	}
	args, err := r.engine.given(r.who, r.op, f)
	if err != nil {
		return refused(err)
	}
	switch {
	case f.meta:
		return r.introspect(f, args)
	case f.function != nil:
		return r.call(ctx, f, args)
	}
	switch f.generated.Kind {
	case schema.RootGet:
		id, _ := args["id"].(string)
		b, err := r.get(ctx, f.target, []string{id})
		if err != nil {
			return refused(err)
		}
		return single(b)
	case schema.RootList:
		return r.list(ctx, f, args)
	case schema.RootChanges:
		return r.changes(ctx, f, args)
	case schema.RootHistory:
		return r.history(ctx, f, args)
	case schema.RootCreate:
		return r.submit(ctx, f, resource.Create, args)
	case schema.RootUpdate:
		return r.submit(ctx, f, resource.Update, args)
	case schema.RootDelete:
		return r.submit(ctx, f, resource.Delete, args)
	}
	return refused(fmt.Errorf("no answer for the root field %s", f.generated.Name))
}

// given returns the arguments of a root field that the caller may use.
func (e *Engine) given(who auth.Principal, op *operation, f *root) (map[string]any, error) {
	args, bad := e.inputs.arguments(f.args, op.vars)
	if limits := &e.options.Limits; bad == nil && (op.kind == ast.Query || limits.inputs) {
		bad = limits.tooLarge(args)
	}
	switch {
	case bad != nil:
		return nil, bad.fault()
	case !f.meta && f.rule != nil && !who.May(*f.rule, ""):
		return nil, forbidden(&f.field)
	}
	return args, nil
}

// list reads a page, its count, or both, whichever is selected.
func (r *run) list(ctx context.Context, f *root, args map[string]any) answer {
	q, err := newQuery(f.generated.Resource, args, r.engine.options.Limits.Page)
	if err != nil {
		return refused(err)
	}
	b := &batch{object: f.target, page: &view.Page{}}
	positioned := q.After != "" || q.Before != "" || q.Last > 0 // which may be wrong
	if f.target.listed || positioned {
		page, err := r.engine.data.List(ctx, r.who, q)
		if err != nil {
			return refused(err)
		}
		b.page = &page
	}
	row := []byte(`{}`)
	if f.target.counted {
		n, err := r.engine.data.Count(ctx, r.who, q.Type, q.Filter)
		if err != nil {
			return refused(err)
		}
		row = append(strconv.AppendInt([]byte(`{"totalCount":`), int64(n), 10), '}')
	}
	b.rows = [][]byte{row}
	return single(b)
}

// submit sends a command. The fields of the answer come from the record that
// the worker returned; before relations are read, the view must show it.
func (r *run) submit(ctx context.Context, f *root, verb resource.Verb, args map[string]any) answer {
	record, err := r.submitted(ctx, f, verb, args)
	if err != nil {
		return refused(err)
	}
	return r.carried(ctx, f, verb, record)
}

// carried is the answer of a field whose change was made.
func (r *run) carried(ctx context.Context, f *root, verb resource.Verb, record resource.Record) answer {
	r.wrote = max(r.wrote, record.Seq)
	if f.target.reads() {
		if err := r.engine.data.WaitFor(ctx, record.Seq); err != nil {
			return refused(r.unseen(f, verb, err))
		}
	}
	b := r.authorized(f.target, record.Raw)
	if b.rows[0] == nil {
		return refused(r.unread(f, verb))
	}
	return single(b)
}

// submitted returns what a command came to.
func (r *run) submitted(ctx context.Context, f *root, verb resource.Verb, args map[string]any) (resource.Record, error) {
	if r.op.made != nil {
		return *r.op.made, nil
	}
	cmd := resource.Command{Type: f.generated.Resource.Name, Verb: verb, Input: inputOf(args), Who: r.who}
	r.command(f, &cmd)
	return r.engine.data.Submit(ctx, cmd)
}

// inputOf is the input of a command as JSON.
func inputOf(args map[string]any) json.RawMessage { return appendValue(nil, args["input"]) }

// call runs an adopter's function.
func (r *run) call(ctx context.Context, f *root, args map[string]any) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			r.engine.log.LogAttrs(ctx, slog.LevelError, "a function panicked",
				slog.String("request_id", r.request().id()), slog.String("field", f.nodes[0].Name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			a = refused(fault.New(fault.Internal, "internal error"))
		}
	}()
	if c := r.op.claim; c != nil && c.again {
		return refused(errUnknown)
	}
	if ExchangeOf(ctx) == nil {
		ctx = WithExchange(ctx, r.request())
	}
	value, err := f.function.Resolve(ctx, Call{Who: r.who, Args: args, Command: r.commandID(f)})
	if err != nil {
		return refused(err)
	}
	return r.composed(f, value)
}

// composed turns a value that a function gave into an answer.
func (r *run) composed(f *root, value any) answer {
	raw, ok := value.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return refused(fmt.Errorf("encode what the function returned: %w", err))
		}
	}
	if f.leaf != nil {
		return answer{raw: raw}
	}
	l := link{next: &batch{object: f.target}}
	l.spans = []span{l.take(raw, f.typ, 0)}
	r.divide(l.next)
	return answer{link: l}
}
