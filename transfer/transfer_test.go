package transfer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/transfer"
)

var files = fstest.MapFS{"schema.graphql": {Data: []byte(`
type User @resource @auth(requires: [ANYONE], on: [READ, CREATE, UPDATE, DELETE]) {
  id: ID!
  name: String! @index @constraint(maxLength: 40)
  email: EmailAddress @unique
  tags: [String!]! @default(value: ["new"])
  place: Place
  createdAt: DateTime! @timestamp(on: CREATE)
}
type Place { city: String! zip: String }
type Note @resource @auth(requires: [ANYONE], on: [READ, CREATE, UPDATE, DELETE]) {
  id: ID!
  text: String
}
`)}}

var admin = auth.Principal{Subject: "root", Roles: schema.Admin}

func submit(t *testing.T, s *resourcetest.Service, typ string, verb resource.Verb, input string) resource.Record {
	t.Helper()
	r, err := s.Client.Submit(t.Context(), resource.Command{Type: typ, Verb: verb, Input: json.RawMessage(input), Who: admin})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func idOf(r resource.Record) string {
	var v struct{ ID string }
	_ = json.Unmarshal(r.Raw, &v) // a record has one
	return v.ID
}

// stateAt is what the log says at a position, by reading all of it.
func stateAt(t *testing.T, b *bus.Bus, upto uint64) map[string]string {
	t.Helper()
	state := map[string]string{}
	_, err := b.Read(t.Context(), b.Subjects().Log(), 0, upto, func(m bus.Message) error {
		e, ok, err := resource.ReadEvent(b.Subjects(), m)
		if err != nil || !ok {
			return err
		}
		if e.Kind == resource.Deleted {
			delete(state, e.Type+"."+e.ID)
			return nil
		}
		state[e.Type+"."+e.ID] = string(e.Raw)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func last(t *testing.T, b *bus.Bus) uint64 {
	t.Helper()
	_, seq, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// fileState is what the records of a file say.
func fileState(t *testing.T, file []byte) map[string]string {
	t.Helper()
	state := map[string]string{}
	for line := range bytes.Lines(file) {
		var l transfer.Line
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Type != "" && !l.Deleted {
			state[l.Type+"."+l.ID] = string(l.Record)
		}
	}
	return state
}

func export(t *testing.T, b *bus.Bus, o transfer.Options) ([]byte, transfer.Report) {
	t.Helper()
	var file bytes.Buffer
	r, err := transfer.Export(t.Context(), b, &file, o)
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), r
}

func load(t *testing.T, b *bus.Bus, file []byte, o transfer.ImportOptions) (transfer.ImportReport, error) {
	t.Helper()
	m, err := schema.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Check(m, bytes.NewReader(file), o); err != nil {
		return transfer.ImportReport{}, err
	}
	return transfer.Import(t.Context(), b, m, bytes.NewReader(file), o)
}

func mustLoad(t *testing.T, b *bus.Bus, file []byte, o transfer.ImportOptions) transfer.ImportReport {
	t.Helper()
	r, err := load(t, b, file, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// churn changes records until ctx ends.
func churn(ctx context.Context, s *resourcetest.Service, n int) {
	var ids []string
	for i := 0; ctx.Err() == nil; i++ {
		verb, input := resource.Create, fmt.Sprintf(`{"name":"w%d","email":"w%d-%d@example.com"}`, n, n, i)
		if i%3 == 1 && len(ids) > 0 {
			verb, input = resource.Update, fmt.Sprintf(`{"id":%q,"name":"changed %d"}`, ids[i%len(ids)], i)
		} else if i%7 == 6 && len(ids) > 1 {
			verb, input = resource.Delete, fmt.Sprintf(`{"id":%q}`, ids[0])
			ids = ids[1:]
		}
		r, err := s.Client.Submit(ctx, resource.Command{Type: "User", Verb: verb, Input: json.RawMessage(input), Who: admin})
		if err == nil && verb == resource.Create {
			ids = append(ids, idOf(r))
		}
	}
}

func TestAnExportIsOfOnePositionThoughWritersGoOn(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{History: 100_000}), files, resource.FeedOptions{})
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() { churn(ctx, s, n) })
	}
	defer writers.Wait()
	defer stop()
	for last(t, s.Bus) < 300 {
	}
	for range 5 {
		file, r := export(t, s.Bus, transfer.Options{})
		if r.Trailer.Newer != 0 || r.Trailer.Malformed != 0 {
			t.Fatalf("%+v", r.Trailer)
		}
		if want, got := stateAt(t, s.Bus, r.Header.Seq), fileState(t, file); !maps.Equal(got, want) {
			t.Fatalf("of %d records at %d the file has %d, or others", len(want), r.Header.Seq, len(got))
		}
	}
}

func TestAnExportThatWasCutOffGoesOnAsOfItsPosition(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{History: 100_000}), files, resource.FeedOptions{})
	var ids []string
	for i := range 40 {
		ids = append(ids, idOf(submit(t, s, "User", resource.Create, fmt.Sprintf(`{"name":"a%d","email":"a%d@example.com"}`, i, i))))
	}
	whole, r := export(t, s.Bus, transfer.Options{})
	want := fileState(t, whole)
	for i, cut := range []int{len(whole) - 1, len(whole) / 2, len(whole) / 3, 400, bytes.IndexByte(whole, '\n') + 1} {
		submit(t, s, "User", resource.Update, fmt.Sprintf(`{"id":%q,"name":"later"}`, ids[i]))
		submit(t, s, "User", resource.Delete, fmt.Sprintf(`{"id":%q}`, ids[20+i]))
		submit(t, s, "User", resource.Create, `{"name":"younger"}`)
		var file bytes.Buffer
		got, err := transfer.Resume(t.Context(), s.Bus, bytes.NewReader(whole[:cut]), &file, transfer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Header.Position != r.Header.Position || got.Trailer.Newer != 0 || !maps.Equal(fileState(t, file.Bytes()), want) {
			t.Errorf("cut at %d: %+v, other records", cut, got)
		}
		mustLoad(t, bustest.New(t), file.Bytes(), transfer.ImportOptions{})
	}
	if _, err := transfer.Resume(t.Context(), s.Bus, bytes.NewReader(whole), &bytes.Buffer{}, transfer.Options{}); !errors.Is(err, transfer.ErrFinished) {
		t.Errorf("a whole one: %v", err)
	}
	if _, err := transfer.Resume(t.Context(), bustest.New(t), bytes.NewReader(whole[:1000]), &bytes.Buffer{}, transfer.Options{}); err == nil || !strings.Contains(err.Error(), "another log") {
		t.Errorf("another log: %v", err)
	}
	if _, err := transfer.Resume(t.Context(), s.Bus, bytes.NewReader(whole[:1000]), &bytes.Buffer{}, transfer.Options{Types: []string{"Note"}}); err == nil {
		t.Error("other types are taken")
	}
}

func TestWhatTheLogNoLongerKeepsIsWrittenAsItIsAndCounted(t *testing.T) {
	t.Parallel()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{History: 1}), files, resource.FeedOptions{})
	a, b := idOf(submit(t, s, "Note", resource.Create, `{"text":"a"}`)), idOf(submit(t, s, "Note", resource.Create, `{"text":"b"}`))
	whole, _ := export(t, s.Bus, transfer.Options{})
	submit(t, s, "Note", resource.Update, fmt.Sprintf(`{"id":%q,"text":"new"}`, b))
	var file bytes.Buffer
	r, err := transfer.Resume(t.Context(), s.Bus, bytes.NewReader(whole[:bytes.IndexByte(whole, '\n')+1]), &file, transfer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := fileState(t, file.Bytes())
	if r.Trailer.Newer != 1 || len(got) != 2 || !strings.Contains(got["Note."+b], "new") || got["Note."+a] == "" {
		t.Errorf("%+v %v", r.Trailer, got)
	}
}

