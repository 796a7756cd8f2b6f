package schema_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/schema"
)

func TestExamplesOfTheDocumentationLoad(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```graphql\n")[1:]
	if len(blocks) < 8 {
		t.Fatalf("found %d examples", len(blocks))
	}
	for _, block := range blocks {
		sdl, rest, _ := strings.Cut(block, "```")
		dir := fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}}
		if _, after, ok := strings.Cut(rest, "```graphql operations\n"); ok {
			operations, _, _ := strings.Cut(after, "```")
			dir["operations.graphql"] = &fstest.MapFile{Data: []byte(operations)}
		}
		if _, err := schema.Load(dir); err != nil {
			t.Errorf("%v in\n%s", err, sdl)
		}
	}
}
