//go:build conformance

package graphqljs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
)

// TestRandomDocumentsAreTheSame compares documents that a seeded generator
// makes from the contract: most are right, some are not.
func TestRandomDocumentsAreTheSame(t *testing.T) { compareRandom(t, newRig(t), 4000, 5) }

// compareRandom makes the same documents each time, unless the environment names
// another RANDOM_SEED; RANDOM_DOCUMENTS says how many.
func compareRandom(t *testing.T, r *rig, documents, depth int) {
	t.Helper()
	seed := number(t, "RANDOM_SEED", 20261120)
	documents = int(number(t, "RANDOM_DOCUMENTS", uint64(documents)))
	g := &generator{depth: depth, Rand: rand.New(rand.NewPCG(seed, 0)), schema: r.model.Contract, names: strings.NewReplacer(r.names...)}
	requests := make([]request, documents)
	for i := range requests {
		requests[i] = g.request(i)
	}
	ref := r.ask(t, requests, nil)
	refused, partial, stricter, shown := 0, 0, 0, 0
	for i, req := range requests {
		got, body := r.run(t, req)
		if ref.Results[i].Executed && !got.Executed && specified.Match(body) {
			stricter++
			continue
		}
		switch {
		case !got.Executed:
			refused++
		case len(got.Errors) > 0:
			partial++
		}
		if diff := difference(got, ref.Results[i]); diff != "" {
			if shown++; shown <= 5 {
				want, _ := json.Marshal(ref.Results[i])
				t.Errorf("document %d as %s: %s\n%s\n%s\nours      %s\nreference %s", i, req.as, diff, req.Query, req.Variables, body, want)
			}
		}
	}
	t.Logf("%d documents: %d refused, %d with errors of fields, %d refused by us alone on purpose, %d differ", documents, refused, partial, stricter, shown)
	if refused < documents/20 || refused > documents/2 || partial < documents/20 {
		t.Error("the generator makes too few or too many wrong documents to be of use")
	}
}

// specified is what the specification refuses and graphql-js lets pass: a
// __typename that meets a field of another shape under one name, and a variable
// that may be null in a @oneOf input that is an item of a list.
var specified = regexp.MustCompile(`conflict because they return conflicting types .* and String\.|must be non-nullable to be used for OneOf`)

// number reads a setting of the test from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, set := os.LookupEnv(name)
	if !set {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		t.Fatalf("%s=%s: want a number from 1 on", name, text)
	}
	return n
}

// generator makes documents within the limits of the engine.
type generator struct {
	*rand.Rand
	schema    *ast.Schema
	names     *strings.Replacer
	variables map[string]string // name to type
	fragments []string
	aliases   int
	roots     int
	depth     int  // of selections
	noCursor  bool // cursors of this order are not known to the reference
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func choose[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) request(i int) request {
	g.variables, g.fragments, g.aliases, g.roots = map[string]string{}, nil, 0, 0
	body := g.selections(g.schema.Query, g.depth)
	head := "query"
	if len(g.variables) > 0 {
		head += "("
		for _, name := range []string{"b", "c", "i", "s", "k", "e"} {
			if typ, used := g.variables[name]; used {
				head += "$" + name + ": " + typ + " "
			}
		}
		head += ")"
	}
	return request{
		name:      fmt.Sprint("random ", i),
		as:        choose(g, "nobody", "ada", "ben", "admin", "partner"),
		Query:     g.names.Replace(head + " " + body + strings.Join(g.fragments, "")),
		Variables: g.values(),
	}
}

// values gives the variables values, now and then a wrong one.
func (g *generator) values() json.RawMessage {
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(g.variables)) {
		switch name {
		case "b", "c":
			values[name] = g.chance(50)
		case "i":
			values[name] = choose[any](g, 1, 2, 3, nil, 2.0, 101, -1)
		case "s":
			values[name] = choose[any](g, "Name B", "Title 1", "", nil)
		case "k":
			values[name] = choose[any](g, "NOTE", "LINK", nil)
		case "e":
			values[name] = choose[any](g, []any{"NOTE"}, "LINK", nil, []any{})
		}
		if g.chance(3) {
			values[name] = choose[any](g, "x", 1.5, true, map[string]any{}, []any{1})
		}
		if g.chance(5) {
			delete(values, name)
		}
	}
	raw, _ := json.Marshal(values)
	return raw
}

