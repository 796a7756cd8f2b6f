package transfer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"

	"tidings/bus/bustest"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/transfer"
)

var counted = fstest.MapFS{"schema.graphql": {Data: []byte(`
type Card @resource @auth(requires: [ANYONE], on: [READ, CREATE, UPDATE, DELETE]) {
  id: ID! @owner
  text: String
  version: Int! @version
}
`)}}

// An import puts no version back: whoever expects one would overwrite what he has
// never seen.
func TestAnImportNeverLowersAVersion(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.New(t), counted, resource.FeedOptions{})
	card := func() (text string, version int) {
		m, err := s.Bus.Last(t.Context(), s.Bus.Subjects().Record("Card", "c"))
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		var v struct {
			Text    string
			Version int
		}
		if err := json.Unmarshal(m.Data, &v); err != nil {
			t.Fatal(err)
		}
		return v.Text, v.Version
	}
	load := func(text string, version int) {
		line := fmt.Sprintf(`{"type":"Card","record":{"id":"c","text":%q,"version":%d}}`, text, version)
		_, err := transfer.Import(t.Context(), s.Bus, s.Model, bytes.NewReader([]byte(line)), transfer.ImportOptions{OnConflict: resource.ConflictReplace})
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name    string
		do      func()
		text    string
		version int
	}{
		{"new", func() { load("old", 4) }, "old", 4},
		{"again", func() { load("old", 4) }, "old", 4},
		{"changed", func() { submit(t, s, "Card", resource.Update, `{"id":"c","text":"new","expectedVersion":4}`) }, "new", 5},
		{"put back", func() { load("old", 4) }, "old", 6},
		{"put back again", func() { load("old", 4) }, "old", 6},
		{"a higher version", func() { load("old", 9) }, "old", 9},
		{"deleted", func() { submit(t, s, "Card", resource.Delete, `{"id":"c"}`) }, "", 10},
		{"brought back", func() { load("old", 4) }, "old", 11},
		{"a change after that", func() { submit(t, s, "Card", resource.Update, `{"id":"c","text":"x"}`) }, "x", 12},
	}
	for _, step := range steps {
		step.do()
		if text, version := card(); text != step.text || version != step.version {
			t.Errorf("%s: %q of version %d, want %q of %d", step.name, text, version, step.text, step.version)
		}
	}
}
