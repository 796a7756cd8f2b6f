package graphql

import (
	"slices"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/internal/rawjson"
	"tidings/schema"
)

// plan is one compiled operation. It is immutable but for the hint.
type plan struct {
	typename []byte // of the root type, as JSON
	roots    []*root
	// roles are all that a read rule on the way asks for.
	roles schema.Roles
	// hint is how long the last answer was.
	hint atomic.Int64
	// price is what the operation costs and one more; 0 while it is not known,
	// or when it depends on variables.
	price atomic.Int64
	// together: its changes happen together or not at all.
	together bool
}

// root is one root field and what answers it.
type root struct {
	field
	generated *schema.Root
	function  *Function
	meta      bool // __schema, __type
	far       bool // reads says so
}

// object says how to write the objects of one type at one place: which members
// to find in the record's JSON and where each goes.
type object struct {
	typename []byte // as JSON
	resource *schema.Resource
	keys     []string // members to find, in one pass
	fields   []field
	links    int       // how many fields are links
	owner    int       // slot of the owner's member, -1 when no rule needs it
	variants []*object // of an interface or a union: one for each possible type
	counted  bool      // a connection whose totalCount is selected
	listed   bool      // a connection of which more than that is selected
}

// field is one field of an object.
type field struct {
	key    []byte // `"name":`
	name   string // the response name
	parent string // the type that it belongs to
	nodes  []*ast.Field
	source source
	typ    *ast.Type
	rule   *schema.Rule // of the field alone, nil without
	args   arguments
	cost   *schema.CostRule // nil for __typename

	slot int   // sourceMember: which of the object's keys
	leaf *leaf // how it is written, nil for objects

	link     int // index among the batch's links
	target   *object
	relation *schema.Relation
}

// source is where the value of a field comes from.
type source int

const (
	sourceTypename source = iota + 1
	sourceMember          // a member of the record
	sourceNested          // a member that is an object, or a list of them
	sourceMany            // @hasMany
	sourceOne             // @belongsTo
	sourceEdges           // of a connection
	sourceNodes           // of a connection
	sourceNode            // of an edge
	sourcePageInfo        // of a connection
	sourceRecord          // of a change
	sourceMeta            // of the schema
)

// reads reports whether what stands below an object is not in it.
func (o *object) reads() bool {
	for _, f := range o.fields {
		switch {
		case f.source == sourceNested && f.target.reads():
			return true
		case f.source.linked() && f.source != sourceNested:
			return true
		}
	}
	return slices.ContainsFunc(o.variants, (*object).reads)
}

// linked reports whether the field leads to objects of another batch.
func (s source) linked() bool { return s > sourceMember }

// leaf says how a leaf value, or a list of them, is checked and written.
type leaf struct {
	nonNull bool
	elem    *leaf
	name    string      // of the type
	kind    schema.Kind // zero: any JSON value
	enum    ast.EnumValueList
}

// newLeaf returns nil for types whose leaves are objects.
func (t inputTypes) newLeaf(typ *ast.Type) *leaf {
	if typ.Elem != nil {
		elem := t.newLeaf(typ.Elem)
		if elem == nil {
			return nil
		}
		return &leaf{nonNull: typ.NonNull, elem: elem}
	}
	def := t.schema.Types[typ.NamedType]
	if def == nil || !def.IsLeafType() {
		return nil
	}
	l := &leaf{nonNull: typ.NonNull, name: def.Name, kind: t.kinds[def.Name]}
	if def.Kind == ast.Enum {
		l.kind, l.enum = schema.KindEnum, def.EnumValues
	}
	return l
}

// accepts reports whether a value that is not null may be copied as it is.
func (l *leaf) accepts(raw []byte) bool {
	if l.elem == nil {
		return l.acceptsOne(raw)
	}
	good := true
	isList := rawjson.Elements(raw, func(item []byte) bool {
		if rawjson.IsNull(item) {
			good = !l.elem.nonNull
		} else {
			good = l.elem.accepts(item)
		}
		return good
	})
	return isList && good
}

func (l *leaf) acceptsOne(raw []byte) bool {
	switch l.kind {
	case 0:
		return true
	case schema.KindEnum:
		if len(raw) < 2 || raw[0] != '"' {
			return false
		}
		for _, v := range l.enum {
			if v.Name == string(raw[1:len(raw)-1]) {
				return true
			}
		}
		return false
	}
	return l.kind.Check(raw) == nil
}

// arguments are a field's, coerced once where no variable is in them.
type arguments struct {
	constant map[string]any
	dynamic  []argument // those that variables have a part in
}

type argument struct {
	def   *ast.ArgumentDefinition
	value *ast.Value
}

func (t inputTypes) newArguments(f *ast.Field, defs ast.ArgumentDefinitionList) arguments {
	var a arguments
	for _, def := range defs {
		given := f.Arguments.ForName(def.Name)
		if given != nil && mentionsVariable(given.Value) {
			a.dynamic = append(a.dynamic, argument{def: def, value: given.Value})
			continue
		}
		value := def.DefaultValue
		if given != nil {
			value = given.Value
		}
		if value == nil {
			continue
		}
		if a.constant == nil {
			a.constant = map[string]any{}
		}
		a.constant[def.Name], _, _ = t.literal(value, def.Type, nil)
	}
	return a
}

func mentionsVariable(v *ast.Value) bool {
	if v.Kind == ast.Variable {
		return true
	}
	for _, child := range v.Children {
		if mentionsVariable(child.Value) {
			return true
		}
	}
	return false
}

// arguments returns the values of a field's arguments. Nobody may change them:
// equal operations share what is constant.
func (t inputTypes) arguments(a arguments, vars map[string]any) (map[string]any, *inputError) {
	if len(a.dynamic) == 0 {
		return a.constant, nil
	}
	if vars == nil {
		vars = map[string]any{} // nil would stand for validation
	}
	args := make(map[string]any, len(a.constant)+len(a.dynamic))
	for name, v := range a.constant {
		args[name] = v
	}
	for _, arg := range a.dynamic {
		value, ok, err := t.literal(arg.value, arg.def.Type, vars)
		switch {
		case err != nil:
			return nil, err.below(arg.def.Name)
		case ok:
			args[arg.def.Name] = value
		case arg.def.DefaultValue != nil:
			args[arg.def.Name], _, _ = t.literal(arg.def.DefaultValue, arg.def.Type, nil)
		case arg.def.Type.NonNull:
			return nil, wrong("Argument %q of required type %q was provided the variable %q, which has no value.",
				arg.def.Name, arg.def.Type, "$"+arg.value.Raw).below(arg.def.Name)
		}
	}
	return args, nil
}
