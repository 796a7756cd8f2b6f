package view_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidings/view"
)

func get(t *testing.T, v records, ids ...string) []string {
	t.Helper()
	docs, err := v.Get(t.Context(), "Post", ids)
	if err != nil {
		t.Fatal(err)
	}
	found := make([]string, len(docs))
	for i, doc := range docs {
		found[i] = string(doc)
	}
	return found
}

func remove(t *testing.T, v records, id string) {
	t.Helper()
	at := v.Position() + 1
	if err := v.Apply(t.Context(), at, []view.Change{{Seq: at, Type: "Post", ID: id}}); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it never came about: ", what)
		}
	}
}

// While the file cannot be written, reads by id show what was applied: new,
// changed and deleted records, and together with what the file has.
func TestGetShowsWhatTheFileLacks(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int{"remembering": 0, "remembering nothing": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := view.Open(t.Context(), newFixture().model, "log1", view.Options{Memory: memory})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			put(t, v, "Post", object{"id": "a"}, object{"id": "b"}, object{"id": "c"}, object{"id": "d"})
			if n, err := v.Count(t.Context(), "Post", nil, ""); n != 4 || err != nil {
				t.Fatal(n, err)
			}
			release := view.Hold(v)
			put(t, v, "Post", object{"id": "a", "minutes": 1}, object{"id": "e"})
			remove(t, v, "b")
			remove(t, v, "d")
			put(t, v, "Post", object{"id": "a", "minutes": 2}, object{"id": "d", "minutes": 3})
			want := `[{"id":"a","minutes":2}  {"id":"c"} {"id":"d","minutes":3} {"id":"e"} ]`
			for range 2 {
				if got := fmt.Sprint(get(t, v, "a", "b", "c", "d", "e", "f")); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if got := get(t, v, "b"); got[0] != "" {
					t.Errorf("deleted: %s", got)
				}
			}
			if n := view.Unwritten(v); n != 4 {
				t.Errorf("%d records wait, want each once", n)
			}
			release()
			eventually(t, "the file has everything", func() bool { return view.Unwritten(v) == 0 })
			if got := fmt.Sprint(get(t, v, "a", "b", "c", "d", "e", "f")); got != want {
				t.Errorf("from the file %s, want %s", got, want)
			}
		})
	}
}

