package graphql

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/internal/rawjson"
)

// run is one execution of an operation, or of a subscription's selection set
// on one event. It is used by one goroutine and not used again.
type run struct {
	engine *Engine
	who    auth.Principal
	op     *operation
	vars   map[string]any
	cost   float64 // of what came of the root fields, when it is to be told
	// exchange names the request; nil until there is something to look up.
	exchange *Exchange

	joint *joint // what its changes come to together; nil: each is made by itself
	marks marks  // what the extensions of a live result tell; nil: the cursor alone
	wrote uint64 // where in the log the last change happened; 0 for none

	buf  []byte // `{"data":` and what follows
	errs gqlerror.List
	over int // errors beyond maxErrors

	budget budget
	*scratch
}

// scratch is what a run needs while it writes and gives back afterwards.
type scratch struct {
	path  []step           // where the writing is
	found []rawjson.Extent // members of the objects that are being written
}

// maxErrors bounds the errors of one execution that are told one by one.
const maxErrors = 1000

const dataPrefix = `{"data":`

func (e *Engine) newRun(ctx context.Context, room int, who auth.Principal, op *operation) *run {
	size := min(cmp.Or(int(op.plan.hint.Load()), 512), 64<<10) // one long answer says little of the next
	return &run{
		engine:  e,
		who:     who,
		op:      op,
		vars:    op.vars,
		buf:     append(make([]byte, 0, size+size/8), dataPrefix...),
		budget:  budget{ctx: ctx, room: room},
		scratch: e.scratch.Get().(*scratch),
	}
}

func newScratchPool() *sync.Pool {
	return &sync.Pool{New: func() any {
		return &scratch{path: make([]step, 0, 32), found: make([]rawjson.Extent, 0, 64)}
	}}
}

// done gives the scratch back.
func (r *run) done() {
	r.path, r.found = r.path[:0], r.found[:0]
	r.engine.scratch.Put(r.scratch)
	r.scratch = nil
}

var errBroken = errors.New("a stored record is not a JSON object")

func nonNullError(f *field) error {
	return fault.New(fault.Internal, "Cannot return null for non-nullable field %s.%s.", f.parent, f.nodes[0].Name)
}

func leafError(l *leaf, raw []byte) error {
	if l.elem != nil {
		return fault.New(fault.Internal, "Expected a list of %s.", l.elem.name)
	}
	if l.enum != nil {
		return fault.New(fault.Internal, "Enum %q cannot represent the stored value.", l.name)
	}
	return fault.New(fault.Internal, "%s cannot represent the stored value.", l.name)
}

// fail records an error at the path of the writing. What a foreign error says
// goes to the log alone.
func (r *run) fail(nodes []*ast.Field, err error) {
	if len(r.errs) >= maxErrors {
		r.over++
		return
	}
	f := fault.Of(err)
	r.logFault(f, err)
	if over, ok := errors.AsType[*overLimit](err); ok {
		r.engine.meters.limit(over.name)
	}
	told := executionError(f, nodes, r.path)
	bad, ok := errors.AsType[*argumentError](err)
	if ok {
		r.engine.meters.limit(bad.limit)
	}
	if ok && bad.at != nil {
		told.Locations = []gqlerror.Location{locationOf(bad.at)}
	}
	if made, ok := errors.AsType[*madeError](err); ok {
		told.Extensions["position"] = made.position
	}
	r.identify(told)
	r.errs = append(r.errs, told)
}

// logFault writes down what the caller is only told the code and the request's
// id of; of what comes from the bus one a second.
func (r *run) logFault(f *fault.Error, err error) {
	if !faulty(f.Code) {
		return
	}
	leftOut, due := slog.Attr{}, true
	if b := r.op.root.binding; b != nil {
		leftOut, due = r.engine.complaints[b].failed.line()
	}
	if due {
		r.engine.log.LogAttrs(context.Background(), levelOf(f), "a field failed",
			slog.String("request_id", r.request().id()), slog.String("op_path", pathOf(r.path).String()), slog.Any("error", err), leftOut)
	}
}

func executionError(f *fault.Error, nodes []*ast.Field, path []step) *gqlerror.Error {
	err := &gqlerror.Error{Message: f.Message, Locations: locationsOf(nodes), Path: pathOf(path)}
	err.Extensions = map[string]any{"code": string(f.Code)}
	extend(err, f)
	return err
}

// execute runs a query or a mutation.
func (r *run) execute(ctx context.Context) {
	defer r.settle()
	if r.op.plan.together && r.op.made == nil {
		r.transact(ctx)
	}
	answers := r.early(ctx)
	defer answers.stop()
	r.buf = append(r.buf, '{')
	for i, f := range r.op.plan.roots {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, f.key...)
		if !r.root(ctx, f, answers, i) {
			r.buf = append(r.buf[:len(dataPrefix)], "null"...)
			return
		}
		if !r.exhausted() {
			continue
		}
		if r.buf = r.buf[:len(dataPrefix)]; r.op.kind == ast.Query { // settle writes the reason
			return
		}
	}
	r.buf = append(r.buf, '}')
	if r.joint != nil {
		r.joint.blameFirst(r.errs)
	}
}

// root answers one root field and writes it.
func (r *run) root(ctx context.Context, f *root, answers *early, i int) bool {
	if f.source == sourceTypename {
		r.buf = append(r.buf, r.op.plan.typename...)
		return true
	}
	a := answers.take(i)
	if f.leaf != nil && a.err == nil {
		r.spent(f, a)
		return r.leaf(&f.field, a.raw)
	}
	r.resolve(ctx, a.next)
	r.spent(f, a)
	return r.rooted(f, a)
}

// rooted writes what an answer leads to.
func (r *run) rooted(f *root, a answer) bool {
	r.path = append(r.path, step{name: f.name})
	ok := r.follows(&a.link, &f.field, 0)
	r.path = r.path[:len(r.path)-1]
	return ok
}

// data is the value of the response's data, once it is written.
func (r *run) data() []byte { return r.buf[len(dataPrefix):] }

// presented returns the errors, with one more for those that were too many.
func (r *run) presented() gqlerror.List {
	if r.over > 0 {
		err := refuse(nil, codeOf(r.errs[len(r.errs)-1]), "%d more errors are not listed", r.over)
		r.identify(err)
		return append(r.errs, err)
	}
	return r.errs
}
