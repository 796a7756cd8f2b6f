package soap_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"tidings/schema"
	"tidings/soap"
)

// For any schema: the WSDL keeps the profile, every answer that GraphQL could give
// to an operation's document is one that the WSDL declares, every request that the
// WSDL allows is read, and a lock holds all of it.
func TestAnySchemaAndItsAnswersFitTheWSDL(t *testing.T) {
	t.Parallel()
	const schemas = 6
	served := 0
	for seed := range uint64(schemas) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7))}
		sdl := g.sdl()
		m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(sdl)}})
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, sdl)
		}
		operations := g.operations(m.Contract)
		if m, err = schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(sdl)}, "o.graphql": {Data: []byte(operations)}}); err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, operations)
		}
		text, err := soap.WSDL(m, options, seed%2 == 0)
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, sdl)
		}
		served++
		checkProfile(t, fmt.Sprint("seed ", seed), text)
		g.answers(t, m, schemaOf(t, text))
		l := lockOf(t, m, "v1")
		for _, b := range l.Check(m) {
			t.Errorf("seed %d: the schema breaks its own lock: %v", seed, b)
		}
		if again, err := soap.ParseLock(l.Text()); err != nil || !bytes.Equal(again.Text(), l.Text()) {
			t.Errorf("seed %d: a lock that is read is another one: %v", seed, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s\n%s", seed, sdl, operations)
		}
	}
	if served < schemas {
		t.Errorf("%d of %d schemas were served", served, schemas)
	}
}

// generator makes schemas, and values of their types.
type generator struct {
	*rand.Rand
	aliases int
}

func (g *generator) one(words ...string) string { return words[g.IntN(len(words))] }
func (g *generator) maybe(text string) string {
	if g.IntN(3) == 0 {
		return text
	}
	return ""
}

// wrap makes lists of a type, and marks what is never null.
func (g *generator) wrap(typ string) string {
	typ += g.maybe("!")
	for range g.IntN(3) * g.IntN(2) {
		typ = "[" + typ + "]" + g.maybe("!")
	}
	return typ
}

const (
	randomEnums   = 3
	randomObjects = 4
	randomRecords = 3
	randomPlain   = 3
	randomInputs  = 3
)

func (g *generator) leaf() string {
	return g.one("String", "ID", "Int", "Float", "Boolean", "DateTime", "Date", "UUID", "URL", "EmailAddress", "PositiveInt", "JSON", "E0", "E1", "E2")
}

// nullable drops what must be there, for types that lead to others.
func nullable(typ string) string { return strings.ReplaceAll(typ, "!", "") }

func (g *generator) sdl() string {
	var b strings.Builder
	for i := range randomEnums {
		fmt.Fprintf(&b, "enum E%d %s{ A%d B%d @deprecated }\n", i, g.maybe("@soap(openEnum: true) "), i, i)
	}
	fmt.Fprintln(&b, "interface I { shared: Int }\nunion U = O0 | O1")
	for i := range randomObjects {
		fmt.Fprintf(&b, "type O%d implements I { shared: Int leaf: %s name: String!", i, g.wrap(g.leaf()))
		for j := range g.IntN(3) {
			fmt.Fprintf(&b, " o%d: %s", j, nullable(g.wrap(g.one("O0", "O1", "O2", "O3", "U", "I"))))
		}
		fmt.Fprintln(&b, " }")
	}
	for i := range randomRecords {
		fmt.Fprintf(&b, "type R%d @resource @auth(requires: [ANYONE]) %s{ id: ID! text: String! inner: %s %s", i, g.maybe("@soap(expose: false) "), g.wrap("O0"), g.maybe("own: U "))
		for j := range 4 {
			fmt.Fprintf(&b, " f%d: %s%s", j, nullable(g.wrap(g.leaf())), g.one("", "", " @auth(requires: [ADMIN], on: [READ])", " @soap(expose: false)", fmt.Sprintf(` @soap(name: "named%d")`, j)))
		}
		next := (i + 1 + g.IntN(randomRecords)) % randomRecords
		include := ""
		if next > i { // never around
			include = g.maybe(" @soap(include: true)")
		}
		fmt.Fprintf(&b, " nextId: ID next: R%d @belongsTo(field: \"nextId\")%s list(limit: Int = 3): [R%d!]%s @hasMany(field: \"nextId\")%s }\n",
			next, include, next, g.maybe("!"), g.maybe(" @soap(include: true)"))
	}
	for i := range randomPlain {
		fmt.Fprintf(&b, "type P%d { leaf: %s", i, g.wrap(g.leaf()))
		for j := range 4 {
			fmt.Fprintf(&b, " p%d%s: %s", j, g.one("", "(a: Int)", "(a: Int!)", "(a: Int! = 1)"), g.wrap(g.one("P0", "P1", "P2", "O0", "U", "I", "R0", "R1", "R2", "R0Connection")))
		}
		fmt.Fprintln(&b, " }")
	}
	for i := range randomInputs {
		oneOf := g.IntN(3) == 0
		fmt.Fprintf(&b, "input N%d %s{ leaf: %s", i, map[bool]string{true: "@oneOf "}[oneOf], nullable(g.wrap(g.leaf())))
		for j := range 3 {
			typ := nullable(g.wrap(g.one("N0", "N1", "N2", "Int", "E0", "String")))
			if !oneOf && g.IntN(3) == 0 {
				typ = "Int! = 3"
			}
			fmt.Fprintf(&b, " n%d: %s", j, typ)
		}
		fmt.Fprintln(&b, " }")
	}
	for _, root := range []string{"Query", "Mutation"} {
		fmt.Fprintf(&b, "type %s {", root)
		for j := range 5 {
			args := ""
			if g.IntN(2) == 0 {
				args = fmt.Sprintf("(x: %s, y: %s, z: Int! = 2)", g.wrap(g.one("N0", "N1", "N2")), g.wrap(g.leaf()))
			}
			fmt.Fprintf(&b, " own%s%d%s: %s", root, j, args, g.wrap(g.one("P0", "P1", "P2", "O1", "U", "I", "R0", "R1", "R0Connection", g.leaf(), g.leaf())))
		}
		fmt.Fprintln(&b, " }")
	}
	return b.String()
}

