package boot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidings/bus"
)

// notes are the texts of all notes, as a query shows them.
func (h *house) notes(t *testing.T) string {
	t.Helper()
	return h.execute(t, `{ notes { nodes { text } } }`)
}

func (h *house) note(t *testing.T, text string) {
	t.Helper()
	if got := h.execute(t, fmt.Sprintf(`mutation { createNote(input: {text: %q}) { text } }`, text)); strings.Contains(got, "errors") {
		t.Fatal(got)
	}
}

// A log that was restored from a backup holds less than the view shows, or by now
// something else: either way the view is built anew at the start.
func TestAViewOfALogThatIsNoMoreIsBuiltAnewAtTheStart(t *testing.T) {
	data, views, backup := t.TempDir(), t.TempDir(), t.TempDir()
	run := func(what string, use func(t *testing.T, h *house)) {
		t.Run(what, func(t *testing.T) {
			h := prepared(t, "--view", views, "--data", data)
			h.run(t)
			use(t, h)
		})
	}
	copyTo := func(to, from string) {
		t.Helper()
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	run("the first note", func(t *testing.T, h *house) { h.note(t, "kept") })
	copyTo(filepath.Join(backup, "data"), data)
	run("what the backup lacks", func(t *testing.T, h *house) {
		h.note(t, "lost")
		h.note(t, "lost, too")
	})
	copyTo(filepath.Join(backup, "views"), views)
	copyTo(data, filepath.Join(backup, "data"))
	run("the backup", func(t *testing.T, h *house) {
		if got := h.notes(t); got != `{"data":{"notes":{"nodes":[{"text":"kept"}]}}}` {
			t.Error("the log is shorter:", got)
		}
		for i := range 9 {
			h.note(t, fmt.Sprint("new ", i))
		}
	})
	copyTo(views, filepath.Join(backup, "views"))
	run("the backup has grown", func(t *testing.T, h *house) {
		if got := h.notes(t); strings.Contains(got, "lost") || strings.Count(got, "new") != 9 || !strings.Contains(got, "kept") {
			t.Error("the log is longer:", got)
		}
	})
}

// There is no room for a second view: the schema in service stays, and it goes on
// to serve. When there is room the reload succeeds.
func TestAReloadWithoutRoomOnTheDiskIsRefused(t *testing.T) {
	views := t.TempDir()
	small(t, views)
	h := prepared(t, "--view", views)
	h.run(t)
	body := strings.Repeat("x", 60_000)
	for i := range 300 {
		id := fmt.Sprintf("n%03d", i)
		if _, err := h.Bus.Append(t.Context(), bus.Entry{Subject: h.Bus.Subjects().Record("Note", id), Header: bus.Header{"Tidings-Kind": {"CREATED"}},
			Data: fmt.Appendf(nil, `{"id":%q,"text":%q}`, id, body)}); err != nil {
			t.Fatal(err)
		}
	}
	h.note(t, "the last one")
	e, done := h.Use()
	err := e.View.Sync(t.Context())
	done()
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(views, "ballast")
	fill(t, ballast, 8<<20)

	h.write(t, turns[1])
	h.hangup(t)
	until(t, "it is refused", func() bool { return strings.Contains(h.told(), "full") })
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(h.execute(t, `mutation { createNote(input: {text: "still"}) { id } }`))
	if id == nil {
		t.Fatal("nothing can be written")
	}
	if got := h.execute(t, fmt.Sprintf(`{ note(id: %q) { text } }`, id[1])); got != `{"data":{"note":{"text":"still"}}}` {
		t.Error(got)
	}
	until(t, "nothing is left of it", func() bool {
		dirs, err := filepath.Glob(filepath.Join(views, strings.Repeat("[0-9a-f]", 16)))
		return err == nil && len(dirs) == 1
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	h.reload(t, turns[2])
	h.note(t, "and again")
}

// fill leaves so many bytes of a small disk free.
func fill(t *testing.T, ballast string, leave int) {
	t.Helper()
	if err := os.WriteFile(ballast, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free := freeBytes(t, filepath.Dir(ballast))
	if err := os.WriteFile(ballast, make([]byte, max(0, free-leave)), 0o600); err != nil {
		t.Fatal(err)
	}
}
