package graphql

import (
	"math"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

// What an operation costs, after IBM's GraphQL Cost Directives Specification
// (https://ibm.github.io/graphql-specs/cost-spec.html): a field costs its
// weight and what is selected below it, once for each item of its list, and the
// weights of its arguments. The plan is priced before it runs, from the sizes
// that the paging arguments ask for, and when the caller wants to know once
// more from the sizes that came of it.
const (
	mutationWeight = 10 // of a mutation's root field, beside its own
	metaWeight     = 10 // of __schema and __type, with all below them
	maxCost        = math.MaxInt32
)

// Cost is what an operation was estimated to cost, what the caller may spend
// on one, and what it did cost (for a subscription: each event is an
// estimation of its own, and Actual is not known).
type Cost struct {
	Estimated, Max, Actual int
}

// budget is what one operation of the caller may cost.
func (b *Budgets) budget(who auth.Principal) int {
	switch {
	case who.Anonymous():
		return b.Anonymous
	case who.Roles.Has(schema.Service):
		return b.Service
	}
	return b.User
}

// pricing finds the price of one plan for the values of its variables.
type pricing struct {
	engine *Engine
	vars   map[string]any
	varies bool // the price depends on variables
	bad    error
}

// price returns what the operation is estimated to cost. Where no variable has
// a part in it, it is found once for the plan.
func (e *Engine) price(op *operation) (int, error) {
	if known := op.plan.price.Load(); known > 0 {
		return int(known - 1), nil
	}
	p := pricing{engine: e, vars: op.vars}
	total := 0.0
	for _, r := range op.plan.roots {
		total += p.root(op.kind, r)
	}
	cost := whole64(total)
	if p.bad == nil && !p.varies {
		op.plan.price.Store(int64(cost) + 1)
	}
	return cost, p.bad
}

func whole64(cost float64) int { return int(math.Ceil(max(0, min(cost, maxCost)))) }

func (p *pricing) root(kind ast.Operation, r *root) float64 {
	switch {
	case r.meta:
		return metaWeight
	case kind == ast.Mutation:
		return mutationWeight + p.field(&r.field, -1)
	}
	return p.field(&r.field, -1)
}

// field prices a field of one object. sized is how long its list is, as a field
// above says; -1 when none does.
func (p *pricing) field(f *field, sized int) float64 {
	rule := f.cost
	if rule == nil { // __typename
		return 0
	}
	args := p.arguments(f)
	size, below := p.sizes(f, args, sized)
	total := float64(size)*p.each(f, below) + p.given(f, args)
	if f.target != nil {
		total = max(0, total) // a rebate is for the object that it is in
	}
	return min(total, maxCost)
}

// each prices one item of a field: of several types the dearest.
func (p *pricing) each(f *field, below int) float64 {
	rule := f.cost
	switch {
	case f.target == nil:
		return rule.Weight
	case rule.Members == nil || f.target.variants == nil:
		return rule.Weight + p.object(f.target, rule.List, below)
	}
	dearest := math.Inf(-1)
	for _, variant := range f.target.variants {
		dearest = max(dearest, rule.Members[variant.name()]+p.object(variant, rule.List, below))
	}
	return dearest
}

// name is that of the object's type.
func (o *object) name() string { return string(o.typename[1 : len(o.typename)-1]) }

// object prices the fields of one object. list and size say how long the lists
// among them are.
func (p *pricing) object(o *object, list *schema.ListSize, size int) float64 {
	total := 0.0
	for _, variant := range o.variants { // one of them is there
		total = max(total, p.object(variant, list, size))
	}
	for i := range o.fields {
		f := &o.fields[i]
		sized := -1
		if size >= 0 && sizes(list, f.nodes[0].Name) {
			sized = size
		}
		total += p.field(f, sized)
	}
	return total
}

func sizes(list *schema.ListSize, name string) bool {
	if list != nil {
		for _, field := range list.SizedFields {
			if field == name {
				return true
			}
		}
	}
	return false
}

// arguments returns the values of a field's arguments when its price depends on
// them. A value that is wrong is the execution's to tell.
func (p *pricing) arguments(f *field) map[string]any {
	if f.cost.List == nil && len(f.cost.Arguments) == 0 && f.typ.Elem == nil {
		return nil
	}
	p.varies = p.varies || len(f.args.dynamic) > 0
	args, _ := p.engine.inputs.arguments(f.args, p.vars)
	return args
}

// sizes returns how many items the field has, and how many those below it that
// its arguments size; -1 when there are none of these.
func (p *pricing) sizes(f *field, args map[string]any, sized int) (size, below int) {
	list := f.cost.List
	switch {
	case list != nil && len(list.SizedFields) > 0:
		return 1, p.slice(f, list, args)
	case list != nil:
		return p.slice(f, list, args), -1
	case f.typ.Elem == nil:
		return 1, -1
	case sized >= 0:
		return sized, -1
	case f.leaf != nil:
		return 1, -1
	}
	return p.slice(f, &paged, args), -1
}

// paged is what lists are like of which nothing else is said.
var paged = schema.ListSize{AssumedSize: -1, DefaultSize: schema.DefaultPage, SlicingArguments: []string{"first", "last", "limit"}}

// slice returns how many items the slicing arguments ask for.
func (p *pricing) slice(f *field, list *schema.ListSize, args map[string]any) int {
	most, given := int64(0), 0
	for _, path := range list.SlicingArguments {
		if n, ok := intAt(args, path); ok {
			most, given = max(most, n), given+1
		}
	}
	if list.RequireOne && given != 1 && p.bad == nil {
		p.bad = fault.New(fault.ValidationFailed, "%s needs exactly one of %s", f.nodes[0].Name, strings.Join(list.SlicingArguments, ", "))
	}
	switch {
	case given > 0 && (f.relation != nil || len(list.SizedFields) > 0):
		return int(min(most, int64(p.engine.options.Limits.Page))) // more is refused
	case given > 0:
		return int(min(most, maxCost))
	case list.DefaultSize >= 0 && len(list.SizedFields) > 0:
		return min(list.DefaultSize, p.engine.options.Limits.Page)
	case list.DefaultSize >= 0:
		return list.DefaultSize
	case list.AssumedSize >= 0:
		return list.AssumedSize
	}
	return schema.DefaultPage
}

// intAt returns the number that a path such as "input.first" leads to.
func intAt(args map[string]any, path string) (int64, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		n, ok := args[name].(int64)
		return n, ok
	}
	inner, _ := args[name].(map[string]any)
	return intAt(inner, rest)
}