func TestAnImportMakesTheSameRecordsOnceHoweverOftenItRuns(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, files)
	for i := range 300 {
		submit(t, s, "User", resource.Create, fmt.Sprintf(`{"name":"a%d \u003c \u00e9","email":"a%d@example.com","place":{"zip":"1","city":"Ulm"}}`, i, i))
	}
	submit(t, s, "Note", resource.Create, `{}`)
	file, _ := export(t, s.Bus, transfer.Options{})
	want := stateAt(t, s.Bus, last(t, s.Bus))

	to := resourcetest.New(t, files)
	for round := range 3 {
		r := mustLoad(t, to.Bus, file, transfer.ImportOptions{})
		what := resource.LoadedNew
		if round > 0 {
			what = resource.LoadedSame
		}
		if r.Loaded[what] != 301 {
			t.Fatalf("round %d: %v", round, r.Loaded)
		}
	}
	if got := stateAt(t, to.Bus, last(t, to.Bus)); !maps.Equal(got, want) {
		t.Error("other records were imported")
	}
	if n := last(t, to.Bus); n != 1+301+300 { // and the note on the schema
		t.Errorf("the log has %d messages", n)
	}
	_, err := to.Client.Submit(t.Context(), resource.Command{Type: "User", Verb: resource.Create, Input: json.RawMessage(`{"name":"x","email":"a7@example.com"}`), Who: admin})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("an imported unique value is free: %v", err)
	}
}

