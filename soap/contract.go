package soap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidings/schema"
	"tidings/xmltree"
)

// contract is what a service offers: its operations and the types that they
// speak of. It is immutable after newContract and safe for concurrent use.
type contract struct {
	service, version, namespace string
	operations                  []*operation
	types                       []*xsdType // in the order of their names
	byName                      map[string]*operation
	opening                     [2]string // of an answer, up to its header, by version of SOAP
	rule                        ActionRule
	preview                     bool           // not locked, beside versions that are
	left                        []string       // why operations are left out
	memory                      xmltree.Memory // of the envelopes that are read
}

// operation is one operation: a stored GraphQL document behind a pair of elements.
type operation struct {
	name     string // GetUser: also the request's element
	doc      string
	kind     kind
	mutation bool
	headed   bool // errors below the result are told in a header, and make no fault
	args     []*part
	result   *part
	one      *operation // of kindBatch: what is done for each item
	document string     // its one root field has the alias "result", unless it has several
	several  bool       // the document has several root fields: the result holds each
	wakes    string     // of kindPull: the subscription whose events it tells
	batch    *operation // of kindSubmit: what does the same at once

	start, end string // what stands around the result in an answer
	size       likely // of answers
	asked      likely // of variables
}

// resultName is the one child of every response element, and the alias of the
// root field in every document.
const resultName = "result"

// newContract maps a schema to operations. It fails where two names of the XML
// would be one, or one in generated code of clients.
func newContract(m *schema.Model, o Options) (*contract, error) {
	b := newBuilder(m)
	c := &contract{service: o.Service, version: o.Version, namespace: o.Namespace, byName: map[string]*operation{}, rule: o.SOAPAction}
	for _, f := range b.roots() {
		if op := b.operation(f); op != nil {
			c.operations = append(c.operations, op)
			if many := b.batch(f, op); many != nil {
				c.operations = append(c.operations, many)
			}
		}
	}
	made := len(c.operations)
	c.operations = append(c.operations, b.storedOperations(c.operations)...)
	c.left = b.left
	c.operations = append(c.operations, b.jobs(c.operations)...)
	if op := b.info(c.operations); op != nil {
		c.operations = append(c.operations, op)
	}
	for _, op := range c.operations {
		if op.document != "" && op.result.typ.fieldsBelow() > maxFields {
			return nil, fmt.Errorf("soap: the result of %s would have more than %d fields, those inside of others included: hide some, or the operation, by @soap(expose: false), and store an operation that asks for what is needed", op.name, maxFields)
		}
	}
	for _, op := range c.operations[:made] {
		if t := op.result.typ.hollow(); t != nil {
			return nil, fmt.Errorf("soap: the result of %s holds %s, of which nothing can be shown: hide the field that leads to it, or the operation, by @soap(expose: false)", op.name, t.origin)
		}
	}
	slices.SortStableFunc(c.operations, func(x, y *operation) int { return cmp.Compare(x.name, y.name) })
	for _, types := range b.types {
		c.types = append(c.types, types...)
	}
	slices.SortFunc(c.types, func(x, y *xsdType) int { return cmp.Or(cmp.Compare(x.name, y.name), cmp.Compare(x.origin, y.origin)) })
	if err := c.checkNames(); err != nil {
		return nil, err
	}
	for _, op := range c.operations {
		c.byName[op.name] = op
		op.headed = o.headed(op)
	}
	c.write()
	return c, nil
}

// checkNames refuses what XML or the code generators of clients cannot hold.
func (c *contract) checkNames() error {
	taken := map[string]string{strings.ToLower(faultName): "the fault"}
	take := func(name, what string) error {
		key := strings.ToLower(name)
		if other, ok := taken[key]; ok {
			return fmt.Errorf("soap: %s and %s would both be called %s: rename one in the schema, or by @soap(name:)", other, what, name)
		}
		if strings.HasPrefix(key, "xml") {
			return fmt.Errorf("soap: %s: names may not begin with xml: rename it in the schema, or by @soap(name:)", what)
		}
		taken[key] = what
		return nil
	}
	for _, op := range c.operations {
		if err := take(op.name, "the operation "+op.name); err != nil {
			return err
		}
		if err := take(op.name+"Response", "the answer of "+op.name); err != nil {
			return err
		}
	}
	for _, t := range c.types {
		if err := take(t.name, t.origin); err != nil {
			return err
		}
		if err := t.checkFields(); err != nil {
			return err
		}
	}
	return nil
}

func (t *xsdType) checkFields() error {
	seen := map[string]bool{}
	for _, f := range t.fields {
		key := strings.ToLower(f.name)
		if seen[key] {
			return fmt.Errorf("soap: the type %s would have %s twice, or in two spellings: rename one in the schema, or by @soap(name:)", t.name, f.name)
		}
		seen[key] = true
	}
	return nil
}

// builder collects the types that operations use. A type is made once, so that it
// is the same wherever it stands.
type builder struct {
	model *schema.Model
	types map[string][]*xsdType // by name
	left  []string              // why operations are left out
}

// leaves leaves an operation out that nobody could call, and reports whether it does.
func (b *builder) leaves(operation string, args []argument) bool {
	for _, a := range args {
		if why := b.uncallable(a); why != "" {
			b.left = append(b.left, operation+": "+why)
			return true
		}
	}
	return false
}

