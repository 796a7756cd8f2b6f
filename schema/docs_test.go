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
		sdl, _, _ := strings.Cut(block, "```")
		if _, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}}); err != nil {
			t.Errorf("%v in\n%s", err, sdl)
		}
	}
}