func TestAnImportThatWasCutOffIsRunAgain(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, files)
	for i := range 400 {
		submit(t, s, "User", resource.Create, fmt.Sprintf(`{"name":"a%d","email":"a%d@example.com"}`, i, i))
	}
	file, _ := export(t, s.Bus, transfer.Options{})
	to := bustest.New(t)
	m, err := schema.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cut := context.WithCancel(t.Context())
	_, err = transfer.Import(ctx, to, m, bytes.NewReader(file), transfer.ImportOptions{Progress: func(p transfer.Progress) {
		if p.Done >= 250 {
			cut()
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "run the import again") {
		t.Fatalf("%v", err)
	}
	r := mustLoad(t, to, file, transfer.ImportOptions{})
	if r.Loaded[resource.LoadedSame] < 250 || r.Loaded[resource.LoadedSame]+r.Loaded[resource.LoadedNew] != 400 {
		t.Errorf("%v", r.Loaded)
	}
	if !maps.Equal(stateAt(t, to, last(t, to)), stateAt(t, s.Bus, last(t, s.Bus))) {
		t.Error("other records")
	}
}

func TestConflictsOfAnImport(t *testing.T) {
	t.Parallel()
	file := []byte(`{"type":"User","record":{"id":"u1","name":"New","email":"n@example.com","tags":[],"createdAt":"2024-05-01T10:00:00Z"}}
{"type":"User","record":{"id":"u2","name":"Other","email":"o@example.com","tags":[],"createdAt":"2024-05-01T10:00:00Z"}}
`)
	old := bytes.Replace(bytes.SplitAfter(file, []byte("\n"))[0], []byte("New"), []byte("Old"), 1)
	for _, c := range []struct {
		how    resource.OnConflict
		fails  bool
		name   string
		loaded map[resource.Loaded]int
	}{
		{"", true, "Old", map[resource.Loaded]int{resource.LoadedNew: 1}},
		{resource.ConflictSkip, false, "Old", map[resource.Loaded]int{resource.LoadedNew: 1, resource.LoadedSkipped: 1}},
		{resource.ConflictReplace, false, "New", map[resource.Loaded]int{resource.LoadedNew: 1, resource.LoadedReplaced: 1}},
	} {
		b := bustest.New(t)
		mustLoad(t, b, old, transfer.ImportOptions{})
		r, err := load(t, b, file, transfer.ImportOptions{OnConflict: c.how, Dry: true})
		if (err != nil) != c.fails || !maps.Equal(r.Loaded, c.loaded) {
			t.Errorf("%s, dry: %v, %v", c.how, r.Loaded, err)
		}
		r, err = load(t, b, file, transfer.ImportOptions{OnConflict: c.how})
		if (err != nil) != c.fails || c.fails && (!errors.Is(err, transfer.ErrConflict) || !strings.Contains(err.Error(), `line 1: User "u1"`)) || !maps.Equal(r.Loaded, c.loaded) {
			t.Errorf("%s: %v, %v", c.how, r.Loaded, err)
		}
		if got := stateAt(t, b, last(t, b))["User.u1"]; !strings.Contains(got, c.name) {
			t.Errorf("%s: %s", c.how, got)
		}
	}
}

func TestUniqueValuesHoldDuringAnImport(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, files)
	submit(t, s, "User", resource.Create, `{"name":"here","email":"taken@example.com"}`)
	user := `{"type":"User","record":{"id":"%s","name":"n","email":"%s","tags":[],"createdAt":"2024-05-01T10:00:00Z"}}` + "\n"
	file := fmt.Sprintf(user, "a", "free@example.com") + fmt.Sprintf(user, "b", "taken@example.com") + fmt.Sprintf(user, "c", "free@example.com")
	for _, how := range []resource.OnConflict{resource.ConflictFail, resource.ConflictReplace} {
		r, err := load(t, s.Bus, []byte(file), transfer.ImportOptions{OnConflict: how})
		if !errors.Is(err, transfer.ErrConflict) || !strings.Contains(err.Error(), "line 2: another User has this email") || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%v, %v", r.Loaded, err)
		}
	}
	r := mustLoad(t, s.Bus, []byte(file), transfer.ImportOptions{OnConflict: resource.ConflictSkip})
	if r.Loaded[resource.LoadedSkipped] != 2 || r.Loaded[resource.LoadedSame] != 1 {
		t.Errorf("%v", r.Loaded)
	}
}

