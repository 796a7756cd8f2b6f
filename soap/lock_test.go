package soap_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/schema"
	"tidings/soap"
)

func lockOf(t testing.TB, m *schema.Model, version string) *soap.Lock {
	t.Helper()
	l, err := soap.NewLock(m, version, soap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func modelOf(t testing.TB, files ...string) *schema.Model {
	t.Helper()
	dir := fstest.MapFS{}
	for i, text := range files {
		dir[string(rune('a'+i))+".graphql"] = &fstest.MapFile{Data: []byte(text)}
	}
	m, err := schema.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The example is locked, and no partner has its v1 yet: what it gets is locked with
// it. A service that has partners would write v2.
func TestTheExampleIsLockedAsItIs(t *testing.T) {
	t.Parallel()
	const file = "../examples/social/v1.soap.lock"
	got := lockOf(t, social(t), "v1").Text()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is no longer what the schema shows: run go test ./soap -update, or bin/api soap lock --force --schema examples/social", file)
	}
}

func TestALockHoldsAllOfAContract(t *testing.T) {
	t.Parallel()
	for what, m := range map[string]*schema.Model{"social": social(t), "museum": museum(t)} {
		l := lockOf(t, m, "v1")
		again, err := soap.ParseLock(l.Text())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !bytes.Equal(again.Text(), l.Text()) {
			t.Errorf("%s: a lock that is read is another one", what)
		}
		living, err := soap.WSDL(m, options, true)
		if err != nil {
			t.Fatal(err)
		}
		locked, err := soap.LockedWSDL(again, options, true)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(locked, living) {
			t.Errorf("%s: the WSDL of the lock is another one", what)
		}
		for _, b := range again.Check(m) {
			t.Errorf("%s: %v", what, b)
		}
		if long := longestLine(again.Text()); what == "social" && long > 2000 {
			t.Errorf("a line of the lock has %d characters", long)
		}
	}
	if missing := soap.NotInLocks(); len(missing) > 0 {
		t.Errorf("locks do not hold %v: see lockFile", missing)
	}
}

func longestLine(text []byte) int {
	longest := 0
	for line := range bytes.Lines(text) {
		longest = max(longest, len(line))
	}
	return longest
}

const lockedSDL = `
type Note @resource @auth(requires: [ANYONE]) {
  id: ID!
  text: String!
  kind: Kind! @default(value: A)
  size: Int!  @default(value: 1)
  score: Float
  tags: [String!]! @default(value: [])
  mood: Mood
  part: Part
  parts: [Part!]
  either: Either
  bookId: ID
  book: Book @belongsTo(field: "bookId")
}
type Book @resource @auth(requires: [ANYONE]) { id: ID! title: String! notes(limit: Int = 3): [Note!]! @hasMany(field: "bookId") }
enum Kind { A B }
enum Mood @soap(openEnum: true) { GOOD }
type Part { name: String! count: PositiveInt }
union Either = Part | Whole
type Whole { all: Boolean }
type Query { sum(of: [Int!]!, how: How): Int! @busRequest(subject: "a.sum") }
input How { fast: Boolean kind: Kind deep: Deep }
input Deep { level: Int! = 2 }
`

const lockedOperations = `query Book($id: ID!) @soap(name: "GetBookWithNotes") { book(id: $id) { title notes(limit: 1) { text } } }`

// What may change under a lock.
func TestWhatIsAddedBreaksNoLock(t *testing.T) {
	t.Parallel()
	l := lockOf(t, modelOf(t, lockedSDL, lockedOperations), "v1")
	for what, change := range map[string][2]string{
		"nothing":              {"", ""},
		"a field":              {"text: String!", "text: String! more: String"},
		"a field with default": {"text: String!", "text: String! more: Int! @default(value: 3)"},
		"a resource":           {"enum Kind", "type More @resource { id: ID! x: Int } enum Kind"},
		"an open enum":         {"GOOD }", "GOOD BAD }"},
		"a field inside":       {"name: String!", "name: String! size: Int"},
		"a list item":          {"all: Boolean", "all: Boolean! @default(value: true)"},
		"an argument":          {"how: How)", "how: How, by: Int)"},
		"an input field":       {"fast: Boolean", "fast: Boolean slow: Boolean! = false"},
		"never null":           {"score: Float", "score: Float! @default(value: 0)"},
		"another order":        {"text: String!\n  kind: Kind! @default(value: A)", "kind: Kind! @default(value: A)\n  text: String!"},
		"deprecated":           {"score: Float", `score: Float @deprecated(reason: "no")`},
		"described":            {"score: Float", `"How good." score: Float`},
		"a number for less":    {"score: Float", "score: Float @constraint(min: 0)"},
	} {
		for _, b := range l.Check(modelOf(t, strings.Replace(lockedSDL, change[0], change[1], 1), lockedOperations)) {
			t.Errorf("%s: %v", what, b)
		}
	}
}

// A stored operation that is locked has its own default.
func TestADocumentsOwnDefaultStays(t *testing.T) {
	t.Parallel()
	stored := func(n string) *schema.Model {
		return modelOf(t, lockedSDL, `query Some($n: Int = `+n+`) @soap(name: "GetSome") { books(first: $n) { nodes { title } } }`)
	}
	for _, b := range lockOf(t, stored("3"), "v1").Check(stored("4")) {
		t.Error(b)
	}
}

// What may not: each is told with its place, what is no longer so, and a remedy.
func TestWhatBreaksALockIsTold(t *testing.T) {
	t.Parallel()
	l := lockOf(t, modelOf(t, lockedSDL, lockedOperations), "v1")
	for what, c := range map[string]struct{ old, new, want string }{
		"a field is gone":              {"score: Float", "", `Cannot query field "score"`},
		"a field of an input is gone":  {"fast: Boolean ", "", "how.fast is no longer taken"},
		"a type is another":            {"score: Float", "score: String", "result.score has the type xsd:string now, but the version promises xsd:double"},
		"null":                         {"text: String!", "text: String", "result.text may be null now"},
		"refused":                      {"text: String!", "text: String! @auth(requires: [ADMIN], on: [READ])", "result.text may be null now"},
		"null inside":                  {"name: String!", "name: String", "result.part.name may be null now"},
		"null items":                   {"tags: [String!]!", "tags: [String]!", "an item of result.tags may be null now"},
		"a list is none":               {"tags: [String!]! @default(value: [])", `tags: String! @default(value: "")`, "result.tags has the type String! now"},
		"an enum grew":                 {"A B }", "A B C }", "result.kind may be C now, which is no value of Kind"},
		"an enum shrank":               {"A B }", "A }", "input.kind may no longer be B"},
		"a union grew":                 {"Part | Whole", "Part | Whole | Third", "result.either may be a Third now"},
		"a union shrank":               {"Part | Whole", "Part", "can never be of type"},
		"a required input":             {"text: String!", "text: String! more: String!", "input.more must be given now, but the version has no element for it"},
		"a required field of an input": {"fast: Boolean", "fast: Boolean slow: Boolean!", "how.slow must be given now"},
		"required now":                 {"fast: Boolean", "fast: Boolean!", "how.fast must be given now, but the version lets it be left out"},
		"a default is gone":            {"level: Int! = 2", "level: Int!", "how.deep.level must be given now"},
		"another default":              {"level: Int! = 2", "level: Int! = 3", "how.deep.level is 3 now when it is left out, and was 2"},
		"a required argument":          {"how: How)", "how: How, by: Int!)", `argument "by" of type "Int!" is required`},
		"an argument is gone":          {", how: How)", ")", `Unknown argument "how"`},
		"an operation is gone":         {"sum(of", "total(of", `Cannot query field "sum"`},
		"a resource is gone":           {"type Book @resource @auth(requires: [ANYONE]) {", "type Book2 @resource @auth(requires: [ANYONE]) {", ""},
		"a smaller range":              {"size: Int!", "size: PositiveInt!", "input.size has the type PositiveInt now, but the version takes xsd:int"},
		"a wider range":                {"count: PositiveInt", "count: Int", "result.part.count has the type xsd:int now, but the version promises PositiveInt"},
		"a deeper shape is gone":       {"notes(limit: Int = 3)", "sheets(limit: Int = 3)", `GetBookWithNotes: its document is no longer valid: Cannot query field "notes"`},
		"a result may be missing":      {"type Note @resource @auth(requires: [ANYONE])", "type Note @resource @auth(requires: [ANYONE], on: [CREATE, UPDATE, DELETE]) @auth(requires: [ADMIN], on: [READ])", "result may be null now"},
		"a leaf may be missing":        {"Int! @busRequest", "Int @busRequest", "result may be null now"},
	} {
		text := strings.Replace(lockedSDL, c.old, c.new, 1)
		if what == "a union grew" {
			text += " type Third { x: Int }"
		}
		if what == "a union shrank" {
			text = strings.Replace(text, "type Whole { all: Boolean }", "type Whole { all: Boolean } type Other @resource { id: ID! w: Whole }", 1)
		}
		if what == "a resource is gone" {
			text = strings.ReplaceAll(text, "book: Book @", "book: Book2 @")
		}
		operations := lockedOperations
		if c.want == "" || strings.Contains(c.want, "GetBookWithNotes") {
			operations = "query Other @soap { sum(of: [1]) }"
		}
		breaches := l.Check(modelOf(t, text, operations))
		found := false
		for _, b := range breaches {
			found = found || strings.Contains(b.Message, c.want)
			if b.File != "v1.soap.lock" || b.Line == 0 || b.Remedy == "" {
				t.Errorf("%s: there is no place or remedy in %v", what, b)
			}
		}
		if !found {
			t.Errorf("%s: want %q in %v", what, c.want, breaches)
		}
	}
}

func TestAnOpenEnumMayBeClosedAndAClosedOneMayNotGrow(t *testing.T) {
	t.Parallel()
	open := modelOf(t, lockedSDL, lockedOperations)
	closed := modelOf(t, strings.Replace(lockedSDL, " @soap(openEnum: true)", "", 1), lockedOperations)
	if b := lockOf(t, open, "v1").Check(closed); len(b) > 0 {
		t.Error(b)
	}
	if b := lockOf(t, closed, "v1").Check(open); len(b) == 0 {
		t.Error("an enum whose values the version lists is open now, and nobody says so")
	}
}

func TestLocksThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	good := string(lockOf(t, modelOf(t, lockedSDL, lockedOperations), "v1").Text())
	change := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for what, text := range map[string]string{
		"empty":          "",
		"other":          `{"format": "x"}`,
		"another format": change("lock 1", "lock 2"),
		"unknown member": change(`"version"`, `"more": 1, "version"`),
		"version":        change(`"v1"`, `"one"`),
		"no such type":   change(`"type": "Note"`, `"type": "Nothing"`),
		"endless":        change(`"type": "NoteList"`, `"type": "NoteConnection"`),
		"no element":     change(`"name": "text"`, `"name": "a b"`),
		"XML in a facet": change(`"facets": "`, `"facets": "<x/>`),
		"twice":          change(`"name": "GetNote",`, `"name": "GetBook",`),
	} {
		if text == good {
			t.Errorf("%s: nothing was changed", what)
		}
		if _, err := soap.ParseLock([]byte(text)); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	for name, want := range map[string]string{"v2.soap.lock": "call it v1.soap.lock", "v1.soap.lock": ""} {
		locks, err := soap.ReadLocks(fstest.MapFS{name: {Data: []byte(good)}, "x.lock": {}})
		if want == "" && (err != nil || len(locks) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", name, locks, err)
		}
	}
	if _, err := soap.NewLock(social(t), "1.0", soap.Options{}); err == nil {
		t.Error("a version is called 1.0")
	}
}

func FuzzLock(f *testing.F) {
	m, err := schema.Load(os.DirFS("testdata/museum"))
	if err != nil {
		f.Fatal(err)
	}
	l, err := soap.NewLock(m, "v1", soap.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(l.Text())
	f.Add([]byte(`{"format":"tidings soap lock 1","version":"v1","service":"S","namespace":"u","operations":[],"types":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := soap.ParseLock(text)
		if err != nil {
			return
		}
		again, err := soap.ParseLock(l.Text())
		if err != nil || !bytes.Equal(again.Text(), l.Text()) {
			t.Fatalf("%v: a lock that is written is another one", err)
		}
		if _, err := soap.LockedWSDL(l, options, true); err != nil {
			t.Fatal(err)
		}
	})
}
