package graphql

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
	"tidings/resource"
)

// A mutation with @transaction makes the changes of all its root fields in one
// transaction, before any field is answered; then the fields are answered one
// after another, each from the record that it came to.

const transactionDirective = "transaction"

func isTransaction(op *ast.OperationDefinition) bool {
	return op.Directives.ForName(transactionDirective) != nil
}

// checkTransactions refuses fields in a transaction that are no changes of
// records: what a service or a function does cannot be taken back. Whether a
// document is refused does not depend on its variables.
func (e *Engine) checkTransactions(doc *ast.QueryDocument) gqlerror.List {
	var errs gqlerror.List
	for _, op := range doc.Operations {
		if !isTransaction(op) {
			continue
		}
		for f := range rootFields(op.SelectionSet, map[string]bool{}) {
			generated := e.model.Root("Mutation", f.Name)
			if f.Name == "__typename" || generated != nil && verbs[generated.Kind] != "" {
				continue
			}
			errs = append(errs, refuse(f.Position, fault.ValidationFailed,
				"%s cannot be a part of a @transaction: it is not a field that creates, updates or deletes a record; send it by a mutation of its own", f.Name))
			if len(errs) == maxShownErrors {
				return errs
			}
		}
	}
	return errs
}

// rootFields yields the fields of an operation's root type, those of fragments
// too, each fragment once.
func rootFields(set ast.SelectionSet, seen map[string]bool) iter.Seq[*ast.Field] {
	return func(yield func(*ast.Field) bool) {
		var walk func(ast.SelectionSet) bool
		walk = func(set ast.SelectionSet) bool {
			for _, sel := range set {
				below := ast.SelectionSet(nil)
				switch sel := sel.(type) {
				case *ast.Field:
					if !yield(sel) {
						return false
					}
				case *ast.InlineFragment:
					below = sel.SelectionSet
				case *ast.FragmentSpread:
					if !seen[sel.Name] {
						seen[sel.Name] = true
						below = sel.Definition.SelectionSet
					}
				}
				if !walk(below) {
					return false
				}
			}
			return true
		}
		walk(set)
	}
}

// joint is what the changes of a transaction came to.
type joint struct {
	records map[*root]resource.Record
	errs    map[*root]error
	culprit string // the field on whose account nothing was carried out; empty when none is to blame
}

// transact makes the changes of all root fields.
func (r *run) transact(ctx context.Context) {
	r.joint = &joint{records: map[*root]resource.Record{}, errs: map[*root]error{}}
	var fields []*root
	t := resource.Transaction{Who: r.who}
	for _, f := range r.op.plan.roots {
		if f.generated == nil { // __typename
			continue
		}
		change, err := r.change(f, fields)
		if err != nil {
			r.joint.errs[f] = err
		}
		fields = append(fields, f)
		t.Changes = append(t.Changes, change)
	}
	switch {
	case len(fields) == 0:
		return
	case len(r.joint.errs) > 0:
		r.joint.undo(fields)
		return
	}
	if c := r.op.claim; c != nil {
		t.ID, t.Once = c.entry.Command, c.once()
	}
	records, err := r.engine.data.Transact(ctx, t)
	if item, ok := errors.AsType[*resource.ItemError](err); ok {
		r.joint.errs[fields[item.Index]] = item.Cause
		r.joint.undo(fields)
		return
	}
	for i, f := range fields {
		if err != nil {
			r.joint.errs[f] = err
		} else {
			r.joint.records[f] = records[i]
		}
	}
}

// change is what a field asks for, after those before it.
func (r *run) change(f *root, before []*root) (resource.Change, error) {
	args, err := r.engine.given(r.who, r.op, f)
	if err != nil {
		return resource.Change{}, err
	}
	input, refs, err := linked(f, args, before)
	return resource.Change{Type: f.generated.Resource.Name, Verb: verbs[f.generated.Kind], Input: appendValue(nil, input), Refs: refs}, err
}

// undo says of the fields that have no error of their own that they were not
// carried out.
func (j *joint) undo(fields []*root) {
	first := slices.IndexFunc(fields, func(f *root) bool { return j.errs[f] != nil })
	j.culprit = fields[first].name
	why := fault.New(fault.Conflict, "not carried out, because %s cannot be and all were to be or none", j.culprit)
	for _, f := range fields {
		if j.errs[f] == nil {
			j.errs[f] = why
		}
	}
}

// jointly answers a field of a transaction.
func (r *run) jointly(ctx context.Context, f *root) answer {
	if err := r.joint.errs[f]; err != nil {
		return refused(err)
	}
	return r.carried(ctx, f, verbs[f.generated.Kind], r.joint.records[f])
}

// blameFirst puts the error on whose account the others are there before them.
func (j *joint) blameFirst(errs gqlerror.List) {
	if j.culprit == "" {
		return
	}
	slices.SortStableFunc(errs, func(a, b *gqlerror.Error) int { return j.rank(a) - j.rank(b) })
}

func (j *joint) rank(err *gqlerror.Error) int {
	if len(err.Path) == 1 && err.Path[0] == ast.PathName(j.culprit) {
		return 0
	}
	return 1
}
