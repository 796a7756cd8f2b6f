package schema_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/schema"
)

const diffBase = `
type Note @resource
  @auth(requires: [ANYONE], on: [READ])
  @auth(requires: [USER], on: [CREATE])
  @auth(requires: [OWNER, ADMIN], on: [UPDATE, DELETE]) {
  id: ID!
  byId: ID! @owner
  text: String! @constraint(minLength: 1, maxLength: 100, startsWith: "note ", pattern: "x")
  price: Float @constraint(min: 0, multipleOf: 0.5)
  hidden: String @auth(requires: [ADMIN])
}

extend type Query {
  report: String @auth(requires: [ADMIN, SERVICE])
  open: String
}
`

func TestAChangeOfARuleIsToldByWhatItMeansToCallers(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, new, want string }{
		{"fewer may", "[ANYONE], on: [READ]", "[USER], on: [READ]", "BREAKING AUTH_NARROWED Note"},
		{"more may", "[USER], on: [CREATE]", "[USER, SERVICE], on: [CREATE]", "SAFE AUTH_WIDENED Note"},
		{"others may", "[USER], on: [CREATE]", "[SERVICE], on: [CREATE]", "BREAKING AUTH_NARROWED Note, SAFE AUTH_WIDENED Note"},
		{"everybody may, who was named", "[USER], on: [CREATE]", "[ANYONE], on: [CREATE]", "SAFE AUTH_WIDENED Note"},
		{"a rule is gone: ADMIN and SERVICE are left", "@auth(requires: [USER], on: [CREATE])", "", "BREAKING AUTH_NARROWED Note, SAFE AUTH_WIDENED Note"},
		{"another order", "[OWNER, ADMIN]", "[ADMIN, OWNER]", ""},
		{"two directives for one", "@auth(requires: [OWNER, ADMIN], on: [UPDATE, DELETE])", "@auth(requires: [OWNER], on: [UPDATE, DELETE]) @auth(requires: [ADMIN], on: [DELETE, UPDATE])", ""},
		{"a field is freed", "hidden: String @auth(requires: [ADMIN])", "hidden: String", "SAFE AUTH_WIDENED Note.hidden"},
		{"a field is protected", "price: Float ", "price: Float @auth(requires: [OWNER]) ", "BREAKING AUTH_NARROWED Note.price"},
		{"a root field is for fewer", "[ADMIN, SERVICE]", "[ADMIN]", "BREAKING AUTH_NARROWED Query.report"},
		{"a root field gets a rule", "open: String", "open: String @auth(requires: [USER])", "BREAKING AUTH_NARROWED Query.open"},
		{"a root field loses its rule", " @auth(requires: [ADMIN, SERVICE])", "", "SAFE AUTH_WIDENED Query.report"},

		{"a shorter text", "maxLength: 100", "maxLength: 99", "BREAKING CONSTRAINT_NARROWED CreateNoteInput.text, BREAKING CONSTRAINT_NARROWED UpdateNoteInput.text"},
		{"a longer text", "maxLength: 100", "maxLength: 101", "SAFE CONSTRAINT_WIDENED CreateNoteInput.text, SAFE CONSTRAINT_WIDENED UpdateNoteInput.text"},
		{"less to begin with", `"note "`, `"no"`, "SAFE CONSTRAINT_WIDENED CreateNoteInput.text, SAFE CONSTRAINT_WIDENED UpdateNoteInput.text"},
		{"another pattern", `"x"`, `"[x]"`, "BREAKING CONSTRAINT_NARROWED CreateNoteInput.text, BREAKING CONSTRAINT_NARROWED UpdateNoteInput.text"},
		{"a finer step", "multipleOf: 0.5", "multipleOf: 0.25", "SAFE CONSTRAINT_WIDENED CreateNoteInput.price, SAFE CONSTRAINT_WIDENED UpdateNoteInput.price"},
		{"no rule at all", " @constraint(min: 0, multipleOf: 0.5)", "", "SAFE CONSTRAINT_WIDENED CreateNoteInput.price, SAFE CONSTRAINT_WIDENED UpdateNoteInput.price"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(diffBase, test.old, test.new, 1)
			if changed == diffBase {
				t.Fatal("nothing was changed")
			}
			var got []string
			for _, c := range schema.Diff(contract(t, diffBase), contract(t, changed)) {
				if strings.HasPrefix(c.Kind, "AUTH") || strings.HasPrefix(c.Kind, "CONSTRAINT") || c.Class != schema.Safe {
					got = append(got, c.Class.String()+" "+c.Kind+" "+c.Coordinate)
				}
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestChangesAreSortedByClassAndToldInSentences(t *testing.T) {
	t.Parallel()
	changed := strings.NewReplacer("hidden: String", "shown: Int", "[ANYONE], on: [READ]", "[USER], on: [READ]").Replace(diffBase)
	changes := schema.Diff(contract(t, diffBase), contract(t, changed))
	class := schema.Breaking
	for _, c := range changes {
		if c.Class < class {
			t.Errorf("%v comes after %v", c, class)
		}
		class = c.Class
		if !strings.HasSuffix(c.Message, ".") {
			t.Errorf("no sentence: %q", c.Message)
		}
	}
	if len(changes) == 0 || changes[0].Message != "The field hidden was removed from CreateNoteInput." {
		t.Errorf("got %v", changes)
	}
}

func TestAPrintedContractIsTheContract(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(diffBase)}})
	if err != nil {
		t.Fatal(err)
	}
	printed, err := schema.LoadContract("contract.graphql", m.SDL)
	if err != nil {
		t.Fatal(err)
	}
	if changes := schema.Diff(m.Contract, printed); len(changes) > 0 {
		t.Errorf("printing changed %v", changes)
	}
}

func TestAFileThatIsNoContractIsRefusedWithItsRemedy(t *testing.T) {
	t.Parallel()
	for _, text := range []string{diffBase, "type Query {", "\xff", strings.Repeat("[", 100)} {
		_, err := schema.LoadContract("old.graphql", text)
		if err == nil || !strings.Contains(err.Error(), "old.graphql") {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
}

func contract(t *testing.T, sdl string) *ast.Schema {
	t.Helper()
	m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}})
	if err != nil {
		t.Fatal(err)
	}
	return m.Contract
}

func FuzzDiff(f *testing.F) {
	f.Add("type Query { a: Int }", "type Query { a(x: [Int!] = [1]): Int! }")
	f.Add("type Query { a: Int } enum E { A } input I { x: E = A }", "type Query { a: Int } enum E { B } input I @oneOf { x: E }")
	f.Add("type Query { a: Int } interface I { a: Int } type A implements I { a: Int } union U = A", "type Query { a: Int } union A = Query directive @d(x: Int) repeatable on FIELD")
	f.Fuzz(func(t *testing.T, a, b string) {
		old, err := schema.LoadContract("old", a)
		if err != nil {
			return
		}
		if changes := schema.Diff(old, old); len(changes) > 0 {
			t.Errorf("a contract differs from itself: %v", changes)
		}
		if after, err := schema.LoadContract("new", b); err == nil {
			schema.Diff(old, after)
		}
	})
}
