package view_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidings/view"
)

// these hands over changes as a source does.
func these(changes ...view.Change) view.Source {
	return func(add func([]view.Change) error) error { return add(changes) }
}

// everything is what a view says of posts in several orders, and of one by id.
func everything(t *testing.T, v *view.View, f fixture) (out []string) {
	t.Helper()
	for _, order := range [][]view.Order{nil, {{Field: f.created}}, {{Field: f.kind}, {Field: f.title, Desc: true}}} {
		page, err := v.List(t.Context(), view.Query{Type: "Post", First: 5000, Order: order})
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range page.Records {
			out = append(out, string(doc))
		}
	}
	return append(out, get(t, v, numbered(7))...)
}

func TestFillIsTheSameAsApply(t *testing.T) {
	t.Parallel()
	f := newFixture()
	one, two := open(t, f.model, ""), open(t, f.model, t.TempDir())
	changes := posts(0, 3000)
	if err := one.Apply(t.Context(), 3000, changes); err != nil {
		t.Fatal(err)
	}
	put(t, two, "Post", object{"id": "was here before"})
	get(t, two, "was here before") // it is remembered
	mixed := slices.Concat(changes[1000:], changes[:1000], []view.Change{
		{Seq: 1, Type: "GoneFromTheModel", ID: "x", Raw: []byte(`{}`)}, {Seq: 2, Type: "Post", ID: "deleted"}})
	if err := two.Fill(t.Context(), 3000, these(mixed...)); err != nil {
		t.Fatal(err)
	}
	more := posts(3000, 10) // and both go on
	more[0].ID, more[1].Raw = numbered(7), nil
	for _, v := range []*view.View{one, two} {
		if err := v.Apply(t.Context(), 3010, slices.Clone(more)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(everything(t, one, f), everything(t, two, f)) || two.Position() != 3010 {
		t.Error("they differ, position", two.Position())
	}
	if got := get(t, two, "was here before"); got[0] != "" {
		t.Errorf("found %s", got)
	}
}

func TestAFilledViewIsOpenedAgain(t *testing.T) {
	t.Parallel()
	f, dir := newFixture(), t.TempDir()
	v := open(t, f.model, dir)
	if err := v.Fill(t.Context(), 3000, these(posts(0, 3000)...)); err != nil {
		t.Fatal(err)
	}
	want := everything(t, v, f)
	copied := t.TempDir() // as a kill would leave it
	for _, name := range []string{"view.db", "view.db-wal"} {
		copyFile(t, filepath.Join(dir, name), filepath.Join(copied, name))
	}
	again := open(t, f.model, copied)
	if !slices.Equal(everything(t, again, f), want) || again.Position() != 3000 {
		t.Error("it is another one, position", again.Position())
	}
}

func TestAFillThatFailsLeavesTheViewAsItWas(t *testing.T) {
	t.Parallel()
	f, dir := newFixture(), t.TempDir()
	v := open(t, f.model, dir)
	put(t, v, "Post", object{"id": "a"}, object{"id": "b"})
	cause := errors.New("the log went away")
	cancelled, cancel := context.WithCancel(t.Context())
	many := posts(0, 2000)
	for name, test := range map[string]struct {
		ctx    context.Context
		upto   uint64
		source view.Source
		want   string
	}{
		"the source fails": {t.Context(), 2000, func(add func([]view.Change) error) error { return errors.Join(add(many), cause) }, "the log went away"},
		"it ends":          {cancelled, 2000, func(add func([]view.Change) error) error { cancel(); return add(slices.Concat(many, many, many)) }, "context canceled"},
		"no record":        {t.Context(), 2000, these(view.Change{Seq: 1, Type: "Post", ID: "x", Raw: []byte(`[]`)}), "not a JSON object"},
		"twice":            {t.Context(), 2000, these(many[0], many[0]), "UNIQUE"},
		"it would go back": {t.Context(), 1, these(many...), "it shows 2"},
	} {
		if err := v.Fill(test.ctx, test.upto, test.source); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := fmt.Sprint(get(t, v, "a", "b", numbered(1))); got != `[{"id":"a"} {"id":"b"} ]` || v.Position() != 2 {
			t.Errorf("%s: %s at %d", name, got, v.Position())
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*new*")); len(files) > 0 {
			t.Errorf("%s: left are %q", name, files)
		}
	}
	put(t, v, "Post", object{"id": "c"})
	if n, err := v.Count(t.Context(), "Post", nil, ""); n != 3 || err != nil {
		t.Error(n, err)
	}
}

// What a process that died while it built a view has left is thrown away.
func TestAnInterruptedFillBeginsAnew(t *testing.T) {
	t.Parallel()
	f, dir, copied := newFixture(), t.TempDir(), t.TempDir()
	v := open(t, f.model, dir)
	err := v.Fill(t.Context(), 9000, func(add func([]view.Change) error) error {
		if err := add(posts(0, 3000)); err != nil {
			return err
		}
		for _, name := range []string{"view.db", "view.db-wal", "view.new.db"} {
			copyFile(t, filepath.Join(dir, name), filepath.Join(copied, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	again := open(t, f.model, copied)
	if n, err := again.Count(t.Context(), "Post", nil, ""); n != 0 || again.Position() != 0 || err != nil {
		t.Errorf("%d records at %d, %v", n, again.Position(), err)
	}
	if _, err := os.Stat(filepath.Join(copied, "view.new.db")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the unfinished file is left:", err)
	}
}

// Reads go on while the view is filled and while the files are exchanged.
func TestReadsGoOnThroughAFill(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := open(t, f.model, "")
	put(t, v, "Post", plain(20)...)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			for {
				if got := get(t, v, numbered(i)); got[0] == "" {
					t.Error("a record was away")
				}
				page, err := v.List(t.Context(), view.Query{Type: "Post", First: 20})
				if err != nil || len(page.Records) != 20 {
					t.Errorf("%d records, %v", len(page.Records), err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range uint64(5) {
		if err := v.Fill(t.Context(), 3000+i, these(posts(0, 500)...)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}

func plain(n int) (records []object) {
	for i := range n {
		records = append(records, object{"id": numbered(i)})
	}
	return records
}
