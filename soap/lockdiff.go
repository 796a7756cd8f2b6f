package soap

import (
	"cmp"
	"fmt"
	"slices"
)

// Effect is what a difference between two shapes does to programs that partners
// have made from the older one. It was measured with their clients.
type Effect string

// The effects, the worst first.
const (
	// EffectGone breaks every caller that uses it.
	EffectGone Effect = "breaks all who use it"
	// EffectType breaks what was generated from the older shape.
	EffectType Effect = "breaks generated code: .NET, Java, gSOAP"
	// EffectElement is that of an element more at the end of a result.
	EffectElement Effect = "fails in zeep, suds, Axis 1 and CXF"
	// EffectMiddle is that of one before others.
	EffectMiddle Effect = "fails in zeep, suds, Axis 1 and CXF; zeep without strict loses the rest silently"
	// EffectOrder is that of elements in another order.
	EffectOrder Effect = "fails in zeep; zeep without strict loses all silently"
	// EffectEnum is that of a value more in a result.
	EffectEnum Effect = "fails in .NET, gSOAP and Axis 1; null in JAX-WS"
	// EffectMeaning is that of another default.
	EffectMeaning Effect = "changes what calls do that leave it out"
	// EffectNone: programs go on as they are.
	EffectNone Effect = "harms nobody"
)

// Difference is one between two shapes.
type Difference struct {
	What   string
	Effect Effect
}

// Differences lists what is another in the newer of two shapes, the worst first.
// Texts that describe are none, and neither are documents, which partners never see.
func Differences(old, new *Lock) []Difference {
	d := &differ{old: old.contract, new: new.contract, results: map[string]bool{}}
	for _, c := range []*contract{old.contract, new.contract} {
		for _, op := range c.operations {
			if op.result != nil {
				d.mark(op.result.typ)
			}
		}
	}
	if old.Service != new.Service || old.Namespace != new.Namespace {
		d.add(EffectGone, "it is %s in the namespace %s, and was %s in %s", new.Service, new.Namespace, old.Service, old.Namespace)
	}
	if was, is := old.file.Fault, new.file.Fault; len(was) > 0 && !slices.Equal(was, is) {
		d.add(EffectType, "%s has %v, and had %v", faultName, is, was)
	}
	d.operations()
	d.types()
	worst := []Effect{EffectGone, EffectType, EffectElement, EffectMiddle, EffectOrder, EffectEnum, EffectMeaning, EffectNone}
	slices.SortStableFunc(d.list, func(a, b Difference) int { return slices.Index(worst, a.Effect) - slices.Index(worst, b.Effect) })
	return d.list
}

type differ struct {
	old, new *contract
	results  map[string]bool // types that results have
	list     []Difference
}

func (d *differ) mark(t *xsdType) {
	if t.name != "" && d.results[t.name] {
		return
	}
	d.results[t.name] = true
	for _, f := range t.fields {
		d.mark(f.typ)
	}
	if t.item != nil {
		d.mark(t.item.typ)
	}
}

func (d *differ) add(e Effect, format string, args ...any) {
	d.list = append(d.list, Difference{fmt.Sprintf(format, args...), e})
}

func (d *differ) operations() {
	for _, op := range d.old.operations {
		now := d.new.byName[op.name]
		if now == nil {
			d.add(EffectGone, "the operation %s is gone", op.name)
			continue
		}
		d.parts(op.name, op.args, now.args, false)
		if op.result != nil && now.result != nil {
			d.parts(op.name+"Response", []*part{op.result}, []*part{now.result}, true)
		}
	}
	for _, op := range d.new.operations {
		if d.old.byName[op.name] == nil {
			d.add(EffectNone, "the operation %s is new", op.name)
		}
	}
}

func (d *differ) types() {
	now := map[string]*xsdType{}
	for _, t := range d.new.types {
		now[t.name] = t
	}
	for _, t := range d.old.types {
		other := now[t.name]
		delete(now, t.name)
		switch {
		case other == nil:
			d.add(EffectType, "the type %s is gone", t.name)
		case t.form != other.form || t.base != other.base || t.facets != other.facets:
			d.add(EffectType, "the type %s is another one", t.name)
		default:
			d.parts(t.name, t.fields, other.fields, d.results[t.name])
			d.values(t, other)
			if t.item != nil {
				d.parts(t.name, []*part{t.item}, []*part{other.item}, d.results[t.name])
			}
		}
	}
}

func (d *differ) values(old, new *xsdType) {
	for _, v := range old.values {
		if !new.has(v.name) {
			d.add(EffectType, "%s has no value %s any more", old.name, v.name)
		}
	}
	for _, v := range new.values {
		if old.has(v.name) {
			continue
		}
		effect := EffectNone
		if d.results[old.name] {
			effect = EffectEnum
		}
		d.add(effect, "%s has the value %s", old.name, v.name)
	}
}

// parts compares the elements of a type or of a wrapper.
func (d *differ) parts(in string, old, new []*part, result bool) {
	find := func(list []*part, p *part) int {
		return slices.IndexFunc(list, func(q *part) bool { return q.name == p.name })
	}
	last, moved := -1, false
	for _, p := range old {
		i := find(new, p)
		if i < 0 {
			d.add(EffectGone, "%s has no element %s any more", in, p.name)
			continue
		}
		moved = moved || i < last
		last = i
		if q := new[i]; typeWord(p.typ) != typeWord(q.typ) || p.nillable != q.nillable || p.optional != q.optional {
			d.add(EffectType, "%s.%s is %s, and was %s", in, p.name, occurs(q), occurs(p))
		} else if p.defaults != "" && q.defaults != p.defaults {
			d.add(EffectMeaning, "%s.%s is %s by default, and was %s", in, p.name, cmp.Or(q.defaults, "nothing"), p.defaults)
		}
	}
	if moved && result {
		d.add(EffectOrder, "the elements of %s come in another order", in)
	}
	for i, p := range new {
		if find(old, p) >= 0 {
			continue
		}
		switch {
		case result && i < last:
			d.add(EffectMiddle, "%s has the element %s, before others", in, p.name)
		case result:
			d.add(EffectElement, "%s has the element %s", in, p.name)
		case !p.optional:
			d.add(EffectGone, "%s needs the element %s", in, p.name)
		default:
			d.add(EffectNone, "%s takes the element %s", in, p.name)
		}
	}
}

func occurs(p *part) string {
	text := typeWord(p.typ)
	if p.optional {
		text += ", optional"
	}
	if p.nillable {
		text += ", nillable"
	}
	return text
}

// Operations is how many operations the version has.
func (l *Lock) Operations() int { return len(l.contract.operations) }