// A read over a type with changes that the file lacks waits for them no longer
// than its context; a read over another type does not wait at all.
func TestAListWaitsForTheFileAsLongAsItMay(t *testing.T) {
	t.Parallel()
	v := open(t, newFixture().model, "")
	put(t, v, "User", object{"id": "u"})
	if n, err := v.Count(t.Context(), "User", nil, ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	release := view.Hold(v)
	put(t, v, "Post", object{"id": "a"})
	if n, err := v.Count(t.Context(), "User", nil, ""); n != 1 || err != nil {
		t.Error(n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := v.List(ctx, view.Query{Type: "Post"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	release()
	page, err := v.List(t.Context(), view.Query{Type: "Post"})
	if err != nil || len(page.Records) != 1 {
		t.Error(page, err)
	}
}

// However fast changes come, a bounded number waits for the file.
func TestWhatTheFileLacksIsBounded(t *testing.T) {
	t.Parallel()
	v := open(t, newFixture().model, "")
	const batch = 700
	for i := range 8 {
		var records []object
		for j := range batch {
			records = append(records, object{"id": numbered(i*batch + j)})
		}
		put(t, v, "Post", records...)
		if n := view.Unwritten(v); n > 2*(view.MaxUnwritten+batch) {
			t.Fatalf("%d records wait", n)
		}
	}
}

// A full disk ends no process by itself: what was applied stays readable by id,
// and reads and applies that need the file say what is wrong until there is
// room. Nothing is lost.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := open(t, newFixture().model, dir)
	put(t, v, "Post", object{"id": "a", "content": "first"})
	if err := view.Fill(t.Context(), v, true); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 1<<20)
	put(t, v, "Post", object{"id": "b", "content": big}, object{"id": "a", "content": "second"})
	if _, err := v.Count(t.Context(), "Post", nil, ""); err == nil {
		t.Fatal("counted without the file")
	}
	at := v.Position()
	eventually(t, "Apply says so", func() bool {
		return v.Apply(t.Context(), at+1, []view.Change{{Seq: at + 1, Type: "Post", ID: "c", Raw: []byte(`{"id":"c"}`)}}) != nil
	})
	if v.Position() != at {
		t.Errorf("the position moved from %d to %d", at, v.Position())
	}
	if got := get(t, v, "a", "b", "c"); got[0] != `{"content":"second","id":"a"}` || len(got[1]) < len(big) || got[2] != "" {
		t.Errorf("%.80q", got)
	}
	if err := view.Fill(t.Context(), v, false); err != nil {
		t.Fatal(err)
	}
	put(t, v, "Post", object{"id": "c"})
	if n, err := v.Count(t.Context(), "Post", nil, ""); n != 3 || err != nil {
		t.Error(n, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, newFixture().model, dir)
	if got := get(t, again, "a"); got[0] != `{"content":"second","id":"a"}` || again.Position() != at+1 {
		t.Errorf("%q at %d, want position %d", got, again.Position(), at+1)
	}
}

// A process that dies takes with it what the file lacks. The file knows its
// position, and the same changes given again lead to the same view.
func TestWhatDiedBeforeItReachedTheFileIsAppliedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := open(t, newFixture().model, dir)
	put(t, v, "Post", object{"id": "a"}, object{"id": "b"})
	if n, err := v.Count(t.Context(), "Post", nil, ""); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	at := v.Position()
	release := view.Hold(v)
	defer release()
	lost := []view.Change{
		{Seq: at + 1, Type: "Post", ID: "a", Raw: []byte(`{"id":"a","minutes":1}`)},
		{Seq: at + 2, Type: "Post", ID: "b"},
		{Seq: at + 3, Type: "Post", ID: "c", Raw: []byte(`{"id":"c"}`)},
	}
	if err := v.Apply(t.Context(), at+3, lost); err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir() // the files as a kill would leave them
	for _, name := range []string{"view.db", "view.db-wal"} {
		copyFile(t, filepath.Join(dir, name), filepath.Join(copied, name))
	}
	again := open(t, newFixture().model, copied)
	if n, err := again.Count(t.Context(), "Post", nil, ""); n != 2 || again.Position() != at || err != nil {
		t.Fatal(n, again.Position(), err)
	}
	if err := again.Apply(t.Context(), at+3, lost); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(get(t, again, "a", "b", "c")); got != `[{"id":"a","minutes":1}  {"id":"c"}]` {
		t.Error(got)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a record was is told whether it was remembered, waits for the file, is
// in the file, or was deleted a moment ago.
func TestApplyTellsWhatARecordWasBeforeTheFileKnows(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int{"remembering": 0, "remembering nothing": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := openWith(t, newFixture().model, view.Options{Memory: memory})
			put(t, v, "Post", object{"id": "a", "minutes": 1}, object{"id": "b", "minutes": 1}, object{"id": "c", "minutes": 1})
			if n, err := v.Count(t.Context(), "Post", nil, ""); n != 3 || err != nil {
				t.Fatal(n, err)
			}
			get(t, v, "a")
			defer view.Hold(v)()
			put(t, v, "Post", object{"id": "b", "minutes": 2})
			remove(t, v, "c")
			at := v.Position()
			changes := []view.Change{
				{Seq: at + 1, Type: "Post", ID: "a", Look: true},
				{Seq: at + 2, Type: "Post", ID: "b", Look: true},
				{Seq: at + 3, Type: "Post", ID: "c", Look: true},
				{Seq: at + 4, Type: "Post", ID: "d", Look: true},
			}
			if err := v.Apply(t.Context(), at+4, changes); err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{`{"id":"a","minutes":1}`, `{"id":"b","minutes":2}`, "", ""} {
				if got := string(changes[i].Before); got != want {
					t.Errorf("change %d: before it %q, want %q", i, got, want)
				}
			}
		})
	}
}
