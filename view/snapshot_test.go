package view_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidings/view"
)

// snapshotOf returns a snapshot's bytes.
func snapshotOf(t testing.TB, v *view.View) (packed []byte, position uint64, size int64) {
	t.Helper()
	s, err := v.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	packed, err = io.ReadAll(s)
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return packed, s.Position, s.Bytes
}

func from(packed []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(packed)
		return err
	}
}

func anything(uint64, []view.Mark) error { return nil }

func TestARestoredViewIsTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture()
	one, two := open(t, f.model, t.TempDir()), open(t, f.model, t.TempDir())
	if err := one.Apply(t.Context(), 2000, posts(0, 2000)); err != nil {
		t.Fatal(err)
	}
	packed, position, size := snapshotOf(t, one)
	if position != 2000 || int64(len(packed)) > size/2 {
		t.Errorf("position %d, %d bytes of %d", position, len(packed), size)
	}
	if err := two.Restore(t.Context(), size, from(packed), anything); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(everything(t, one, f), everything(t, two, f)) || two.Position() != 2000 {
		t.Error("they differ, position", two.Position())
	}
	for _, v := range []*view.View{one, two} { // and both go on
		if err := v.Apply(t.Context(), 2010, posts(2000, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(everything(t, one, f), everything(t, two, f)) {
		t.Error("they differ later")
	}
}

// A snapshot holds nothing of what was deleted before it was taken.
func TestASnapshotHoldsNothingThatWasDeleted(t *testing.T) {
	t.Parallel()
	f, dir := newFixture(), t.TempDir()
	v := open(t, f.model, dir)
	put(t, v, "Post", object{"id": "a", "content": "a secret of somebody"}, object{"id": "b", "content": "no secret"})
	if err := v.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	remove(t, v, "a")
	packed, _, size := snapshotOf(t, v)
	other := t.TempDir()
	if err := open(t, f.model, other).Restore(t.Context(), size, from(packed), anything); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(other, "view.db"))
	if err != nil || bytes.Contains(data, []byte("a secret")) || !bytes.Contains(data, []byte("no secret")) {
		t.Error("it is not clean", err)
	}
}

func TestASnapshotOfNoUseIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := open(t, f.model, t.TempDir())
	if err := v.Apply(t.Context(), 500, posts(0, 500)); err != nil {
		t.Fatal(err)
	}
	packed, _, size := snapshotOf(t, v)
	changed := slices.Clone(packed)
	changed[len(changed)/2] ^= 1
	cause := errors.New("the line was cut")
	foreign := newFixture()
	foreign.model.Fingerprint = "f2"
	otherSchema, _, otherSize := snapshotOf(t, open(t, foreign.model, ""))
	otherView, err := view.Open(t.Context(), f.model, "log2", view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer otherView.Close()
	otherLog, _, logSize := snapshotOf(t, otherView)

	dir := t.TempDir()
	w := open(t, f.model, dir)
	put(t, w, "Post", object{"id": "a"})
	for name, test := range map[string]struct {
		packed []byte
		size   int64
		fits   error
		want   string
	}{
		"cut short":       {packed[:len(packed)-100], size, nil, "unexpected EOF"},
		"empty":           {nil, size, nil, "bytes that it should have"},
		"a bit changed":   {changed, size, nil, ""},
		"more than said":  {packed, size - 4096, nil, "bytes that it should have"},
		"less than said":  {packed, size + 4096, nil, "bytes that it should have"},
		"no snapshot":     {[]byte("hello"), size, nil, "magic"},
		"another schema":  {otherSchema, otherSize, nil, "the schema changed"},
		"another log":     {otherLog, logSize, nil, "the log is another one"},
		"not of this log": {packed, size, errors.New("it does not fit"), "it does not fit"},
		"broken off":      {nil, size, nil, "the line was cut"},
		"too large":       {packed, 1 << 60, nil, "MiB are free"},
	} {
		err := w.Restore(t.Context(), test.size, func(to io.Writer) error {
			if name == "broken off" {
				_, err := to.Write(packed[:len(packed)/2])
				return errors.Join(err, cause)
			}
			return from(test.packed)(to)
		}, func(uint64, []view.Mark) error { return test.fits })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := get(t, w, "a", numbered(1)); got[0] != `{"id":"a"}` || got[1] != "" || w.Position() != 1 {
			t.Errorf("%s: %q at %d", name, got, w.Position())
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*new*")); len(files) > 0 {
			t.Errorf("%s: left are %q", name, files)
		}
	}
	put(t, w, "Post", object{"id": "b"})
	if n, err := w.Count(t.Context(), "Post", nil, ""); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// A snapshot is of one position, whatever is applied meanwhile.
func TestASnapshotIsOfOnePosition(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := open(t, f.model, t.TempDir())
	for range 5 {
		var writer sync.WaitGroup
		writer.Go(func() {
			for range 300 {
				put(t, v, "Post", object{"id": numbered(int(v.Position()))})
			}
		})
		packed, position, size := snapshotOf(t, v)
		writer.Wait()
		w := open(t, f.model, "")
		if position == 0 {
			continue
		}
		if err := w.Restore(t.Context(), size, from(packed), anything); err != nil {
			t.Error(err)
		}
		if n, err := w.Count(t.Context(), "Post", nil, ""); uint64(n) != position || w.Position() != position || err != nil {
			t.Errorf("%d records at %d, the snapshot says %d, %v", n, w.Position(), position, err)
		}
	}
}

// What a process that died while it made a snapshot has left is removed.
func TestAnInterruptedSnapshotLeavesNothing(t *testing.T) {
	t.Parallel()
	f, dir := newFixture(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "view.snapshot.db"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := open(t, f.model, dir)
	put(t, v, "Post", object{"id": "a"})
	s, err := v.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // unread
		t.Error(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*snapshot*")); len(files) > 0 {
		t.Errorf("left are %q", files)
	}
}

func FuzzRestore(f *testing.F) {
	fix := newFixture()
	v := open(f, fix.model, "")
	put(f, v, "Post", object{"id": "a"})
	packed, _, size := snapshotOf(f, v)
	f.Add(packed, size)
	f.Add(packed[:len(packed)/2], size)
	f.Add([]byte{}, int64(0))
	w := open(f, fix.model, "")
	f.Fuzz(func(t *testing.T, packed []byte, size int64) {
		size &= 1<<20 - 1
		if err := w.Restore(t.Context(), size, from(packed), func(uint64, []view.Mark) error { return errors.New("never") }); err == nil {
			t.Error("restored")
		}
		if w.Position() != 0 {
			t.Error("position", w.Position())
		}
	})
}
