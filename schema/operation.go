package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// Operation is a GraphQL operation that the adopter stored beside the schema,
// for SOAP to offer. Its fragments are expanded: what it selects depends on the
// type of each object alone.
type Operation struct {
	Name        string // as the document has it
	SOAP        SOAP
	Description string // the comment above it
	Mutation    bool
	Variables   []Variable
	Fields      []*Selection // of the root type
	// Position is that of the operation, for messages.
	Position *ast.Position
}

// Place is where the operation stands, "file:line:column".
func (o *Operation) Place() string { return place(o.Position) }

// Variable is what the caller of an operation gives.
type Variable struct {
	Name string
	Type *Type
	// Default is the literal as SDL writes it, empty without one.
	Default string
	// Place is where it is used first, among the arguments of a field: input.title.
	Place string
}

// Selection is one field of an answer.
type Selection struct {
	// Name of the member in the answer.
	Name string
	// Field is what is asked for, as GraphQL writes it: posts(limit: 5).
	Field       string
	Type        *Type
	Description string
	Deprecated  string // why; empty when it is not
	// Fields of the object, where Type is one; of each type that may be there,
	// where it is an interface or a union: then Members has them.
	Fields  []*Selection
	Members []Member
}

// Member is what is selected of one of the types that an interface or a union
// stands for.
type Member struct {
	Type, Key   string // Image, image
	Description string
	Fields      []*Selection
}

// splitSources tells the files that hold operations from those of the schema.
func splitSources(sources []*ast.Source) (sdl, operations []*ast.Source) {
	for _, source := range sources {
		if holdsOperations(source) {
			operations = append(operations, source)
		} else {
			sdl = append(sdl, source)
		}
	}
	return sdl, operations
}

// holdsOperations looks at a file's first word.
func holdsOperations(source *ast.Source) bool {
	for tokens := lexer.New(source); ; {
		token, err := tokens.ReadToken()
		switch {
		case err != nil || token.Kind == lexer.EOF:
			return false
		case token.Kind == lexer.Comment:
			continue
		case token.Kind == lexer.Name:
			return slices.Contains([]string{"query", "mutation", "subscription", "fragment"}, token.Value)
		}
		return token.Kind == lexer.BraceL
	}
}

// parseOperations merges the files' operations and fragments.
func parseOperations(sources []*ast.Source, r *reporter) *ast.QueryDocument {
	merged := &ast.QueryDocument{}
	for _, source := range sources {
		if !checkTokens(source, r) {
			continue
		}
		doc, err := parser.ParseQueryWithTokenLimit(source, maxTokens)
		if err != nil {
			r.foreign(err, "correct the GraphQL syntax here; a file holds types, or operations and fragments")
			continue
		}
		merged.Operations = append(merged.Operations, doc.Operations...)
		merged.Fragments = append(merged.Fragments, doc.Fragments...)
	}
	return merged
}

// operations compiles the stored operations against the contract.
func (c *compiler) operations(m *Model, doc *ast.QueryDocument) {
	soap := map[*ast.OperationDefinition]SOAP{}
	names := map[string]*ast.Position{}
	for _, op := range doc.Operations {
		soap[op] = c.storedDirectives(op)
		switch first := names[op.Name]; {
		case op.Name == "":
			c.at(op.Position, "name it after what it does, such as query GetUserWithPosts", "a stored operation needs a name")
		case first != nil:
			c.at(op.Position, "rename one", "there are two operations %s, the first in %s", op.Name, place(first))
		case op.Operation == ast.Subscription:
			c.at(op.Position, "store a query or a mutation", "%s is a subscription, which is no operation of SOAP", op.Name)
		}
		names[op.Name] = op.Position
	}
	if len(c.list) > 0 || !c.validOperations(m, doc) {
		return
	}
	for _, op := range doc.Operations {
		m.Operations = append(m.Operations, c.storedOperation(m.Contract, op, soap[op]))
	}
	slices.SortFunc(m.Operations, func(a, b *Operation) int { return strings.Compare(a.Name, b.Name) })
}