// given prices the arguments of a field.
func (p *pricing) given(f *field, args map[string]any) float64 {
	total := 0.0
	for name, weight := range f.cost.Arguments {
		value, given := args[name]
		if !given || value == nil {
			continue
		}
		total += weight
		if def := f.nodes[0].Definition.Arguments.ForName(name); def != nil {
			total += p.input(def.Type, value)
		}
	}
	return total
}

// input prices what is in the input objects of a value.
func (p *pricing) input(typ *ast.Type, value any) float64 {
	total := 0.0
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if typ.Elem != nil {
				total += p.input(typ.Elem, item)
			}
		}
	case map[string]any:
		def := p.engine.schema.Types[typ.Name()]
		for name, member := range value {
			if inner := def.Fields.ForName(name); inner != nil && member != nil {
				items := 1
				if list, ok := member.([]any); ok {
					items = len(list)
				}
				total += float64(items)*p.engine.model.InputCost(def.Name, name) + p.input(inner.Type, member)
			}
		}
	}
	return total
}

// actual adds up what the objects that came of a root field cost.
func (r *run) actual(kind ast.Operation, f *root, a answer) float64 {
	p := pricing{engine: r.engine, vars: r.vars}
	switch {
	case f.meta:
		return metaWeight
	case f.cost == nil:
		return 0
	}
	total := p.given(&f.field, p.arguments(&f.field))
	if kind == ast.Mutation {
		total += mutationWeight
	}
	if f.leaf != nil {
		return total + f.cost.Weight
	}
	cost := p.follow(&a.link, &f.field, []int{1})
	if f.typ.Elem == nil && a.next != nil {
		cost = max(cost, f.cost.Weight) // it was looked for, at least
	}
	return total + cost
}

// follow prices the objects that a field of some rows leads to. times says how
// often each row is in the answer; what is null costs nothing.
func (p *pricing) follow(l *link, f *field, times []int) float64 {
	if l.next == nil {
		return 0
	}
	next := make([]int, len(l.next.rows))
	for row, n := range times {
		l.reach(l.span(row), 0, func(i int32) {
			if l.next.there(i) {
				next[i] += n
			}
		})
	}
	return max(0, l.next.weight(f.cost, next)+p.rows(l.next, next))
}

// there reports whether a row is an object and not null.
func (b *batch) there(row int32) bool {
	return b.rows[row] != nil && (b.parts == nil || b.place[row].part >= 0)
}

// weight is what the rows themselves weigh, each by its type.
func (b *batch) weight(rule *schema.CostRule, times []int) float64 {
	if rule.Members == nil || b.parts == nil {
		return float64(sum(times)) * rule.Weight
	}
	total := 0.0
	for i, part := range b.parts {
		total += float64(sum(b.timesOf(i, times))) * rule.Members[part.object.name()]
	}
	return total
}

func sum(times []int) (n int) {
	for _, each := range times {
		n += each
	}
	return n
}

// reach calls visit for each row of a span, through the lists inside of lists.
func (l *link) reach(s span, depth int, visit func(row int32)) {
	for i := max(s.low, 0); i < s.high; i++ {
		if depth < len(l.inner) {
			l.reach(l.inner[depth][i], depth+1, visit)
		} else {
			visit(i)
		}
	}
}

// rows prices the fields of a batch.
func (p *pricing) rows(b *batch, times []int) float64 {
	total := 0.0
	if b.parts != nil {
		for i, part := range b.parts {
			total += p.rows(part, b.timesOf(i, times))
		}
		return total
	}
	count := sum(times)
	for i := range b.object.fields {
		f := &b.object.fields[i]
		switch {
		case f.cost == nil:
		case !f.source.linked():
			total += float64(count) * (f.cost.Weight + p.given(f, p.arguments(f)))
		case b.links != nil:
			total += float64(count)*p.given(f, p.arguments(f)) + p.follow(&b.links[f.link], f, times)
		}
	}
	return total
}

// timesOf says how often each row of a part is in the answer.
func (b *batch) timesOf(part int, times []int) []int {
	of := make([]int, len(b.parts[part].rows))
	for i, at := range b.place {
		if int(at.part) == part {
			of[at.row] += times[i]
		}
	}
	return of
}
