package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	declared = regexp.MustCompile(`(?m)^directive @(\w+)`)
	row      = regexp.MustCompile("(?m)^\\| \\[(`@\\w+`(?:, `@\\w+`)*)\\]")
)

func TestTheTableOfDirectivesHasAllOnce(t *testing.T) {
	t.Parallel()
	var want, listed []string
	for _, file := range []string{"schema/prelude.graphql", "schema/shared.graphql"} {
		for _, m := range declared.FindAllStringSubmatch(text(t, file), -1) {
			want = append(want, m[1])
		}
	}
	for _, m := range row.FindAllStringSubmatch(text(t, "docs/schema.md"), -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			listed = append(listed, strings.Trim(name, "`@"))
		}
	}
	slices.Sort(want)
	slices.Sort(listed)
	if len(want) == 0 || !slices.Equal(want, listed) {
		t.Errorf("docs/schema.md lists\n%v, the language has\n%v", listed, want)
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