func newBuilder(m *schema.Model) *builder { return &builder{model: m, types: map[string][]*xsdType{}} }

// rootField is what the builder needs of a root field of the GraphQL contract. Its
// Kind is zero, and there is no Resource, where the field is the adopter's own.
type rootField struct {
	*schema.Root
	soap     schema.SOAP
	doc      string
	typ      *schema.Type
	args     []argument
	mutation bool
}

// argument is an argument of a root field, or a field of an input type.
type argument struct {
	name, doc, defaults string
	soap                schema.SOAP
	typ                 *schema.Type
}

// roots returns the root fields that SOAP may show.
func (b *builder) roots() []rootField {
	var roots []rootField
	contract := b.model.Contract
	for _, typ := range []string{"Query", "Mutation"} {
		def := contract.Types[typ]
		if def == nil {
			continue
		}
		for _, f := range def.Fields {
			field := rootField{Root: b.model.Root(typ, f.Name), soap: schema.SOAPOf(f.Directives), doc: described(f.Description, f.Directives),
				typ: f.Type, mutation: typ == "Mutation"}
			if field.Root == nil {
				field.Root = &schema.Root{Name: f.Name}
			}
			if strings.HasPrefix(f.Name, "__") || field.soap.Hidden || field.Resource != nil && b.typeSOAP(field.Resource.Name).Hidden {
				continue
			}
			for _, a := range f.Arguments {
				arg := argument{name: a.Name, doc: described(a.Description, a.Directives), typ: a.Type}
				if a.DefaultValue != nil {
					arg.defaults = a.DefaultValue.String()
				}
				field.args = append(field.args, arg)
			}
			roots = append(roots, field)
		}
	}
	return roots
}

// typeSOAP is what @soap says on a type of the contract.
func (b *builder) typeSOAP(typ string) schema.SOAP {
	return schema.SOAPOf(b.model.Contract.Types[typ].Directives)
}

// typeName is what a type is called in the WSDL.
func (b *builder) typeName(typ string) string { return cmp.Or(b.typeSOAP(typ).Name, typ) }

// described is a description with what else people should know.
func described(doc string, directives schema.Directives) string {
	if reason := schema.Deprecation(directives); reason != "" {
		doc = strings.TrimSpace(doc + "\nDeprecated: " + reason)
	}
	return doc
}

// operation maps a root field. It is nil for what SOAP does not show.
func (b *builder) operation(f rootField) *operation {
	if b.leaves(f.Name, f.args) {
		return nil
	}
	op := &operation{doc: f.doc, kind: kindDocument, mutation: f.mutation}
	switch f.Kind {
	case schema.RootGet:
		op.name = "Get" + f.Resource.Name
		op.result = &part{name: resultName, typ: b.object(f.Resource, whole), optional: true}
	case schema.RootList:
		op.name = "List" + strings.ToUpper(f.Resource.Plural[:1]) + f.Resource.Plural[1:]
		op.result = &part{name: resultName, typ: b.connection(f.Resource)}
	case schema.RootCreate, schema.RootUpdate, schema.RootDelete:
		verb := map[schema.RootKind]string{schema.RootCreate: "Create", schema.RootUpdate: "Update", schema.RootDelete: "Delete"}
		op.name = verb[f.Kind] + f.Resource.Name
		op.result = &part{name: resultName, typ: b.object(f.Resource, whole), optional: mayBeUnread(f.Resource, actions[f.Kind])}
	case schema.RootChanges:
		return b.pull(f)
	case 0:
		op.name = ownName(f)
		op.result = b.ownResult(f)
	}
	if op.result == nil {
		return nil
	}
	op.name = cmp.Or(f.soap.Name, op.name)
	op.compile(f, b)
	return op
}

// actions are what the mutations need leave for.
var actions = map[schema.RootKind]schema.Action{schema.RootCreate: schema.Create, schema.RootUpdate: schema.Update, schema.RootDelete: schema.Delete}

// mayBeUnread reports whether some of those who may change a record may not read
// it: what they are answered has no result then. Who creates a record owns it;
// those who create it for another may find a fault that says it was made.
func mayBeUnread(r *schema.Resource, a schema.Action) bool {
	read := r.Auth[schema.Read].Roles
	if read.Has(schema.Anyone) {
		return false
	}
	if a == schema.Create && read.Has(schema.Owner) {
		read |= schema.User
	}
	return r.Auth[a].Roles&^read != 0
}

// compile fills in the arguments and the document.
func (op *operation) compile(f rootField, b *builder) {
	var declared, given []string
	for _, a := range f.args {
		p := b.input(a, f.Kind != 0)
		if p == nil {
			continue
		}
		op.args = append(op.args, p)
		typ := a.typ.String()
		if a.defaults != "" {
			typ = strings.TrimSuffix(typ, "!") // without a value the argument has its default
		}
		declared = append(declared, "$"+a.name+": "+typ)
		given = append(given, a.name+": $"+a.name)
	}
	kind := "query"
	if op.mutation {
		kind = "mutation"
	}
	op.document = kind + " " + op.name + parenthesised(declared) + " { " +
		resultName + ": " + f.Name + parenthesised(given) + op.result.typ.selection() + " }"
}

func parenthesised(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "(" + strings.Join(list, ", ") + ")"
}
