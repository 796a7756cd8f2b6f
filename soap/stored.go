package soap

import (
	"cmp"
	"strconv"
	"strings"

	"tidings/schema"
)

// Operations whose GraphQL documents the adopter stored beside the schema. Their
// types are made of what they select, and belong to them alone.

// storedOperations maps them; the names of others are taken.
func (b *builder) storedOperations(others []*operation) []*operation {
	n := &namer{builder: b, taken: map[string]bool{strings.ToLower(faultName): true}}
	for _, op := range others {
		n.takeOperation(op.name)
	}
	for _, o := range b.model.Operations {
		n.takeOperation(storedName(o))
	}
	var operations []*operation
	for _, o := range b.model.Operations {
		var args []argument
		for _, v := range o.Variables {
			args = append(args, argument{name: v.Name, typ: v.Type, defaults: v.Default})
		}
		if !b.leaves(storedName(o), args) {
			operations = append(operations, n.operation(o))
		}
	}
	return operations
}

func storedName(o *schema.Operation) string { return cmp.Or(o.SOAP.Name, pascal(o.Name)) }

// namer names the types of stored operations so that none has the name of another.
type namer struct {
	*builder
	taken map[string]bool // in lower case
}

func (n *namer) takeOperation(name string) {
	n.taken[strings.ToLower(name)] = true
	n.taken[strings.ToLower(name)+"response"] = true
}

// free returns the name, with a number if it is taken, or that of a list of it is.
func (n *namer) free(name string) string {
	for candidate, i := name, 2; ; i++ {
		if n.isFree(candidate) && n.isFree(candidate+"List") && n.isFree(candidate+"NullableList") {
			n.taken[strings.ToLower(candidate)] = true
			return candidate
		}
		candidate = name + strconv.Itoa(i)
	}
}

func (n *namer) isFree(name string) bool {
	key := strings.ToLower(name)
	if n.taken[key] {
		return false
	}
	for other := range n.types {
		if strings.ToLower(other) == key {
			return false
		}
	}
	return true
}

func (n *namer) operation(o *schema.Operation) *operation {
	op := &operation{name: storedName(o), doc: o.Description, kind: kindDocument, mutation: o.Mutation}
	var declared []string
	for _, v := range o.Variables {
		arg := n.input(argument{name: v.Name, typ: v.Type, defaults: v.Default}, false)
		if arg == nil {
			continue // it need not be given, and cannot be
		}
		if v.Place != v.Name {
			arg.place = v.Place
		}
		op.args = append(op.args, arg)
		variable := "$" + v.Name + ": " + v.Type.String()
		if v.Default != "" {
			variable += " = " + v.Default
		}
		declared = append(declared, variable)
	}
	selection := ""
	if len(o.Fields) == 1 {
		op.result = n.part(o.Fields[0], op.name+"Result", op.name)
		op.result.name, op.result.source = resultName, o.Fields[0].Field
		selection = " { " + op.result.selection() + " }"
	} else {
		op.several = true
		op.result = &part{name: resultName, typ: n.fields(o.Fields, "", op.name+"Result", op.name)}
		selection = op.result.typ.selection()
	}
	kind := "query"
	if op.mutation {
		kind = "mutation"
	}
	op.document = kind + " " + op.name + parenthesised(declared) + selection
	return op
}

// part maps one selected field. Its type, where it is an object, is called name;
// those below it are called after path.
func (n *namer) part(s *schema.Selection, name, path string) *part {
	p := &part{name: s.Name, doc: s.Description, typ: n.selected(s, s.Type, name, path)}
	if s.Deprecated != "" {
		p.doc = strings.TrimSpace(p.doc + "\nDeprecated: " + s.Deprecated)
	}
	if s.Field != s.Name {
		p.source = s.Field
	}
	p.mayLack(!s.Type.NonNull)
	return p
}

func (n *namer) selected(s *schema.Selection, t *schema.Type, name, path string) *xsdType {
	switch {
	case t.Elem != nil:
		return n.list(&part{name: "item", typ: n.selected(s, t.Elem, name, path), nillable: !t.Elem.NonNull})
	case s.Members != nil:
		return n.members(s, t.NamedType, name, path)
	case s.Fields != nil:
		return n.fields(s.Fields, t.NamedType, name, path)
	}
	return n.leaf(t.NamedType)
}

func (n *namer) fields(fields []*schema.Selection, condition, name, path string) *xsdType {
	name = n.free(name)
	t, _ := n.declare(&xsdType{name: name, origin: "what " + path + " selects as " + name, form: formObject, condition: condition})
	if def := n.model.Contract.Types[condition]; def != nil {
		t.doc = def.Description
	}
	for _, f := range fields {
		below := path + pascal(f.Name)
		t.fields = append(t.fields, n.part(f, below, below))
	}
	return t
}

func (n *namer) members(s *schema.Selection, condition, name, path string) *xsdType {
	name = n.free(name)
	t, _ := n.declare(&xsdType{name: name, origin: "what " + path + " selects as " + name, form: formVariant,
		doc: strings.TrimSpace(n.model.Contract.Types[condition].Description + "\nExactly one of the elements is present.")})
	for _, member := range s.Members {
		below := path + member.Type
		t.fields = append(t.fields, &part{name: member.Key, doc: member.Description, typ: n.fields(member.Fields, member.Type, below, below), optional: true})
	}
	return t
}