// Compile compiles an operation that was valid for a contract once: the one
// operation of a document. It fails with Faults where it no longer is; name stands
// for the document in them.
func (m *Model) Compile(name, document string) (*Operation, error) {
	var r reporter
	c := &compiler{reporter: &r}
	doc := parseOperations([]*ast.Source{{Name: name, Input: document}}, &r)
	if len(r.list) == 0 && len(doc.Operations) != 1 {
		r.file(name, "write one operation", "there are %d operations", len(doc.Operations))
	}
	if len(r.list) > 0 || !c.validOperations(m, doc) {
		return nil, r.err()
	}
	op := c.storedOperation(m.Contract, doc.Operations[0], SOAP{})
	return op, r.err()
}

// storedDirectives takes @soap off an operation, which must have it and no other.
func (c *compiler) storedDirectives(op *ast.OperationDefinition) SOAP {
	if op.Directives.ForName("soap") == nil && op.Name != "" {
		c.at(op.Position, "write @soap after its name and variables; register operations of GraphQL clients by --operations, from another directory",
			"the operation %s stands beside the schema without @soap", op.Name)
	}
	list := op.Directives
	op.Directives = nil
	for i, directive := range list {
		if directive.Name != "soap" || i > 0 {
			c.at(directive.Position, "remove it", "a stored operation has @soap and no other directive")
			continue
		}
		for _, arg := range directive.Arguments {
			if arg.Name != "name" || arg.Value.Kind != ast.StringValue {
				c.at(arg.Position, `write @soap, or @soap(name: "…")`, "@soap on an operation takes a name alone")
				return SOAP{}
			}
		}
		c.checkSOAPName(directive)
	}
	return SOAPOf(list)
}

// validOperations reports what GraphQL forbids.
func (c *compiler) validOperations(m *Model, doc *ast.QueryDocument) bool {
	before := len(c.list)
	for _, err := range validator.ValidateWithRules(m.Contract, doc, rules.NewDefaultRules()) {
		c.foreign(located(err, doc), "correct the operation: it is checked against the contract that `api schema print` shows")
	}
	return len(c.list) == before
}

// located gives an error the file of its first line, which gqlparser leaves out
// where several files are one document.
func located(err *gqlerror.Error, doc *ast.QueryDocument) *gqlerror.Error {
	if _, known := err.Extensions["file"]; !known && len(doc.Operations) > 0 && doc.Operations[0].Position != nil {
		err.SetFile(doc.Operations[0].Position.Src.Name)
	}
	return err
}

func (c *compiler) storedOperation(contract *ast.Schema, op *ast.OperationDefinition, soap SOAP) *Operation {
	o := &Operation{Name: op.Name, SOAP: soap, Mutation: op.Operation == ast.Mutation, Position: op.Position, Description: comment(op.Comment)}
	for _, v := range op.VariableDefinitions {
		variable := Variable{Name: v.Variable, Type: v.Type}
		if v.DefaultValue != nil {
			variable.Default = printValue(v.DefaultValue)
		}
		o.Variables = append(o.Variables, variable)
		for _, directive := range v.Directives {
			c.at(directive.Position, "remove it", "@%s on a variable of a stored operation has no effect", directive.Name)
		}
	}
	x := &expander{compiler: c, contract: contract, places: map[string]string{}}
	root := contract.Query
	if o.Mutation {
		root = contract.Mutation
	}
	o.Fields = x.object(root, []ast.SelectionSet{op.SelectionSet})
	for i, v := range o.Variables {
		o.Variables[i].Place = x.places[v.Name]
	}
	if o.Mutation && len(o.Fields) > 1 {
		c.at(op.Position, "store an operation for each", "the mutation %s makes several changes: were the second refused, the first would have been made", op.Name)
	}
	return o
}

// comment is the text above an operation.
func comment(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	var lines []string
	for _, line := range group.List {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line.Value), "#")))
	}
	return strings.Join(lines, "\n")
}

// expander makes trees of selections without fragments.
type expander struct {
	*compiler
	contract *ast.Schema
	places   map[string]string // of variables
}

