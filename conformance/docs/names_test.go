package docs_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	target     = regexp.MustCompile(`(?m)^([a-z-]+):`)
	assignment = regexp.MustCompile(`^([A-Z_]+)=(.*)$`)
	inRoom     = regexp.MustCompile(`\b([a-z]+)((?:[./][A-Z]\w*)+)`)
	path       = regexp.MustCompile(`\b(?:cmd|internal)/[a-z/]+`)
	quoted     = regexp.MustCompile(`'([^']*)'`)
	imports    = regexp.MustCompile(`((?:[a-z]+, )*[a-z]+) ──► ((?:[a-z]+, )*[a-z]+)`)
)

// What takes too long to be run has no typing errors all the same: targets of make
// and their variables, benchmarks, packages of npm and modules are those that there
// are, and that other tests run.
func TestCommandsThatTakeLongNameWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, b := range page {
			if b.Rule != "takes" {
				continue
			}
			for line := range strings.Lines(b.Text) {
				command, _, _ := strings.Cut(strings.TrimSpace(line), " #")
				var said []string
				words := strings.Fields(quoted.ReplaceAllStringFunc(command, func(s string) string { return strings.ReplaceAll(s, " ", "_") }))
				for len(words) > 0 && assignment.MatchString(words[0]) {
					said = append(said, assignment.FindStringSubmatch(words[0])[1])
					words = words[1:]
				}
				if len(words) < 2 || !commandIsThere(t, words[0], said, words[1:]) {
					t.Errorf("%s: %s: nothing knows of it", b, command)
				}
			}
		}
	}
}

// commandIsThere reports whether what a command names is there; said are the
// variables before it.
func commandIsThere(t *testing.T, program string, said, words []string) bool {
	t.Helper()
	switch program {
	case "make":
		return makes(t, said, words)
	case "npm", "npx":
		return isOfNPM(t, words)
	}
	switch program + " " + words[0] {
	case "go get", "go tool":
		return isOfGenqlient(t, words[0], words[1:])
	case "go test":
		return hasBenchmarks(t, words[1:])
	}
	return false
}

func makes(t *testing.T, said, words []string) bool {
	t.Helper()
	rules := text(t, "Makefile")
	for _, word := range words[1:] {
		m := assignment.FindStringSubmatch(word)
		if m == nil || !strings.Contains(rules, "$("+m[1]+")") {
			return false
		}
	}
	for _, name := range said { // what a target's script reads
		if !strings.Contains(text(t, words[0]+"/run.sh"), "${"+name+":-") {
			return false
		}
	}
	return slices.ContainsFunc(target.FindAllStringSubmatch(rules, -1), func(m []string) bool { return m[1] == words[0] })
}

// isOfNPM: packages that conformance/typed has, and a program of one of them.
func isOfNPM(t *testing.T, words []string) bool {
	t.Helper()
	var has struct {
		Dependencies, DevDependencies, Scripts map[string]string
	}
	if err := json.Unmarshal([]byte(text(t, "conformance/typed/package.json")), &has); err != nil {
		t.Fatal(err)
	}
	if words[0] != "install" {
		return slices.ContainsFunc(slices.Collect(maps.Values(has.Scripts)), func(s string) bool { return strings.Contains(s, words[0]) })
	}
	maps.Copy(has.Dependencies, has.DevDependencies)
	for _, word := range words[1:] {
		if _, is := has.Dependencies[word]; !is && word != "--save-dev" {
			return false
		}
	}
	return true
}

// isOfGenqlient: modules, their versions and tools that conformance/typed/go has.
func isOfGenqlient(t *testing.T, verb string, words []string) bool {
	t.Helper()
	file := text(t, "conformance/typed/go/go.mod")
	for _, word := range words {
		name, version, _ := strings.Cut(word, "@")
		is := word == "-tool" || strings.Contains(file, "\t"+name+" v"+strings.TrimPrefix(version, "v"))
		if verb == "tool" {
			is = strings.Contains(file, "/"+name+"\n")
		}
		if !is {
			return false
		}
	}
	return true
}

// hasBenchmarks: each word of -bench is in the name of one of the packages'.
func hasBenchmarks(t *testing.T, words []string) bool {
	t.Helper()
	at := slices.Index(words, "-bench")
	dir := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "./") })
	if at < 0 || dir < 0 {
		return false
	}
	files, err := filepath.Glob(filepath.Join(root, words[dir], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, declaredIn(t, file)...)
	}
	for word := range strings.SplitSeq(strings.Trim(words[at+1], "'"), "|") {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "Benchmark") && strings.Contains(n, word) }) {
			return false
		}
	}
	return true
}

// A picture names rooms, what is exported there, and which room imports which.
func TestPicturesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	rooms := roomsOf(t)
	for _, page := range pages(t) {
		for _, b := range page {
			if b.Rule != "picture" {
				continue
			}
			for _, m := range inRoom.FindAllStringSubmatch(b.Text, -1) {
				for _, name := range strings.FieldsFunc(m[2], func(r rune) bool { return r == '.' || r == '/' }) {
					if room, is := rooms[m[1]]; is && !slices.Contains(room.names, name) {
						t.Errorf("%s: %s has no %s", b, m[1], name)
					}
				}
			}
			for _, dir := range path.FindAllString(b.Text, -1) {
				if info, err := os.Stat(filepath.Join(root, dir)); err != nil || !info.IsDir() {
					t.Errorf("%s: there is no %s", b, dir)
				}
			}
			for _, m := range imports.FindAllStringSubmatch(b.Text, -1) {
				from, one := rooms[m[1]]
				for to := range strings.SplitSeq(m[2], ", ") {
					if one && !slices.Contains(from.imports, "tidings/"+to) {
						t.Errorf("%s: %s does not import %s", b, m[1], to)
					}
				}
			}
		}
	}
}

// room is a package at the top of the tree.
type room struct{ names, imports []string }

func roomsOf(t *testing.T) map[string]room {
	t.Helper()
	rooms := map[string]room{}
	files, err := fs.Glob(os.DirFS(root), "*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		r := rooms[filepath.Dir(file)]
		r.names = append(r.names, declaredIn(t, filepath.Join(root, file))...)
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if from, err := strconv.Unquote(i.Path.Value); err == nil {
				r.imports = append(r.imports, from)
			}
		}
		rooms[filepath.Dir(file)] = r
	}
	return rooms
}

// declaredIn are the functions, methods and types of a file.
func declaredIn(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, is := s.(*ast.TypeSpec); is {
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return names
}