func (g *generator) selections(def *ast.Definition, depth int) string {
	var b strings.Builder
	b.WriteString("{ ")
	written := 0
	for n := 1 + g.IntN(5); n > 0; n-- {
		part := g.selection(def, depth)
		if part != "" {
			written++
		}
		b.WriteString(part)
	}
	if written == 0 {
		b.WriteString("__typename ")
	}
	b.WriteString("} ")
	return b.String()
}

func (g *generator) selection(def *ast.Definition, depth int) string {
	switch {
	case g.chance(8):
		return "... " + choose(g, "", "on "+def.Name+" ") + g.condition() + g.selections(def, depth)
	case g.chance(6) && len(g.fragments) < 6:
		name := fmt.Sprintf("F%d", len(g.fragments))
		at := len(g.fragments)
		g.fragments = append(g.fragments, "") // reserved: the selections below may add others
		g.fragments[at] = "fragment " + name + " on " + def.Name + " " + g.selections(def, depth)
		return "..." + name + " " + g.condition()
	case g.chance(8):
		return g.alias() + "__typename " + g.condition()
	case g.IntN(700) == 0:
		return "nope "
	case def == g.schema.Query && g.roots > 15:
		return ""
	case def == g.schema.Query:
		g.roots++
	}
	if def.IsAbstractType() && (len(def.Fields) == 0 || g.chance(40)) {
		return g.narrowed(def, depth)
	}
	f := def.Fields[g.IntN(len(def.Fields))]
	if strings.HasPrefix(f.Name, "__") || g.noCursor && strings.Contains(strings.ToLower(f.Name), "cursor") {
		return ""
	}
	target := g.schema.Types[f.Type.Name()]
	if target.IsLeafType() {
		args := g.arguments(f)
		return g.apart(args) + f.Name + args + " " + g.condition()
	}
	if depth == 0 {
		return ""
	}
	was := g.noCursor
	args := g.arguments(f)
	g.noCursor = was && !strings.HasSuffix(target.Name, "Connection") || strings.Contains(args, "orderBy")
	text := g.apart(args) + f.Name + args + " " + g.condition() + g.selections(target, depth-1)
	g.noCursor = was
	return text
}

// narrowed selects of one type, or now and then of another abstract one, that an
// interface or a union has.
func (g *generator) narrowed(def *ast.Definition, depth int) string {
	if depth == 0 {
		return "__typename "
	}
	possible := g.schema.GetPossibleTypes(def)
	to := possible[g.IntN(len(possible))]
	if names := to.Interfaces; len(names) > 0 && g.chance(30) {
		to = g.schema.Types[names[g.IntN(len(names))]]
	}
	return "... on " + to.Name + " " + g.condition() + g.selections(to, depth-1)
}

func (g *generator) alias() string {
	if g.aliases >= 12 || !g.chance(4*(g.depth-2)) { // where types meet, names conflict
		return ""
	}
	g.aliases++
	return choose(g, "a", "b", "c", "d", "e", "f", "id", "name") + ": "
}

// apart gives most fields with arguments a name of their own, since others of
// the same name would conflict.
func (g *generator) apart(args string) string {
	if args == "" || g.aliases >= 24 || g.chance(15) {
		return g.alias()
	}
	g.aliases++
	return fmt.Sprintf("x%d: ", g.aliases)
}

func (g *generator) condition() string {
	if !g.chance(10) {
		return ""
	}
	on := choose(g, "true", "false", "$b", "$c")
	switch on {
	case "$b":
		g.variables["b"] = "Boolean!"
	case "$c":
		g.variables["c"] = "Boolean! = true"
	}
	return "@" + choose(g, "skip", "include") + "(if: " + on + ") "
}