func TestAnIncrementalExportCarriesChangesAndDeletions(t *testing.T) {
	t.Parallel()
	s, to := resourcetest.New(t, files), resourcetest.New(t, files)
	var ids []string
	for i := range 300 {
		ids = append(ids, idOf(submit(t, s, "User", resource.Create, fmt.Sprintf(`{"name":"a%d","email":"a%d@example.com"}`, i, i))))
	}
	full, r := export(t, s.Bus, transfer.Options{})
	mustLoad(t, to.Bus, full, transfer.ImportOptions{})

	// Two that are far apart exchange a unique value by way of a third one.
	set := func(id, email string) {
		submit(t, s, "User", resource.Update, fmt.Sprintf(`{"id":%q,"email":%q}`, id, email))
	}
	set(ids[0], "between@example.com")
	set(ids[299], "a0@example.com")
	for i := 1; i < 290; i++ {
		submit(t, s, "User", resource.Update, fmt.Sprintf(`{"id":%q,"name":"b"}`, ids[i]))
	}
	set(ids[0], "a299@example.com")
	submit(t, s, "User", resource.Delete, fmt.Sprintf(`{"id":%q}`, ids[295]))
	submit(t, s, "User", resource.Create, `{"name":"heir","email":"a295@example.com"}`)

	after, err := resource.ParsePosition(r.Header.Position)
	if err != nil {
		t.Fatal(err)
	}
	more, r := export(t, s.Bus, transfer.Options{After: &after})
	if r.Trailer.Records != 292 || r.Trailer.Deleted != 1 {
		t.Errorf("%+v", r.Trailer)
	}
	for range 2 {
		mustLoad(t, to.Bus, more, transfer.ImportOptions{})
	}
	if !maps.Equal(stateAt(t, to.Bus, last(t, to.Bus)), stateAt(t, s.Bus, last(t, s.Bus))) {
		t.Error("the logs differ")
	}
	found, err := resource.Inspect(t.Context(), to.Bus, to.Model)
	if err != nil || found.Flawed > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := transfer.Export(t.Context(), to.Bus, &bytes.Buffer{}, transfer.Options{After: &after}); err == nil {
		t.Error("a position of another log is taken")
	}
}

func TestWatchersSeeWhatIsImported(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, files)
	w := make(watcher, 10)
	if _, err := s.Feed.Join(resource.FromNow, w); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, s.Bus, []byte(`{"type":"Note","record":{"id":"n.1","text":"hi"}}`), transfer.ImportOptions{})
	if e := <-w; e.ID != "n.1" || e.Kind != resource.Created {
		t.Errorf("%+v", e)
	}
	got, err := s.View.Get(t.Context(), "Note", []string{"n.1"})
	if err != nil || !strings.Contains(string(got[0]), "hi") {
		t.Errorf("%s, %v", got, err)
	}
}

type watcher chan resource.Event

func (w watcher) Offer(e resource.Event) { w <- e }

