package transfer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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

// A card that was deleted, and is created again where its log was taken to, goes on
// from the version that it had: no version is ever that of two states.
func TestAnExportTakesAlongTheVersionsOfDeletedRecords(t *testing.T) {
	t.Parallel()
	from, to := resourcetest.New(t, counted), resourcetest.New(t, counted)
	submit(t, from, "Card", resource.Create, `{"id":"gone","text":"a"}`)
	submit(t, from, "Card", resource.Update, `{"id":"gone","text":"b"}`)
	submit(t, from, "Card", resource.Delete, `{"id":"gone"}`)
	submit(t, from, "Card", resource.Create, `{"id":"kept"}`)
	file, report := export(t, from.Bus, transfer.Options{})
	if report.Trailer.Records != 1 || report.Trailer.Deleted != 1 || bytes.Contains(file, []byte(`"text":"b"`)) {
		t.Errorf("%+v\n%s", report.Trailer, file)
	}
	for round, want := range []map[resource.Loaded]int{{resource.LoadedNew: 1, resource.LoadedDeleted: 1}, {resource.LoadedSame: 2}} {
		r, err := transfer.Import(t.Context(), to.Bus, to.Model, bytes.NewReader(file), transfer.ImportOptions{})
		if err != nil || !maps.Equal(r.Loaded, want) {
			t.Errorf("round %d: %v, %v", round, r.Loaded, err)
		}
	}
	submit(t, to, "Card", resource.Create, `{"id":"gone"}`)
	m, err := to.Bus.Last(t.Context(), to.Bus.Subjects().Record("Card", "gone"))
	if err != nil || !bytes.Contains(m.Data, []byte(`"version":4`)) {
		t.Errorf("%s, %v", m.Data, err)
	}
	if r, err := transfer.Import(t.Context(), to.Bus, to.Model, bytes.NewReader(file), transfer.ImportOptions{OnConflict: resource.ConflictSkip}); err != nil || r.Loaded[resource.LoadedSkipped] != 1 {
		t.Errorf("into a log that has it again: %v, %v", r.Loaded, err)
	}
	back, _ := export(t, to.Bus, transfer.Options{})
	if !bytes.Contains(back, []byte(`"id":"gone"`)) {
		t.Errorf("%s", back)
	}
}

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
