//go:build conformance

package graphqljs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"tidings/schema"
)

// change is one difference, as both sides tell it.
type change struct {
	Class, Kind, Coordinate string
	Other                   string // the second type of a union's or an interface's change, or a location
}

// The changes that ours alone knows, and those of the reference that concern
// nobody, are in testdata/changes/deviations.txt.
func TestChangesOfAContractAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	pairs := changePairs(t)
	if len(pairs) < 60 {
		t.Errorf("there are %d pairs, want at least 60", len(pairs))
	}
	left := deviations(t)
	seen := map[string]bool{}
	for i, want := range findSchemaChanges(t, pairs) {
		p := pairs[i]
		t.Run(p.name, func(t *testing.T) {
			have := ours(t, p)
			for _, c := range have {
				seen[c.Kind] = true
			}
			have, want := without(have, left), without(want, left)
			if !slices.Equal(have, want) {
				t.Errorf("ours\n%s\ngraphql-js\n%s", lines(have), lines(want))
			}
		})
	}
	for _, kind := range allKinds {
		if !seen[kind] {
			t.Errorf("no pair has the change %s", kind)
		}
	}
}

// allKinds are the kinds of the reference, and ours.
var allKinds = strings.Fields(`TYPE_REMOVED TYPE_CHANGED_KIND TYPE_REMOVED_FROM_UNION VALUE_REMOVED_FROM_ENUM REQUIRED_INPUT_FIELD_ADDED
	IMPLEMENTED_INTERFACE_REMOVED FIELD_REMOVED FIELD_CHANGED_KIND REQUIRED_ARG_ADDED ARG_REMOVED ARG_CHANGED_KIND DIRECTIVE_REMOVED
	DIRECTIVE_ARG_REMOVED REQUIRED_DIRECTIVE_ARG_ADDED DIRECTIVE_REPEATABLE_REMOVED DIRECTIVE_LOCATION_REMOVED
	VALUE_ADDED_TO_ENUM TYPE_ADDED_TO_UNION OPTIONAL_INPUT_FIELD_ADDED OPTIONAL_ARG_ADDED IMPLEMENTED_INTERFACE_ADDED
	ARG_DEFAULT_VALUE_CHANGE INPUT_FIELD_DEFAULT_VALUE_CHANGE
	DESCRIPTION_CHANGED TYPE_ADDED DIRECTIVE_ADDED FIELD_ADDED DIRECTIVE_REPEATABLE_ADDED DIRECTIVE_LOCATION_ADDED
	OPTIONAL_DIRECTIVE_ARG_ADDED FIELD_CHANGED_KIND_SAFE ARG_CHANGED_KIND_SAFE ARG_DEFAULT_VALUE_ADDED INPUT_FIELD_DEFAULT_VALUE_ADDED
	AUTH_NARROWED AUTH_WIDENED CONSTRAINT_NARROWED CONSTRAINT_WIDENED ONE_OF_ADDED ONE_OF_REMOVED DEPRECATION_CHANGED
	ON_DELETE_ADDED ON_DELETE_REMOVED ON_DELETE_CHANGED`)

type changePair struct {
	name string
	Old  string `json:"old"`
	New  string `json:"new"`
}

// changePairs reads the pairs: sections "NAME old" and "NAME new". Those of
// directories are annotated schemas, of which the contracts are compared.
func changePairs(t *testing.T) []changePair {
	t.Helper()
	var pairs []changePair
	for _, name := range []string{"sdl", "annotated"} {
		archive := txtar.Parse(read(t, filepath.Join("testdata", "changes", name+".txtar")))
		for i := 0; i+1 < len(archive.Files); i += 2 {
			old, after := archive.Files[i], archive.Files[i+1]
			title, ok := strings.CutSuffix(old.Name, " old")
			if !ok || after.Name != title+" new" {
				t.Fatalf("%s: %q is followed by %q", name, old.Name, after.Name)
			}
			p := changePair{name: title, Old: string(old.Data), New: string(after.Data)}
			if name == "annotated" {
				p.Old, p.New = contractOf(t, p.Old), contractOf(t, p.New)
			}
			pairs = append(pairs, p)
		}
	}
	return pairs
}

func contractOf(t *testing.T, sdl string) string {
	t.Helper()
	m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}})
	if err != nil {
		t.Fatalf("%v in\n%s", err, sdl)
	}
	return m.SDL
}

func ours(t *testing.T, p changePair) []change {
	t.Helper()
	old, err := schema.LoadContract("old", p.Old)
	if err != nil {
		t.Fatal(err)
	}
	after, err := schema.LoadContract("new", p.New)
	if err != nil {
		t.Fatal(err)
	}
	var list []change
	for _, c := range schema.Diff(old, after) {
		one := change{Class: c.Class.String(), Kind: c.Kind, Coordinate: c.Coordinate}
		switch {
		case strings.Contains(c.Kind, "UNION"), strings.Contains(c.Kind, "INTERFACE"), strings.Contains(c.Kind, "LOCATION"):
			one.Other, _, _ = strings.Cut(c.Message, " ")
		}
		if !strings.HasSuffix(c.Message, ".") || !strings.Contains(c.Message, lastName(c.Coordinate)) {
			t.Errorf("%+v is not told in one sentence", c)
		}
		list = append(list, one)
	}
	return list
}

// lastName is the name at the end of a coordinate.
func lastName(coordinate string) string {
	parts := strings.FieldsFunc(coordinate, func(r rune) bool { return strings.ContainsRune("@.(:)", r) })
	return parts[len(parts)-1]
}

// deviations reads "KIND" or "KIND coordinate" lines.
func deviations(t *testing.T) map[string]bool {
	t.Helper()
	list := map[string]bool{}
	for line := range strings.Lines(string(read(t, "testdata/changes/deviations.txt"))) {
		if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) != "" {
			list[strings.Join(strings.Fields(line), " ")] = true
		}
	}
	return list
}

func without(list []change, left map[string]bool) []change {
	list = slices.DeleteFunc(slices.Clone(list), func(c change) bool { return left[c.Kind] || left[c.Kind+" "+c.Coordinate] })
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return list
}

func lines(list []change) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "  %s %s %s %s\n", c.Class, c.Kind, c.Coordinate, c.Other)
	}
	return b.String()
}

// findSchemaChanges asks the reference.
func findSchemaChanges(t *testing.T, pairs []changePair) [][]change {
	t.Helper()
	input, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	install(t)
	cmd := exec.CommandContext(t.Context(), "node", "changes.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var results [][]change
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(pairs) {
		t.Fatalf("%d answers for %d pairs", len(results), len(pairs))
	}
	return results
}
