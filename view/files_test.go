package view_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/view"
)

func TestOpenContinuesFromItsPosition(t *testing.T) {
	t.Parallel()
	f := newFixture()
	dir := filepath.Join(t.TempDir(), "with space, ä, #, % and ?")
	v := open(t, f.model, dir)
	put(t, v, "Post", object{"id": "a"}, object{"id": "b"})
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, f.model, dir)
	if n, err := again.Count(t.Context(), "Post", nil, ""); n != 2 || again.Position() != 2 || err != nil {
		t.Fatal(n, again.Position(), err)
	}
}

func TestACondemnedViewIsBuiltAnew(t *testing.T) {
	t.Parallel()
	f := newFixture()
	dir := t.TempDir()
	v := open(t, f.model, dir)
	put(t, v, "Post", object{"id": "a"})
	if err := v.Condemn(); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the sentence is served once
		again := open(t, f.model, dir)
		if n, err := again.Count(t.Context(), "Post", nil, ""); n != 0 || again.Position() != 0 || err != nil {
			t.Fatal(n, again.Position(), err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRebuildsWhatIsOfNoUse(t *testing.T) {
	t.Parallel()
	execute := func(query string) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			db, err := sql.Open("sqlite", file)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(data string) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := func(*testing.T, string) {}
	for name, test := range map[string]struct {
		spoil              func(*testing.T, string)
		fingerprint, logID string
		reason             string
	}{
		"another schema": {nothing, "f2", "log1", "the schema changed"},
		"another log":    {nothing, "f1", "log2", "the log is another one"},
		"another format": {execute("PRAGMA user_version=999"), "f1", "log1", "its format is 999"},
		"no meta table":  {execute("DROP TABLE meta"), "f1", "log1", "it cannot be read"},
		"never finished": {execute("DELETE FROM meta"), "f1", "log1", "it was never finished"},
		"no database":    {write(strings.Repeat("not a database! ", 256)), "f1", "log1", "it cannot be read"},
		"an empty file":  {write(""), "f1", "log1", "its format is 0"},
		"removed":        {func(t *testing.T, file string) { _ = os.Remove(file) }, "f1", "log1", "there is none yet"},
		"marked as damaged": {func(t *testing.T, file string) {
			write("")(t, strings.TrimSuffix(file, ".db")+".damaged")
		}, "f1", "log1", "it was found damaged"},
		"a header torn": {func(t *testing.T, file string) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			copy(data[100:], bytes.Repeat([]byte{0xff}, 2000))
			write(string(data))(t, file)
		}, "f1", "log1", "it cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			dir := t.TempDir()
			v := open(t, f.model, dir)
			put(t, v, "Post", object{"id": "a"})
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			test.spoil(t, filepath.Join(dir, "view.db"))
			f.model.Fingerprint = test.fingerprint
			for _, want := range []string{test.reason, ""} { // the second time there is nothing to rebuild
				var log bytes.Buffer
				v, err := view.Open(t.Context(), f.model, test.logID, view.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				n, err := v.Count(t.Context(), "Post", nil, "")
				if n != 0 || err != nil || v.Position() != 0 || !strings.Contains(log.String(), want) || want == "" && log.Len() > 0 {
					t.Errorf("%d records at %d, %v, log %q, want %q", n, v.Position(), err, &log, want)
				}
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestDamageFoundLaterIsRebuiltByTheNextOpen(t *testing.T) {
	t.Parallel()
	f := newFixture()
	dir := t.TempDir()
	v := open(t, f.model, dir)
	var records []object
	for i := range 2000 {
		records = append(records, object{"id": numbered(i), "content": strings.Repeat("x", 500)})
	}
	put(t, v, "Post", records...)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "view.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(data) / 2; at < len(data)/2+40*4096; at += 4096 {
		page := data[at/4096*4096:]
		copy(page[:200], bytes.Repeat([]byte{0xee}, 200))
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	v = open(t, f.model, dir)
	failed := false
	for i := range records {
		if _, err := v.Get(t.Context(), "Post", []string{numbered(i)}); err != nil {
			failed = true
			if !errors.Is(err, view.ErrDamaged) {
				t.Error(err)
			}
		}
	}
	if !failed {
		t.Fatal("the damage was not met")
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if v = open(t, f.model, dir); v.Position() != 0 {
		t.Error("not rebuilt, position", v.Position())
	}
}

func TestSecondOpenOfADirectoryIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	f := newFixture()
	dir := t.TempDir()
	v := open(t, f.model, dir)
	put(t, v, "Post", object{"id": "a"})
	_, err := view.Open(t.Context(), f.model, "log2", view.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "data directory of its own") {
		t.Fatal(err)
	}
	if n, err := v.Count(t.Context(), "Post", nil, ""); n != 1 || err != nil {
		t.Error("the first was harmed:", n, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, f.model, dir)
}

func TestTemporaryDirectoryIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	v, err := view.Open(t.Context(), newFixture().model, "l", view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Error("left:", left)
	}
}

func TestDirectoryThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := view.Open(t.Context(), newFixture().model, "l", view.Options{Dir: filepath.Join(file, "below")}); err == nil {
		t.Error("no error")
	}
}

func TestRemoveLeavesWhatIsNoView(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "0123456789abcdef")
	v := open(t, newFixture().model, dir)
	put(t, v, "Post", object{"id": "a"})
	if err := view.Remove(t.Context(), dir); err == nil {
		t.Fatal("a view in use was removed")
	}
	if n, err := v.Count(t.Context(), "Post", nil, ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	letter := filepath.Join(dir, "letter")
	if err := os.WriteFile(letter, []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := view.Remove(t.Context(), dir); err == nil {
		t.Error("what lay beside the view was passed over in silence")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || files[0].Name() != "letter" {
		t.Fatalf("left are %v, %v", files, err)
	}
	if err := os.Remove(letter); err != nil {
		t.Fatal(err)
	}
	if err := view.Remove(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

// A file that lost its end, as a copy that was cut short has, is noticed at the
// start or by the first who reads there; either way it is built anew.
func TestATruncatedFileIsNoticed(t *testing.T) {
	t.Parallel()
	for _, part := range []int64{0, 1, 50, 100, 512, 4096, 5000, 100_000, -4096, -1} {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			f, dir := newFixture(), t.TempDir()
			v := open(t, f.model, dir)
			if err := v.Apply(t.Context(), 1000, posts(0, 1000)); err != nil {
				t.Fatal(err)
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "view.db")
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			size := part
			if part < 0 {
				size += info.Size()
			}
			if err := os.Truncate(file, size); err != nil {
				t.Fatal(err)
			}
			v = open(t, f.model, dir)
			if v.Position() > 0 {
				t.Errorf("a file of %d bytes, of %d, is opened at position %d", size, info.Size(), v.Position())
			}
		})
	}
}
