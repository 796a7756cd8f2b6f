package schema_test

import (
	"flag"
	"os"
	"testing"

	"tidings/schema"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

const social = "../examples/social"

func TestSocialContractIsUpToDate(t *testing.T) {
	t.Parallel()
	model, err := schema.Load(os.DirFS(social))
	if err != nil {
		t.Fatal(err)
	}
	path := social + "/contract.graphql"
	if *update {
		if err := os.WriteFile(path, []byte(model.SDL), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if model.SDL != string(want) {
		t.Error("contract.graphql differs from what the schema expands to; run go test ./schema -update and review the difference")
	}
}

// signature prints a field of the contract.
func signature(model *schema.Model, typ, field string) string {
	def := model.Contract.Types[typ]
	if def == nil {
		return "no type " + typ
	}
	f := def.Fields.ForName(field)
	if f == nil {
		return "none"
	}
	text := f.Type.String()
	if f.DefaultValue != nil {
		text += " = " + f.DefaultValue.String()
	}
	return text
}

func TestContractFollowsTheRules(t *testing.T) {
	t.Parallel()
	model := load(t, `
		type Note @resource {
			id: ID!
			byId: ID! @owner
			secret: Int! @unique @auth(requires: [ADMIN], on: [READ])
			writeOnce: Int! @auth(requires: [ADMIN], on: [UPDATE])
			size: Size! @default(value: BIG) @index
			when: DateTime @index
			price: Float @index
			done: Boolean @index
			key: UUID @index
			mail: EmailAddress @unique
			count: PositiveInt @index
			plain: String
			text: String! @default(value: "a \"b\" \\ \u0007 é")
			tags: [String!]! @default(value: "one")
			made: DateTime! @timestamp(on: CREATE)
			by: Note @belongsTo(field: "byId")
		}
		enum Size { BIG SMALL }`)
	for place, want := range map[[2]string]string{
		{"Note", "secret"}:                "Int",
		{"Note", "writeOnce"}:             "Int!",
		{"NoteFilter", "secret"}:          "none",
		{"NoteFilter", "plain"}:           "none",
		{"NoteFilter", "size"}:            "SizeFilter",
		{"NoteFilter", "when"}:            "DateTimeFilter",
		{"NoteFilter", "price"}:           "FloatFilter",
		{"NoteFilter", "done"}:            "BooleanFilter",
		{"NoteFilter", "key"}:             "UUIDFilter",
		{"NoteFilter", "mail"}:            "StringFilter",
		{"NoteFilter", "count"}:           "IntFilter",
		{"NoteFilter", "byId"}:            "IDFilter",
		{"NoteFilter", "not"}:             "NoteFilter",
		{"CreateNoteInput", "id"}:         "none",
		{"CreateNoteInput", "byId"}:       "ID",
		{"CreateNoteInput", "secret"}:     "Int!",
		{"CreateNoteInput", "size"}:       "Size! = BIG",
		{"CreateNoteInput", "tags"}:       "[String!]! = [\"one\"]",
		{"CreateNoteInput", "made"}:       "none",
		{"CreateNoteInput", "by"}:         "none",
		{"UpdateNoteInput", "id"}:         "ID!",
		{"UpdateNoteInput", "size"}:       "Size",
		{"UpdateNoteInput", "byId"}:       "ID",
		{"UpdateNoteInput", "made"}:       "none",
		{"NoteChange", "note"}:            "Note",
		{"Query", "notes"}:                "NoteConnection",
		{"Subscription", "noteChanged"}:   "NoteChange!",
		{"StringFilter", "between"}:       "[String!]",
		{"BooleanFilter", "in"}:           "none",
		{"IDFilter", "lt"}:                "none",
		{"NoteOrder", "direction"}:        "OrderDirection! = ASC",
		{"NoteConnection", "totalCount"}:  "Int!",
		{"NoteEdge", "node"}:              "Note!",
		{"DeleteNoteInput", "id"}:         "ID!",
		{"PageInfo", "hasPreviousPage"}:   "Boolean!",
		{"__Type", "fields"}:              "[__Field!]",
		{"Query", "__schema"}:             "__Schema!",
		{"CreateNoteInput", "constraint"}: "none",
	} {
		if got := signature(model, place[0], place[1]); got != want {
			t.Errorf("%s.%s is %s, want %s", place[0], place[1], got, want)
		}
	}
	text := model.Contract.Types["CreateNoteInput"].Fields.ForName("text").DefaultValue
	if want := "a \"b\" \\ \a é"; text.Raw != want {
		t.Errorf("a default is printed as another one: %q, want %q", text.Raw, want)
	}
	order := model.Contract.Types["NoteOrderField"].EnumValues
	if order.ForName("secret") != nil || order.ForName("when") == nil {
		t.Error("the fields to order by are wrong")
	}
	for _, ours := range []string{"resource", "owner", "unique", "index", "default", "timestamp", "belongsTo", "hasMany", "defer"} {
		if model.Contract.Directives[ours] != nil {
			t.Errorf("the contract shows @%s", ours)
		}
	}
}

func TestContractKeepsWhatWasWrittenByHand(t *testing.T) {
	t.Parallel()
	model := load(t, `
		directive @mark(at: DateTime) on FIELD_DEFINITION
		type Subscription { "Counts." count(target: Int = 10): Int! @mark(at: "2026-01-01T00:00:00Z") }
		type Query {
			"""My own words."""
			note("Which." id: ID!): Note @deprecated(reason: "old")
			place(at: Point = {x: 1}): Place
		}
		input Point { x: Int! y: Float = 0.5 }
		interface Named { name: String! }
		type Place implements Named { name: String! kind: Any }
		union Any = Place | Note
		scalar Colour @specifiedBy(url: "https://example.org/colour")
		type Note @resource { id: ID! text: String @deprecated }`)
	if got := signature(model, "Subscription", "count"); got != "Int!" || model.Root("Subscription", "count") != nil {
		t.Errorf("count is %s", got)
	}
	if arg := model.Contract.Subscription.Fields.ForName("count").Arguments.ForName("target"); arg.DefaultValue.Raw != "10" {
		t.Error("an argument's default is lost")
	}
	note := model.Contract.Query.Fields.ForName("note")
	if note.Description != "My own words." || note.Arguments[0].Description != "Which." || note.Directives.ForName("deprecated") == nil {
		t.Errorf("a generated field that was declared by hand is printed as %+v", note)
	}
	if model.Root("Query", "note") == nil {
		t.Error("a generated field that was declared by hand lost what it does")
	}
	if model.Contract.Types["Colour"].Directives.ForName("specifiedBy") == nil || model.Contract.Directives["mark"] == nil {
		t.Error("a declaration is lost")
	}
}

func TestDescriptionsSurviveThePrinter(t *testing.T) {
	t.Parallel()
	for _, literal := range []string{
		`"plain"`, `"two\nlines"`, `"ends with a quote\""`, `"ends with a backslash\\"`, `"has \"\"\" inside"`, `" leading"`, `"trailing "`,
		`"\n"`, `"a\n\nb"`, `"a\n  b"`, `"a\r\nb"`, `"a\n"`, `"tab\there"`, `"bell\u0007"`, `"\\\""`, `"\\\\"`, `"é 😀 \u2028"`, `"# no comment"`,
		"\"\"\"\n  indented\n    more\n\"\"\"", `"""one \""" two"""`, `"<a href=\"x\">&amp;"`,
	} {
		model := load(t, literal+" type Note @resource { id: ID! text: String }")
		want := model.Resource("Note").Description
		if got := model.Contract.Types["Note"].Description; got != want {
			t.Errorf("%s: %q is printed as %q", literal, want, got)
		}
	}
}