// operations stores some for a contract.
func (g *generator) operations(contract *schema.Contract) string {
	var b strings.Builder
	for i := range 4 {
		var declared, fields []string
		for range 1 + g.IntN(2) {
			root := contract.Query
			f := root.Fields[g.IntN(len(root.Fields))]
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			fields = append(fields, g.selection(contract, f, &declared, 3))
		}
		if len(fields) == 0 {
			continue
		}
		variables := ""
		if len(declared) > 0 {
			variables = "(" + strings.Join(declared, ", ") + ")"
		}
		fmt.Fprintf(&b, "query Stored%d%s @soap { %s }\n", i, variables, strings.Join(fields, " "))
	}
	return b.String() + "query Plain @soap { __typename }\n"
}

// selection selects a field under a name of its own.
func (g *generator) selection(contract *schema.Contract, f *schema.FieldDefinition, declared *[]string, depth int) string {
	g.aliases++
	text := fmt.Sprintf("a%d: %s", g.aliases, f.Name)
	var args []string
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil {
			*declared = append(*declared, fmt.Sprintf("$v%d%s: %s", g.aliases, a.Name, a.Type))
			args = append(args, fmt.Sprintf("%s: $v%d%s", a.Name, g.aliases, a.Name))
		}
	}
	if len(args) > 0 {
		text += "(" + strings.Join(args, ", ") + ")"
	}
	def := contract.Types[f.Type.Name()]
	if def.IsLeafType() {
		return text
	}
	return text + " { __typename " + g.selections(contract, def, declared, depth-1) + " }"
}

func (g *generator) selections(contract *schema.Contract, def *schema.Definition, declared *[]string, depth int) string {
	var words []string
	for _, f := range def.Fields {
		if strings.HasPrefix(f.Name, "__") || g.IntN(2) == 0 || depth == 0 && !contract.Types[f.Type.Name()].IsLeafType() {
			continue
		}
		words = append(words, g.selection(contract, f, declared, depth))
	}
	if def.Kind != ast.Object {
		for _, member := range contract.PossibleTypes[def.Name] {
			if g.IntN(2) == 0 {
				words = append(words, "... on "+member.Name+" { __typename "+g.selections(contract, member, declared, depth)+" }")
			}
		}
	}
	return strings.Join(words, " ")
}

// answers lets GraphQL answer every operation, and holds what the codec makes of it
// against the WSDL; and lets the codec read what the WSDL allows.
func (g *generator) answers(t *testing.T, m *schema.Model, xsd *xsdSet) {
	t.Helper()
	documents, err := soap.Documents(m)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := soap.NewCodec(m)
	if err != nil {
		t.Fatal(err)
	}
	for name, document := range documents {
		doc, errs := gqlparser.LoadQueryWithRules(m.Contract, document, rules.NewDefaultRules())
		if errs != nil {
			t.Fatalf("%s: %v", document, errs)
		}
		for range 3 {
			response := g.response(m, doc.Operations[0])
			answer, err := codec.Encode(name, response)
			if err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, document, response)
				continue
			}
			xsd.validAnswer(t, answer)
			request := xsd.request(g, name)
			got, variables, err := codec.Decode([]byte(request), "text/xml")
			if err != nil || got != name || !json.Valid(variables) {
				t.Errorf("%s: %v, %s of\n%s", name, err, variables, request)
			}
		}
	}
}

// response is what an engine could answer to an operation.
func (g *generator) response(m *schema.Model, op *ast.OperationDefinition) []byte {
	root, typ := m.Contract.Query, "Query"
	if op.Operation == ast.Mutation {
		root, typ = m.Contract.Mutation, "Mutation"
	}
	var b bytes.Buffer
	b.WriteString(`{"data":{`)
	for i, sel := range op.SelectionSet {
		f := sel.(*ast.Field)
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", f.Alias)
		at := *f.Definition.Type
		if m.Root(typ, f.Name) != nil { // null only with an error
			at.NonNull = true
		}
		g.value(&b, m.Contract, f.SelectionSet, root, f, &at)
	}
	b.WriteString("}}")
	return b.Bytes()
}

