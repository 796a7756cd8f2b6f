package schema_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"golang.org/x/tools/txtar"

	"tidings/schema"
)

func load(t *testing.T, sdl string) *schema.Model {
	t.Helper()
	model, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func loadSocial(t testing.TB) *schema.Model {
	t.Helper()
	model, err := schema.Load(os.DirFS(social))
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func ExampleLoad() {
	model, err := schema.Load(fstest.MapFS{"notes.graphql": {Data: []byte(`
		type Note @resource @auth(requires: [ANYONE], on: [READ]) {
			id: ID!
			text: String! @index @constraint(maxLength: 200)
		}`)}})
	if err != nil {
		fmt.Println(err) // every fault with its file, line, column and remedy
		return
	}
	note := model.Resource("Note")
	fmt.Println(note.Singular, note.Plural, *note.Field("text").Constraint.MaxLength)
	fmt.Println(note.Auth[schema.Read].Allows(0, false), note.Auth[schema.Create].Allows(schema.User, false))
	fmt.Println(model.Contract.Mutation.Fields.ForName("createNote").Type)
	// Output:
	// note notes 200
	// true false
	// Note
}

func ExampleFaults() {
	_, err := schema.Load(fstest.MapFS{"notes.graphql": {Data: []byte("type Note @resource {\n  text: Sting\n}\n")}})
	fmt.Println(err)
	// Output:
	// notes.graphql:2:9: there is no type Sting; declare the type, or correct the name (did you mean String?)
}

func TestLoadReadsTheSchemaFilesOfOneDirectory(t *testing.T) {
	t.Parallel()
	model, err := schema.Load(fstest.MapFS{
		"a.graphql":         {Data: []byte("extend type Query { now: DateTime! }\nextend type Post { body: String }")},
		"b.graphql":         {Data: []byte("type Post @resource { id: ID! title: String }")},
		"c.graphql":         {Data: []byte("extend type Query { then: DateTime! }\nextend enum Size { HUGE }\nenum Size { BIG }")},
		"contract.graphql":  {Data: []byte("not SDL")},
		"printed.graphql":   {Data: []byte("# Generated from the files beside it. Do not edit.\nnot SDL")},
		"below/d.graphql":   {Data: []byte("not SDL")},
		"e.graphql/f":       {Data: []byte("not SDL")},
		"readme.md":         {Data: []byte("not SDL")},
		"schema.graphql.go": {Data: []byte("not SDL")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if model.Resource("Post").Field("body") == nil {
		t.Error("an extension in another file is lost")
	}
	if model.Contract.Query.Fields.ForName("now") == nil || model.Contract.Query.Fields.ForName("then") == nil {
		t.Error("a root field of an extension is lost")
	}
	if len(model.Contract.Types["Size"].EnumValues) != 2 {
		t.Error("an extension that stands before its enum is lost")
	}
}

func TestLoadIsBounded(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i := range 1001 {
		files[fmt.Sprintf("%04d.graphql", i)] = &fstest.MapFile{Data: []byte("type Query { a: Int }")}
	}
	for name, dir := range map[string]fs.FS{
		"files":   files,
		"bytes":   fstest.MapFS{"a.graphql": {Data: []byte("#" + strings.Repeat("a", 4<<20))}},
		"tokens":  fstest.MapFS{"a.graphql": {Data: []byte("type Query { a(" + strings.Repeat("a:I ", 400_000) + "): Int }")}},
		"members": fstest.MapFS{"a.graphql": {Data: []byte("enum E {" + strings.Repeat("A ", 2000) + "}")}},
		"nesting": fstest.MapFS{"a.graphql": {Data: []byte("type Query { a: " + strings.Repeat("[", 1<<20))}},
		"utf8":    fstest.MapFS{"a.graphql": {Data: []byte("# \xff")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.Load(dir)
			faults, ok := errors.AsType[schema.Faults](err)
			if !ok || len(faults) == 0 || len(faults) > 101 {
				t.Fatalf("got %.200v", err)
			}
			if faults[0].Remedy == "" || faults[0].Message == "" {
				t.Errorf("no remedy in %+v", faults[0])
			}
		})
	}
}

func TestLoadTellsAnUnreadableDirectoryFromAWrongSchema(t *testing.T) {
	t.Parallel()
	_, err := schema.Load(os.DirFS("testdata/none"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, wrong := errors.AsType[schema.Faults](err); wrong {
		t.Error("an unreadable directory is reported as a wrong schema")
	}
}

func TestPlacesCountCharactersWhateverTheLineEnding(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"\n", "\r\n", "\r"} {
		sdl := strings.ReplaceAll("\ufefftype A @resource {\n  id: ID! # é😀\n  \"é😀\" b: Foo\n}", "\n", ending)
		_, err := schema.Load(fstest.MapFS{"a.graphql": {Data: []byte(sdl)}})
		if err == nil || !strings.HasPrefix(err.Error(), "a.graphql:3:11: there is no type Foo") {
			t.Errorf("with %q: %v", ending, err)
		}
	}
}

// reload parses the printed contract as a stranger would.
func reload(sdl string) (*ast.Schema, error) {
	return validator.LoadSchema(validator.Prelude, &ast.Source{Name: "contract.graphql", Input: sdl})
}

func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile(social + "/schema.graphql")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	archives, _ := filepath.Glob("testdata/faults/*.txtar")
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	f.Add("type Query { \"\"\"\n  a \\\"\"\"\n b\"\"\" hello(a: [Int!]! = [1], b: E = A): String @deprecated(reason: \"\\u00e9\\n\") }\nenum E { A }")
	f.Add("directive @x(a: DateTime, r: AuthRole = ADMIN) repeatable on OBJECT | ENUM_VALUE\ntype A @resource @x { id: ID! @owner b: [URL!] @default(value: \"https://a.b\") @index }")
	f.Add("schema { query: Query }\nextend type Query { f(i: I = {a: 1.5, b: [{a: 2}]}): U }\ninput I @oneOf { a: Float b: [I!] }\nunion U = A | B\ntype A implements N { n: Int } type B { n: Int }\ninterface N { n: Int }")
	f.Fuzz(func(t *testing.T, sdl string) {
		model, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}})
		if err != nil {
			faults, ok := errors.AsType[schema.Faults](err)
			if !ok {
				t.Fatalf("not a report of faults: %v", err)
			}
			for _, fault := range faults {
				if fault.Remedy == "" || strings.Contains(fault.Remedy, "report this") {
					t.Errorf("no remedy: %v", fault)
				}
			}
			return
		}
		if _, err := reload(model.SDL); err != nil {
			t.Errorf("the contract does not load: %v\n%s", err, model.SDL)
		}
	})
}
