//go:build conformance

package docs_test

import (
	"html"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor    = regexp.MustCompile(`\bid="([^"]*)"`)
)

// The site has every page, loads nothing from elsewhere, and its links lead
// somewhere, headings included.
func TestTheSiteHoldsTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("mkdocs", "build", "-q", "-f", filepath.Join(root, "deploy/site/mkdocs.yml"), "-d", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	built, anchors := map[string]string{}, map[string]map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		built[path] = string(text)
		anchors[path] = map[string]bool{}
		for _, m := range anchor.FindAllStringSubmatch(built[path], -1) {
			anchors[path][m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range pages(t) {
		if strings.HasPrefix(name, "examples/") {
			continue
		}
		page := strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md") + ".html"
		if _, has := built[filepath.Join(dir, strings.Replace(page, "README", "index", 1))]; !has {
			t.Errorf("%s is not in the site", name)
		}
	}
	for path, text := range built {
		if filepath.Ext(path) == ".html" {
			leads(t, anchors, dir, path, text)
		}
	}
}

// leads follows the links of one page.
func leads(t *testing.T, anchors map[string]map[string]bool, dir, path, text string) {
	t.Helper()
	at, err := filepath.Rel(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "test: setup") || strings.Contains(text, "test: not run") {
		t.Errorf("%s shows what is for tests", at)
	}
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		to, err := url.Parse(html.UnescapeString(m[1]))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if to.IsAbs() {
			if strings.HasPrefix(m[0], "src") {
				t.Errorf("%s loads %s", at, to)
			}
			continue
		}
		target := path
		if to.Path != "" {
			target = filepath.Join(filepath.Dir(path), to.Path)
		}
		if info, err := os.Stat(target); err == nil && info.IsDir() {
			target = filepath.Join(target, "index.html")
		}
		there, has := anchors[target]
		if !has {
			t.Errorf("%s: %s is not there", at, m[1])
		} else if to.Fragment != "" && !there[to.Fragment] {
			t.Errorf("%s: %s has no such heading", at, m[1])
		}
	}
}