func (g *generator) value(b *bytes.Buffer, contract *schema.Contract, set ast.SelectionSet, parent *schema.Definition, f *ast.Field, t *schema.Type) {
	def := contract.Types[t.Name()]
	switch {
	case f.Name == "__typename":
		fmt.Fprintf(b, "%q", parent.Name)
	case !t.NonNull && g.IntN(3) == 0:
		b.WriteString("null")
	case t.Elem != nil:
		b.WriteByte('[')
		for i := range g.IntN(3) {
			if i > 0 {
				b.WriteByte(',')
			}
			g.value(b, contract, set, parent, f, t.Elem)
		}
		b.WriteByte(']')
	case def.IsLeafType():
		b.WriteString(g.json(def))
	default:
		if def.Kind != ast.Object {
			members := contract.PossibleTypes[def.Name]
			def = members[g.IntN(len(members))]
		}
		b.WriteByte('{')
		g.members(b, contract, set, def, map[string]bool{})
		b.WriteByte('}')
	}
}

func (g *generator) members(b *bytes.Buffer, contract *schema.Contract, set ast.SelectionSet, def *schema.Definition, seen map[string]bool) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.InlineFragment:
			if sel.TypeCondition == def.Name {
				g.members(b, contract, sel.SelectionSet, def, seen)
			}
		case *ast.Field:
			if seen[sel.Alias] {
				continue
			}
			if len(seen) > 0 {
				b.WriteByte(',')
			}
			seen[sel.Alias] = true
			fmt.Fprintf(b, "%q:", sel.Alias)
			g.value(b, contract, sel.SelectionSet, def, sel, sel.Definition.Type)
		}
	}
}

// json is a value of a scalar or an enum.
func (g *generator) json(def *schema.Definition) string {
	if def.Kind == ast.Enum {
		return `"` + def.EnumValues[g.IntN(len(def.EnumValues))].Name + `"`
	}
	return map[string]string{
		"Int": g.one("0", "-7", "2147483647"), "PositiveInt": "3", "Float": g.one("1.5", "-2", "1e-7", "1e+30"), "Boolean": g.one("true", "false"),
		"DateTime": g.one(`"2026-11-20T08:00:00Z"`, `"2026-11-20T08:00:00.123456789Z"`), "Date": `"2026-11-20"`, "UUID": `"0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55"`,
		"URL": `"https://a.example/?a&b"`, "EmailAddress": `"a@example.com"`, "JSON": g.one(`{"a":[1,"<"]}`, `"x"`, "7", "true", "[]"),
		"ID": `"1"`, "String": g.one(`"a\"<b>&\n\u0001"`, `""`), "Cursor": `"c"`,
	}[def.Name]
}

// request is an envelope that the WSDL allows.
func (s *xsdSet) request(g *generator, operation string) string {
	var b strings.Builder
	b.WriteString(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService" xmlns:xsi="` + nsXSI + `"><s:Body>`)
	s.element(&b, g, s.elements[operation])
	b.WriteString("</s:Body></s:Envelope>")
	return b.String()
}

func (s *xsdSet) element(b *strings.Builder, g *generator, e *node) {
	name := e.attr("name")
	if e.attr("nillable") == "true" && e.attr("minOccurs") == "0" && g.IntN(3) == 0 {
		b.WriteString("<" + name + ` xsi:nil="true"/>`)
		return
	}
	b.WriteString("<" + name + ">")
	typ := s.types[e.qname(e.attr("type")).Local]
	if inline := e.named(nsXSD, "complexType"); len(inline) > 0 {
		typ = inline[0]
	}
	switch {
	case typ == nil:
		b.WriteString(s.text(g, e.qname(e.attr("type")).Local))
	case typ.Local == "simpleType":
		restriction := typ.named(nsXSD, "restriction")[0]
		if values := restriction.named(nsXSD, "enumeration"); len(values) > 0 {
			b.WriteString(values[g.IntN(len(values))].attr("value"))
		} else {
			b.WriteString(s.text(g, restriction.qname(restriction.attr("base")).Local))
		}
	default:
		for _, child := range typ.named(nsXSD, "sequence")[0].named(nsXSD, "element") {
			switch {
			case child.attr("name") == "fieldsToNull":
			case child.attr("maxOccurs") == "unbounded":
				for range g.IntN(3) {
					s.element(b, g, child)
				}
			case child.attr("minOccurs") != "0" || g.IntN(2) == 0:
				s.element(b, g, child)
			}
		}
	}
	b.WriteString("</" + name + ">")
}

func (s *xsdSet) text(g *generator, typ string) string {
	return map[string]string{
		"string": "7", "int": g.one("+5", "-0", "007"), "double": g.one(".5", "1e3"), "boolean": g.one("1", "false"),
		"dateTime": "2026-11-20T08:00:00+02:00", "date": "2026-11-20",
	}[typ]
}