func TestFilesThatAreNotWholeOrDoNotFitAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, files)
	for i := range 5 {
		submit(t, s, "User", resource.Create, fmt.Sprintf(`{"name":"a%d"}`, i))
	}
	whole, _ := export(t, s.Bus, transfer.Options{})
	lines := bytes.SplitAfter(whole, []byte("\n"))
	good := `{"type":"Note","record":{"id":"n1","text":"x"}}` + "\n"
	for what, c := range map[string]struct{ file, say string }{
		"cut within a line":     {string(whole[:len(whole)/2]), "cut off"},
		"cut after a line":      {string(bytes.Join(lines[:3], nil)), "has no last line"},
		"a line is missing":     {string(bytes.Join(append(append([][]byte{}, lines[:2]...), lines[3:]...), nil)), "counts 5 records"},
		"a record was changed":  {strings.Replace(string(whole), `"a3"`, `"b3"`, 1), "checksum"},
		"two exports":           {string(whole) + string(whole), "one by one"},
		"a value that is wrong": {good + `{"type":"User","record":{"id":"u","name":7,"tags":[],"createdAt":"x"}}`, "line 2: User name"},
		"a constraint":          {`{"type":"User","record":{"id":"u","name":"` + strings.Repeat("x", 41) + `","createdAt":"2024-05-01T10:00:00Z"}}`, "line 1: User name"},
		"a field is missing":    {good + good + `{"type":"User","record":{"id":"u","createdAt":"2024-05-01T10:00:00Z"}}`, "line 3: User name is required"},
		"an unknown field":      {`{"type":"Note","record":{"id":"u","txt":"x"}}`, "no field txt; --drop-unknown"},
		"an unknown type":       {`{"type":"Ghost","record":{"id":"u"}}`, "no resource of this name"},
		"an unknown member":     {`{"type":"Note","record":{"id":"u"},"owner":"x"}`, "unknown field"},
		"no id":                 {`{"type":"Note","record":{"text":"x"}}`, "has no id"},
		"two ids":               {`{"type":"Note","id":"a","record":{"id":"b"}}`, "another id"},
		"no record":             {`{"type":"Note","id":"a"}`, `has no "record"`},
		"no JSON":               {"hello\n", "line 1"},
		"another format":        {`{"format":"tidings-export/9"}`, "tidings-export/1"},
	} {
		b := bustest.New(t)
		_, err := load(t, b, []byte(c.file), transfer.ImportOptions{})
		if !errors.Is(err, transfer.ErrFile) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", what, err)
		}
		if n := last(t, b); n != 0 {
			t.Errorf("%s: the log has %d messages", what, n)
		}
	}
	if _, err := load(t, bustest.New(t), []byte(`{"type":"Note","record":{"id":"u","txt":"x"}}`), transfer.ImportOptions{DropUnknown: true}); err != nil {
		t.Error(err)
	}
}

func TestPackedFilesAreReadAndResumed(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, files)
	for i := range 300 {
		submit(t, s, "User", resource.Create, fmt.Sprintf(`{"name":"a%d"}`, i))
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := transfer.Export(t.Context(), s.Bus, w, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r := mustLoad(t, bustest.New(t), packed.Bytes(), transfer.ImportOptions{}); r.Loaded[resource.LoadedNew] != 300 {
		t.Errorf("%v", r.Loaded)
	}
	half := packed.Bytes()[:packed.Len()/2]
	if _, err := load(t, bustest.New(t), half, transfer.ImportOptions{}); !errors.Is(err, transfer.ErrFile) {
		t.Errorf("a half of it: %v", err)
	}
	var file bytes.Buffer
	if _, err := transfer.Resume(t.Context(), s.Bus, bytes.NewReader(half), &file, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	if r := mustLoad(t, bustest.New(t), file.Bytes(), transfer.ImportOptions{}); r.Loaded[resource.LoadedNew] != 300 {
		t.Errorf("%v", r.Loaded)
	}
}

// A line decodes or is refused with words; what decodes is a line again.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		`{"format":"tidings-export/1","log":"x","position":"x-1","seq":1,"prefix":"tidings","time":"2024-05-01T10:00:00Z"}` + "\n",
		`{"type":"User","record":{"id":"u","name":"n","createdAt":"2024-05-01T10:00:00Z","place":{"city":"Ulm"}}}`,
		`{"type":"Note","id":"a","deleted":true,"record":{"id":"a"}}` + "\n",
		`{"end":true,"records":1,"deletions":0,"types":{},"sha256":""}`,
		"\x1f\x8b\x08", `{"type":"User","record":{"id":"\u0000"}}`, "[]", "null", `{"type":"Note","record":null}`,
	} {
		f.Add([]byte(seed))
	}
	m, err := schema.Load(files)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := transfer.Check(m, bytes.NewReader(file), transfer.ImportOptions{})
		if err != nil && !errors.Is(err, transfer.ErrFile) {
			t.Errorf("%q: %v", file, err)
		}
		if s.Records < 0 || s.Bytes > int64(len(file))*1100 { // what gzip can do at most
			t.Errorf("%+v", s)
		}
	})
}