func (g *generator) arguments(f *ast.FieldDefinition) string {
	var args []string
	for _, def := range f.Arguments {
		if !def.Type.NonNull && !g.chance(20) {
			continue
		}
		if value := g.value(def.Type, 2); value != "" {
			args = append(args, def.Name+": "+value)
		}
	}
	if len(args) == 0 {
		return ""
	}
	return "(" + strings.Join(args, ", ") + ")"
}

func (g *generator) value(typ *ast.Type, depth int) string {
	switch {
	case !typ.NonNull && g.chance(4):
		return "null"
	case g.IntN(300) == 0:
		return choose(g, `"x"`, "1.5", "[]", "{}", "NOPE", "null")
	case typ.Elem != nil && g.chance(80):
		items := make([]string, g.IntN(3))
		for i := range items {
			items[i] = g.value(typ.Elem, depth)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case typ.Elem != nil:
		return g.value(typ.Elem, depth)
	}
	switch def := g.schema.Types[typ.NamedType]; def.Kind {
	case ast.Enum:
		if def.Name == "PostKind" && g.chance(20) {
			g.variables["k"] = "PostKind"
			return "$k"
		}
		return def.EnumValues[g.IntN(len(def.EnumValues))].Name
	case ast.InputObject:
		return g.object(def, depth)
	}
	return g.scalar(typ)
}

func (g *generator) object(def *ast.Definition, depth int) string {
	if def.Directives.ForName("oneOf") != nil && g.chance(95) {
		f := def.Fields[g.IntN(len(def.Fields))]
		if depth <= 0 {
			f = def.Fields[0]
		}
		strict := *f.Type
		strict.NonNull = true
		return "{" + f.Name + ": " + g.value(&strict, depth-1) + "}"
	}
	var fields []string
	for _, f := range def.Fields {
		composite := g.schema.Types[f.Type.Name()].Kind == ast.InputObject
		if f.Type.NonNull && f.DefaultValue == nil || g.chance(25) && (!composite || depth > 0) {
			if f.Name == "between" || f.Name == "notIn" || f.Name == "in" { // bounds and nulls are the view's affair
				fields = append(fields, f.Name+": "+g.list(f.Type.Elem))
				continue
			}
			fields = append(fields, f.Name+": "+g.value(f.Type, depth-1))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (g *generator) list(elem *ast.Type) string {
	return "[" + g.strict(elem) + ", " + g.strict(elem) + "]"
}

func (g *generator) strict(typ *ast.Type) string {
	if def := g.schema.Types[typ.NamedType]; def.Kind == ast.Enum {
		return def.EnumValues[g.IntN(len(def.EnumValues))].Name
	}
	return g.scalar(&ast.Type{NamedType: typ.NamedType, NonNull: true})
}

func (g *generator) scalar(typ *ast.Type) string {
	switch typ.NamedType {
	case "Int":
		if !typ.NonNull && g.chance(20) {
			g.variables["i"] = "Int"
			return "$i"
		}
		return choose(g, "1", "2", "3", "20", "0", "100")
	case "Float":
		return choose(g, "1", "0.5", "-2e3")
	case "Boolean":
		return choose(g, "true", "false")
	case "ID":
		return choose(g, `"ada"`, `"ben"`, `"cleo"`, `"nobody"`, `"{{post1}}"`, `"{{post5}}"`, `"{{follow2}}"`, "7")
	case "PositiveInt":
		return choose(g, "1", "5")
	case "Date":
		return choose(g, `"2026-01-02"`, `"2025-01-02"`, `"1999-12-31"`)
	case "JSON", "Money", "Opaque":
		return choose(g, `{a: [1, "x", E], b: null}`, "1.5", `"text"`, "[]", "[[true]]", "ENUM")
	case "DateTime":
		return `"2026-01-02T03:04:05Z"`
	case "URL":
		return `"https://example.org/"`
	case "EmailAddress":
		return `"a@example.org"`
	case "UUID":
		return `"0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55"`
	}
	if !typ.NonNull && g.chance(15) {
		g.variables["s"] = "String"
		return "$s"
	}
	return choose(g, `"Name A"`, `"Name"`, `"Title 1"`, `""`, `"é"`, `"{{changed-post3}}"`, `"{{changed-user1}}"`, `"{{changed-follow8}}"`)
}
