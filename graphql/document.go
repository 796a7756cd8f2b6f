package graphql

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"tidings/fault"
)

// document is a text that was parsed and found valid, with the plans of its
// operations so far. It is safe for concurrent use.
type document struct {
	text       string
	ast        *ast.QueryDocument
	conditions []string // the variables that @skip and @include read

	mu    sync.Mutex
	plans map[planKey]*plan
}

// planKey names one plan of a document: the operation and the values of the
// conditions, as bits.
type planKey struct {
	operation  *ast.OperationDefinition
	conditions uint64
}

// documents are those that were used last. It is safe for concurrent use.
type documents struct {
	cache *lru.Cache[string, *document]
	size  atomic.Int64 // of the texts, in bytes
}

const (
	// maxCachedTexts bounds the texts that are kept, all together: a syntax tree
	// takes some sixty times the memory of its text.
	maxCachedTexts = 2 << 20
	// maxCachedText keeps documents out that would displace too many others.
	maxCachedText = 32 << 10
	// maxPlans bounds the plans of one document; more than that are compiled
	// each time.
	maxPlans = 64
)

func newDocuments(entries int) (*documents, error) {
	d := &documents{}
	var err error
	d.cache, err = lru.NewWithEvict(entries, func(text string, _ *document) { d.size.Add(-int64(len(text))) })
	return d, err
}

func (d *documents) add(doc *document) {
	if len(doc.text) > maxCachedText {
		return
	}
	if known, _ := d.cache.ContainsOrAdd(doc.text, doc); known {
		return
	}
	d.size.Add(int64(len(doc.text)))
	for d.size.Load() > maxCachedTexts {
		d.cache.RemoveOldest() // which tells how much smaller it is
	}
}

// maxTrustedTokens bounds a document of the service's own.
const maxTrustedTokens = 100_000

// document returns the parsed and validated document of a text. The limits on what
// strangers write do not hold for one that is the service's own.
func (e *Engine) document(text string, trusted bool) (*document, gqlerror.List) {
	if doc, ok := e.documents.cache.Get(text); ok {
		return doc, nil
	}
	doc, errs := e.parse(text, trusted)
	if errs != nil {
		return nil, errs
	}
	e.documents.add(doc)
	return doc, nil
}

func (e *Engine) parse(text string, trusted bool) (*document, gqlerror.List) {
	plain, bad := plainEscapes(text)
	if bad != nil {
		return nil, gqlerror.List{bad}
	}
	limits := e.options.Limits
	if trusted {
		limits.Tokens, limits.Aliases, limits.Depth, limits.Roots = maxTrustedTokens, maxSelections, maxSelections, maxSelections
	}
	tree, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: plain}, limits.Tokens)
	if err != nil {
		bad := gqlerror.WrapIfUnwrapped(err)
		if strings.Contains(bad.Message, "exceeded token limit") {
			bad = beyondLimit("tokens", bad)
		}
		return nil, withCode(gqlerror.List{bad}, fault.ParseFailed)
	}
	if len(tree.Operations) == 0 {
		return nil, gqlerror.List{refuse(nil, fault.ValidationFailed, "The document holds no operation.")}
	}
	depth, bad := survey(tree, &limits)
	if bad != nil {
		return nil, gqlerror.List{bad}
	}
	e.measureDepth(depth)
	if errs := validator.ValidateWithRules(e.schema, tree, e.rules); len(errs) > 0 {
		return nil, withCode(errs, fault.ValidationFailed)
	}
	if err := checkOverlap(e.schema, tree); err != nil {
		return nil, gqlerror.List{err}
	}
	c := checker{inputs: e.inputs}
	if errs := c.document(tree); len(errs) > 0 {
		return nil, errs
	}
	if errs := e.checkTransactions(tree); len(errs) > 0 {
		return nil, errs
	}
	slices.Sort(c.conditions)
	return &document{text: text, ast: tree, conditions: slices.Compact(c.conditions), plans: map[planKey]*plan{}}, nil
}

// Check returns why a document of the service's own cannot be run, nil when it can.
func (e *Engine) Check(document string) error {
	if _, errs := e.parse(document, true); errs != nil {
		return errs
	}
	return nil
}

// validationRules are gqlparser's without two: its field merging is quadratic
// (checkOverlap stands in), its literals are lax (checker stands in).
func validationRules() *rules.Rules {
	r := rules.NewDefaultRules()
	r.RemoveRule(rules.OverlappingFieldsCanBeMergedRule.Name)
	r.RemoveRule(rules.ValuesOfCorrectTypeRule.Name)
	return r
}

