package tidings_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Entries that were merged twice are the usual way in which a changelog grows.
func TestTheChangelogSaysEachThingOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for line := range strings.Lines(read(t, "CHANGELOG.md")) {
		if seen[line] && strings.TrimSpace(line) != "" {
			t.Errorf("twice: %.100s", line)
		}
		seen[line] = true
	}
}

// What a page refers to in this tree is there: the file, and the heading in it.
func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	pages = slices.DeleteFunc(pages, func(p string) bool { return p == "THIRD_PARTY_LICENSES.md" }) // it quotes others
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			file, heading, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s is not there", page, m[1])
			} else if heading != "" && !headings(read(t, target))[heading] {
				t.Errorf("%s: %s has no such heading", page, m[1])
			}
		}
	}
}

// README.md is the index: it leads to every page but the decisions, which are a
// folder there.
func TestTheReadmeLeadsToEveryPage(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	for _, pattern := range []string{"docs/*.md", "docs/howto/*.md", "docs/explanation/*.md", "examples/*/README.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			target := strings.TrimSuffix(filepath.ToSlash(page), "/README.md")
			if !strings.Contains(readme, "]("+target+")") && !strings.Contains(readme, "]("+target+"#") {
				t.Errorf("%s: README.md does not lead there", page)
			}
		}
	}
}

// What a page says is tested is: the test that it names is there.
func TestTestsThatTheDocumentationNamesExist(t *testing.T) {
	t.Parallel()
	exists := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, m := range testFunc.FindAllStringSubmatch(read(t, s.file), -1) {
			exists[m[1]] = true
		}
	}
	for _, page := range []string{"SECURITY.md", "docs/explanation/guarantees.md"} {
		named := testName.FindAllStringSubmatch(read(t, page), -1)
		if len(named) == 0 {
			t.Errorf("%s names no tests", page)
		}
		for _, m := range named {
			if !exists[m[1]] {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
	}
}

var (
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	testName = regexp.MustCompile("`(Test\\w+)`")

	link    = regexp.MustCompile(`\]\(([^):\s]+)\)`) // those with a scheme lead elsewhere
	title   = regexp.MustCompile("(?m)^#+ (.*)$")
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// headings are the anchors of a page, as GitHub makes them.
func headings(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range title.FindAllStringSubmatch(text, -1) {
		anchors[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return anchors
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