// use notes where variables stand in an argument.
func (x *expander) use(v *ast.Value, place string) {
	switch v.Kind {
	case ast.Variable:
		if x.places[v.Raw] == "" {
			x.places[v.Raw] = place
		}
	case ast.ObjectValue:
		for _, child := range v.Children {
			x.use(child.Value, place+"."+child.Name)
		}
	case ast.ListValue:
		for i, child := range v.Children {
			x.use(child.Value, place+"["+strconv.Itoa(i)+"]")
		}
	}
}

// object selects from values of one object type.
func (x *expander) object(def *ast.Definition, sets []ast.SelectionSet) []*Selection {
	var names []string
	fields := map[string][]*ast.Field{}
	var collect func(set ast.SelectionSet)
	collect = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				x.unconditional(sel.Directives)
				if fields[sel.Alias] == nil {
					names = append(names, sel.Alias)
				}
				fields[sel.Alias] = append(fields[sel.Alias], sel)
			case *ast.InlineFragment:
				x.unconditional(sel.Directives)
				if sel.TypeCondition == "" || x.holds(sel.TypeCondition, def.Name) {
					collect(sel.SelectionSet)
				}
			case *ast.FragmentSpread:
				x.unconditional(sel.Directives)
				if x.holds(sel.Definition.TypeCondition, def.Name) {
					collect(sel.Definition.SelectionSet)
				}
			}
		}
	}
	for _, set := range sets {
		collect(set)
	}
	selections := make([]*Selection, len(names))
	for i, name := range names {
		selections[i] = x.field(name, fields[name])
	}
	return selections
}

// holds reports whether an object of the type is one of the condition's.
func (x *expander) holds(condition, typ string) bool {
	return condition == typ || slices.ContainsFunc(x.contract.PossibleTypes[condition], func(def *ast.Definition) bool { return def.Name == typ })
}

// unconditional reports directives: SOAP answers always have the same elements.
func (x *expander) unconditional(list ast.DirectiveList) {
	for _, directive := range list {
		x.at(directive.Position, "remove it, and store an operation for each shape", "@%s in a stored operation: the answers of SOAP always have the same elements", directive.Name)
	}
}

// field merges the selections of one member of the answer.
func (x *expander) field(name string, nodes []*ast.Field) *Selection {
	first := nodes[0]
	for _, arg := range first.Arguments {
		x.use(arg.Value, arg.Name)
	}
	if strings.HasPrefix(first.Name, "__") && first.Name != "__typename" {
		x.at(first.Position, "remove it", "the schema itself, %s, is not shown in SOAP", first.Name)
	}
	s := &Selection{Name: name, Field: first.Name + printArguments(first.Arguments), Type: first.Definition.Type, Description: first.Definition.Description}
	if s.Field == "__typename" {
		s.Type = ast.NonNullNamedType("String", nil)
	}
	s.Deprecated = Deprecation(first.Definition.Directives)
	def := x.contract.Types[s.Type.Name()]
	if def == nil || !def.IsCompositeType() {
		return s
	}
	var sets []ast.SelectionSet
	for _, node := range nodes {
		sets = append(sets, node.SelectionSet)
	}
	if def.Kind == ast.Object {
		s.Fields = x.object(def, sets)
		return s
	}
	for _, member := range x.contract.PossibleTypes[def.Name] {
		s.Members = append(s.Members, Member{Type: member.Name, Key: lowerFirst(member.Name), Description: member.Description, Fields: x.object(member, sets)})
	}
	slices.SortFunc(s.Members, func(a, b Member) int { return strings.Compare(a.Type, b.Type) })
	return s
}

func printArguments(args ast.ArgumentList) string {
	if len(args) == 0 {
		return ""
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg.Name + ": " + printValue(arg.Value)
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// Deprecation is the reason of @deprecated among the directives, empty without one.
func Deprecation(list ast.DirectiveList) string {
	directive := list.ForName("deprecated")
	if directive == nil {
		return ""
	}
	return cmp.Or(stringArg(directive, "reason"), "No longer supported")
}