// operation returns the operation of the given name; without a name, the only
// one.
func (d *document) operation(name string) (*ast.OperationDefinition, *gqlerror.Error) {
	if name != "" {
		if op := d.ast.Operations.ForName(name); op != nil {
			return op, nil
		}
		return nil, refuse(nil, fault.BadRequest, "Unknown operation named %q.", short(name))
	}
	if len(d.ast.Operations) > 1 {
		return nil, refuse(nil, fault.BadRequest, "Must provide operation name if query contains multiple operations.")
	}
	return d.ast.Operations[0], nil
}

// plan returns the compiled operation for the given variables.
func (d *document) plan(e *Engine, op *ast.OperationDefinition, vars map[string]any) (*plan, *gqlerror.Error) {
	key := planKey{operation: op}
	for i, name := range d.conditions {
		if on, _ := vars[name].(bool); on {
			key.conditions |= 1 << (i % 64)
		}
	}
	cacheable := len(d.conditions) <= 64
	d.mu.Lock()
	p := d.plans[key]
	d.mu.Unlock()
	if p != nil && cacheable {
		return p, nil
	}
	p, err := e.compile(op, vars)
	if err != nil || !cacheable {
		return p, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.plans) < maxPlans {
		d.plans[key] = p
	}
	return p, nil
}

// checker holds what validation leaves to us: the literals, strictly, the
// conditions, and what subscriptions may not do.
type checker struct {
	inputs     inputTypes
	conditions []string
	errs       gqlerror.List
}

func (c *checker) document(doc *ast.QueryDocument) gqlerror.List {
	for _, op := range doc.Operations {
		for _, v := range op.VariableDefinitions {
			if v.DefaultValue != nil {
				c.literal(v.DefaultValue, v.Type, v.Variable)
			}
		}
		c.directives(op.Directives)
		c.set(op.SelectionSet)
		if op.Operation == ast.Subscription {
			c.subscription(op.SelectionSet, map[string]bool{})
		}
	}
	for _, f := range doc.Fragments {
		c.directives(f.Directives)
		c.set(f.SelectionSet)
	}
	return c.errs
}

func (c *checker) set(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			for _, arg := range sel.Arguments {
				c.literal(arg.Value, sel.Definition.Arguments.ForName(arg.Name).Type, arg.Name)
			}
			c.directives(sel.Directives)
			c.set(sel.SelectionSet)
		case *ast.InlineFragment:
			c.directives(sel.Directives)
			c.set(sel.SelectionSet)
		case *ast.FragmentSpread:
			c.directives(sel.Directives)
		}
	}
}

func (c *checker) directives(list ast.DirectiveList) {
	for _, d := range list {
		if d.Name == "defer" {
			c.fail(refuse(d.Position, fault.ValidationFailed, "Unknown directive %q.", "@defer"))
			continue
		}
		for _, arg := range d.Arguments {
			c.literal(arg.Value, d.Definition.Arguments.ForName(arg.Name).Type, arg.Name)
			if arg.Value.Kind == ast.Variable && (d.Name == "skip" || d.Name == "include") {
				c.conditions = append(c.conditions, arg.Value.Raw)
			}
		}
	}
}

func (c *checker) literal(v *ast.Value, typ *ast.Type, path string) {
	if _, _, bad := c.inputs.literal(v, typ, nil); bad != nil {
		err := refuse(v.Position, fault.ValidationFailed, "%s", bad.text)
		err.Extensions["field"] = short(bad.below(path).path())
		c.fail(err)
	}
}

// subscription refuses conditions on a subscription's root field: whether there
// is exactly one must not depend on variables.
func (c *checker) subscription(set ast.SelectionSet, seen map[string]bool) {
	for _, sel := range set {
		var list ast.DirectiveList
		switch sel := sel.(type) {
		case *ast.Field:
			list = sel.Directives
		case *ast.InlineFragment:
			list = sel.Directives
			c.subscription(sel.SelectionSet, seen)
		case *ast.FragmentSpread:
			list = sel.Directives
			if !seen[sel.Name] {
				seen[sel.Name] = true
				c.subscription(sel.Definition.SelectionSet, seen)
			}
		}
		if list.ForName("skip") != nil || list.ForName("include") != nil {
			c.fail(refuse(sel.GetPosition(), fault.ValidationFailed, "A subscription must not use @skip or @include on its root field."))
		}
	}
}

func (c *checker) fail(err *gqlerror.Error) {
	if len(c.errs) < maxShownErrors {
		c.errs = append(c.errs, err)
	}
}
