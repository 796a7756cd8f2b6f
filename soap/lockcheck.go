package soap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidings/schema"
)

// Breach is a promise of a lock that the schema no longer holds.
type Breach struct {
	File string `json:"file"` // of the lock
	Line int    `json:"line"` // of the operation in it
	// What is promised, and is no longer so; and what to do.
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Error returns "file:line: message; remedy".
func (b Breach) Error() string {
	return fmt.Sprintf("%s:%d: %s; %s", b.File, b.Line, b.Message, b.Remedy)
}

// What to do about a breach, besides what is particular to it.
const (
	remedyBack  = "put it back as it was, or give the version up and make the next one"
	remedyField = "put the field back, or keep its old name beside the new one"
)

// Check says which promises of the lock the schema does not hold: a document that
// is no longer valid, a value that may be null now or has another type, an enum
// that has grown. What was added to the schema breaks none. It is empty when all
// hold.
func (l *Lock) Check(m *schema.Model) []Breach {
	c := &lockCheck{lock: l, builder: newBuilder(m)}
	living, err := newContract(m, Options{Service: l.Service, Version: l.Version, Namespace: l.Namespace})
	if err != nil {
		living = &contract{byName: map[string]*operation{}} // reported where the schema itself is used
	}
	for _, op := range l.contract.operations {
		c.operation(op, living.byName[op.name])
	}
	c.defaults(living)
	if now := l.contract.faultElements(); len(l.file.Fault) > 0 && !slices.Equal(now, l.file.Fault) {
		c.breaches = append(c.breaches, Breach{File: l.File(), Line: 1, Remedy: "use the release that the version was locked with, or make the next version",
			Message: fmt.Sprintf("%s has the elements %v now, but the version promises %v", faultName, now, l.file.Fault)})
	}
	return c.breaches
}

type lockCheck struct {
	*builder
	lock     *Lock
	at       *operation
	seen     map[string]bool // types of inputs that were looked at
	breaches []Breach
}

func (c *lockCheck) report(remedy, format string, args ...any) {
	b := Breach{File: c.lock.File(), Line: c.lock.lines[c.at.name], Message: c.at.name + ": " + fmt.Sprintf(format, args...), Remedy: remedy}
	if !slices.Contains(c.breaches, b) {
		c.breaches = append(c.breaches, b)
	}
}

func (c *lockCheck) operation(op, living *operation) {
	c.at, c.seen = op, map[string]bool{}
	switch {
	case op.one != nil || op.batch != nil: // which are looked at by themselves
		return
	case op.document == "":
		c.same(op, living)
		return
	}
	compiled, err := c.model.Compile("", op.document)
	if err != nil {
		faults, _ := errors.AsType[schema.Faults](err)
		for _, f := range faults {
			c.report(remedyBack, "its document is no longer valid: %s", f.Message)
		}
		return
	}
	for _, v := range compiled.Variables {
		i := slices.IndexFunc(op.args, func(p *part) bool { return p.member() == v.Name })
		if i >= 0 {
			c.input(op.args[i], op.args[i].name, v.Type, v.Default != "")
		}
	}
	if op.several {
		c.fields(op.result.typ, compiled.Fields, resultName, "")
		return
	}
	field, _, _ := strings.Cut(strings.TrimSpace(compiled.Fields[0].Field), "(")
	c.output(op.result, compiled.Fields[0], resultName, c.rootMayLack(op.mutation, field, compiled.Fields[0]))
}

// rootMayLack reports whether an answer without an error may have no value for a
// root field.
func (c *lockCheck) rootMayLack(mutation bool, name string, s *schema.Selection) bool {
	typ := "Query"
	if mutation {
		typ = "Mutation"
	}
	root := c.model.Root(typ, name)
	if root == nil {
		return !s.Type.NonNull
	}
	switch root.Kind {
	case schema.RootGet:
		return true
	case schema.RootCreate, schema.RootUpdate, schema.RootDelete:
		return mayBeUnread(root.Resource, actions[root.Kind])
	}
	return false
}

// output compares a value of the answer with what its element promises.
func (c *lockCheck) output(p *part, s *schema.Selection, path string, lacks bool) {
	if lacks && !p.optional && !p.nillable {
		c.report("put the `!` back, or the rule for who may read it", "%s may be null now, but the version promises a value", path)
	}
	c.value(p.typ, s, s.Type, path)
}

func (c *lockCheck) value(t *xsdType, s *schema.Selection, now *schema.Type, path string) {
	switch {
	case (t.form == formList) != (now.Elem != nil):
		c.report(remedyBack, "%s has the type %s now", path, s.Type)
	case t.form == formList:
		if !now.Elem.NonNull && !t.item.nillable {
			c.report("put the `!` back", "an item of %s may be null now", path)
		}
		c.value(t.item.typ, s, now.Elem, path)
	case t.form == formObject && s.Fields != nil:
		c.fields(t, s.Fields, path, "")
	case t.form == formVariant && s.Members != nil:
		c.members(t, s, path)
	case s.Fields != nil || s.Members != nil || t.form == formObject || t.form == formVariant:
		c.report(remedyBack, "%s has the type %s now", path, s.Type)
	default:
		c.leafOutput(t, c.leaf(now.NamedType), path)
	}
}

// fields compares an object, whose members come in the order of the document.
func (c *lockCheck) fields(t *xsdType, selected []*schema.Selection, path, prefix string) {
	if prefix != "" && len(selected) > 0 && selected[len(selected)-1].Name == "__typename" {
		selected = selected[:len(selected)-1]
	}
	if len(selected) != len(t.fields) {
		c.report("make the lock anew by `api soap lock`", "%s: the document and the type %s differ", path, t.name)
		return
	}
	for i, s := range selected {
		p := t.fields[i]
		if s.Name != prefix+p.name {
			c.report("make the lock anew by `api soap lock`", "%s: the document has %s in place of %s", path, s.Name, p.name)
			return
		}
		c.output(p, s, path+"."+p.name, !s.Type.NonNull)
	}
}

// members compares a union or an interface.
func (c *lockCheck) members(t *xsdType, s *schema.Selection, path string) {
	for _, member := range s.Members {
		i := slices.IndexFunc(t.fields, func(p *part) bool { return p.typ.condition == member.Type })
		if i < 0 {
			c.report("take it out of "+s.Type.Name()+", or make the next version and give this one up", "%s may be a %s now, for which the version has no element", path, member.Type)
			continue
		}
		if len(member.Fields) > 0 && member.Fields[0].Name == "__typename" {
			c.fields(t.fields[i].typ, member.Fields[1:], path+"."+t.fields[i].name, t.fields[i].name+"_")
		}
	}
}

// leafOutput compares a scalar or an enum: all of today's values must be values of
// the locked type.
func (c *lockCheck) leafOutput(t, now *xsdType, path string) {
	switch {
	case t.form == formJSON:
	case t.form == formText && t.facets == "" && (now.form == formText || now.form == formEnum):
	case t.form == formDouble && now.form == formInt, t.form == formLong && now.form == formInt:
	case t.form == formInt && now.form == formInt && (t.facets == "" || t.facets == now.facets):
	case t.form == formEnum && now.form == formEnum:
		for _, v := range now.values {
			if !t.has(v.name) {
				c.report("make the next version, or make the enum open from the next one on by @soap(openEnum: true)",
					"%s may be %s now, which is no value of %s in this version: clients of .NET, gSOAP and Axis fail on it", path, v.name, t.name)
			}
		}
	case t.form != now.form || t.facets != now.facets:
		c.report(remedyBack, "%s has the type %s now, but the version promises %s", path, typeWord(now), typeWord(t))
	}
}

func (t *xsdType) has(value string) bool {
	return slices.ContainsFunc(t.values, func(v enumValue) bool { return v.name == value })
}

// input compares what callers may give with what is taken now.
func (c *lockCheck) input(p *part, path string, now *schema.Type, defaults bool) {
	if p.optional && now.NonNull && !defaults {
		c.report("give it a default, or make it optional", "%s must be given now, but the version lets it be left out", path)
	}
	t := p.typ
	for t.form == formList && now.Elem != nil {
		if t.item.nillable && now.Elem.NonNull {
			c.report("remove the `!`", "an item of %s may no longer be null", path)
		}
		t, now = t.item.typ, now.Elem
	}
	def := c.model.Contract.Types[now.Name()]
	isObject := def != nil && def.Kind == "INPUT_OBJECT"
	switch {
	case now.Elem != nil || t.form == formList || isObject != (t.form == formObject):
		c.report(remedyBack, "%s has the type %s now", path, now)
	case isObject:
		c.inputObject(t, def, path)
	default:
		c.leafInput(t, c.leaf(now.NamedType), path)
	}
}

func (c *lockCheck) inputObject(t *xsdType, def *schema.Definition, path string) {
	if c.seen[t.name] {
		return
	}
	c.seen[t.name] = true
	for _, p := range t.fields {
		f := def.Fields.ForName(p.member())
		switch {
		case p.clears:
		case f == nil:
			c.report(remedyField, "%s.%s is no longer taken", path, p.name)
		default:
			c.input(p, path+"."+p.name, f.Type, f.DefaultValue != nil)
		}
	}
	for _, f := range def.Fields {
		known := slices.ContainsFunc(t.fields, func(p *part) bool { return p.member() == f.Name })
		if !known && f.Type.NonNull && f.DefaultValue == nil {
			c.report("give it a default, or make it optional", "%s.%s must be given now, but the version has no element for it", path, f.Name)
		}
	}
}

// leafInput compares a scalar or an enum: all values of the locked type must be
// taken now.
func (c *lockCheck) leafInput(t, now *xsdType, path string) {
	switch {
	case now.form == formText && now.facets == "" && (t.form == formText || t.form == formEnum):
	case now.form == formDouble && t.form == formInt, now.form == formLong && t.form == formInt:
	case t.form == formInt && now.form == formInt && (now.facets == "" || t.facets == now.facets):
	case t.form == formText && now.form == formEnum && t.name == now.name: // an open enum that was closed
	case t.form == formEnum && now.form == formEnum:
		for _, v := range t.values {
			if !now.has(v.name) {
				c.report("put the value back, with @deprecated if it must be", "%s may no longer be %s", path, v.name)
			}
		}
	case t.form != now.form || t.facets != now.facets:
		c.report(remedyBack, "%s has the type %s now, but the version takes %s", path, typeWord(now), typeWord(t))
	}
}

// defaults reports inputs that are something else now when they are left out. Locks of
// older releases do not say what they were. What a record has when nothing is said is
// the schema's of today, as its values are.
func (c *lockCheck) defaults(living *contract) {
	d := &defaultsCheck{lockCheck: c, types: map[string]*xsdType{}, seen: map[string]bool{}}
	for _, t := range living.types {
		d.types[t.name] = t
	}
	for _, op := range c.lock.contract.operations {
		if now := living.byName[op.name]; now != nil && op.one == nil && op.batch == nil {
			c.at = op
			args := slices.DeleteFunc(slices.Clone(op.args), func(p *part) bool { return declaresDefault(op.document, p.member()) })
			d.compare(args, now.args, "")
		}
	}
}

// declaresDefault reports whether a document gives a variable a default of its own,
// which it keeps.
func declaresDefault(document, name string) bool {
	_, rest, _ := strings.Cut(document, "$"+name+": ")
	i := strings.IndexAny(rest, ",)")
	return i >= 0 && strings.Contains(rest[:i], "=")
}

type defaultsCheck struct {
	*lockCheck
	types map[string]*xsdType // the living ones
	seen  map[string]bool
}

func (d *defaultsCheck) compare(old, now []*part, path string) {
	for _, p := range old {
		i := slices.IndexFunc(now, func(q *part) bool { return q.member() == p.member() })
		if i >= 0 && p.defaults != "" && now[i].defaults != p.defaults {
			d.report("put the default back, or make the next version and give this one up", "%s is %s now when it is left out, and was %s", path+p.name, cmp.Or(now[i].defaults, "nothing"), p.defaults)
		}
		t := p.typ
		for t.form == formList {
			t = t.item.typ
		}
		other := d.types[t.name]
		if other == nil || d.seen[t.name] || d.ofRecord(other) {
			continue
		}
		d.seen[t.name] = true
		d.compare(t.fields, other.fields, path+p.name+".")
	}
}

// ofRecord reports whether an input is that of a create.
func (d *defaultsCheck) ofRecord(t *xsdType) bool {
	_, kind := d.inputOf(strings.TrimPrefix(t.origin, originInput))
	return kind == schema.RootCreate
}

// same compares an operation that has no document with what it is today: all of
// its elements must be there still, and as they are.
func (c *lockCheck) same(op, living *operation) {
	if living == nil || living.kind != op.kind {
		c.report("put back what it is made of, or make the next version and give this one up", "the schema no longer makes it")
		return
	}
	compared := map[*xsdType]bool{}
	var parts func(old, now []*part, path string)
	parts = func(old, now []*part, path string) {
		for _, p := range old {
			i := slices.IndexFunc(now, func(q *part) bool { return q.name == p.name })
			switch {
			case i < 0:
				c.report(remedyField, "%s%s is no longer there", path, p.name)
				continue
			case typeWord(p.typ) != typeWord(now[i].typ) || p.nillable != now[i].nillable || p.optional != now[i].optional:
				c.report(remedyBack, "%s%s is another element now", path, p.name)
			}
			if t, other := p.typ, now[i].typ; !compared[t] && t.condition == "" { // records are what documents ask for
				compared[t] = true
				parts(t.fields, other.fields, path+p.name+".")
				if t.item != nil && other.item != nil {
					parts([]*part{t.item}, []*part{other.item}, path+p.name+".")
				}
			}
		}
	}
	parts(op.args, living.args, "")
	if op.result != nil && living.result != nil {
		parts([]*part{op.result}, []*part{living.result}, "")
	}
}
