package docs_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"tidings/conformance/docs"
	"tidings/schema"
)

const root = "../.."

// pages are what is tested: all that tells people how to use the service.
// Decisions and the changelog tell what was.
func pages(t *testing.T) map[string][]docs.Block {
	t.Helper()
	all := map[string][]docs.Block{}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md", "examples/*/README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "docs/adr/") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if all[name], err = docs.Read(name, string(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

func TestEveryBlockSaysHowItIsTested(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, page := range pages(t) {
		for _, b := range page {
			if b.Language == "setup" {
				continue
			}
			kind, err := docs.KindOf(b)
			if err != nil {
				t.Error(err)
				continue
			}
			if kind == docs.NotRun {
				count["not "+b.Argument]++
				continue
			}
			count[string(kind)]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%4d %s", count[kind], kind)
	}
}

func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for i, b := range page {
			if b.Language != "graphql" || b.IsOperation() || b.Rule == "not" || b.Rule == "held" || b.Rule == "stored" || b.Rule == "foreign" {
				continue
			}
			dir := fstest.MapFS{"schema.graphql": {Data: []byte(b.Source())}}
			if i+1 < len(page) && page[i+1].Rule == "stored" {
				dir["operations.graphql"] = &fstest.MapFile{Data: []byte(page[i+1].Text)}
			}
			if _, err := schema.Load(dir); err != nil {
				t.Errorf("%s: %v", b, err)
			}
		}
	}
}

// A block of JSON is one value, or several as a log has them.
func TestJSONParses(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, b := range page {
			if b.Language != "json" || b.Rule == "not" {
				continue
			}
			for d := json.NewDecoder(strings.NewReader(b.Source())); ; {
				var value any
				if err := d.Decode(&value); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v", b, err)
					break
				}
			}
		}
	}
}

// Schemas of others are examples of what people come with.
func TestForeignSchemasParse(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, b := range page {
			if b.Rule != "foreign" {
				continue
			}
			if _, err := parser.ParseSchema(&ast.Source{Name: b.String(), Input: b.Text}); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestXMLParses(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, b := range page {
			if b.Language != "xml" || b.Rule == "not" {
				continue
			}
			for d := xml.NewDecoder(strings.NewReader(b.Source())); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v", b, err)
					break
				}
			}
		}
	}
}

// What is held by another test is: that test is there, and reads this page.
func TestTestsThatHoldBlocksExist(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		for _, b := range page {
			if b.Rule != "held" {
				continue
			}
			test := strings.TrimPrefix(b.Argument, "by ")
			if !readsThePage(t, test, filepath.Base(name)) {
				t.Errorf("%s: no file of tests has a %s and the page's name", b, test)
			}
		}
	}
}

func readsThePage(t *testing.T, test, page string) bool {
	t.Helper()
	var found bool
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || found {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		found = found || strings.Contains(string(text), "func "+test+"(") && strings.Contains(string(text), page)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestABlockThatNothingTestsIsAnError(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		"```\nwhat is it\n```\n",
		"```text\nwhat is it\n```\n",
		"```rust\nfn main() {}\n```\n",
		"<!-- test: not run: no time -->\n```sh\ntrue\n```\n",
		"<!-- test: output -->\n```sh\ntrue\n```\n",
		"Save this:\n\n<!-- test: file a.php -->\n```php\n```\n",
	} {
		blocks, err := docs.Read("page", page)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%q: %v", page, err)
		}
		if kind, err := docs.KindOf(blocks[0]); err == nil {
			t.Errorf("%q is %s", page, kind)
		}
	}
	for _, page := range []string{
		"```sh\ntrue\n",
		"<!-- test: with\ntrue\n",
		"<!-- test: perhaps -->\n```sh\ntrue\n```\n",
		"<!-- test: as 1 -->\n\nText.\n",
		"<!-- test: as 1 -->\n",
	} {
		if _, err := docs.Read("page", page); err == nil {
			t.Errorf("%q is read", page)
		}
	}
}
