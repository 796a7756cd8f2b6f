package view

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"tidings/schema"
)

func TestWriteAheadLogStaysBounded(t *testing.T) {
	t.Parallel()
	post := &schema.Resource{Name: "Post", Fields: []*schema.Field{{Name: "id", Kind: schema.KindID, Indexed: true}}}
	v, err := Open(t.Context(), &schema.Model{Resources: []*schema.Resource{post}}, "log", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	raw := []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	grow := func() int64 {
		from := v.Position()
		var changes []Change
		for i := range uint64(maxWAL>>20 + 2) {
			changes = append(changes, Change{Seq: from + i + 1, Type: "Post", ID: fmt.Sprint(from + i), Raw: raw})
		}
		if err := v.Apply(t.Context(), changes[len(changes)-1].Seq, changes); err != nil {
			t.Fatal(err)
		}
		if err := v.write(t.Context(), v.Position()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(v.files.path(dataFile + "-wal"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size := grow(); size != 0 {
		t.Errorf("%d bytes, though nobody reads", size)
	}
	records := int(maxWAL>>20 + 2)
	r, err := v.reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = r.snapshot(t.Context(), func(ctx context.Context) error { // a read that takes long
		if n, err := r.number(ctx, "SELECT count(*) FROM Post", nil); n != records || err != nil {
			t.Error(n, err)
		}
		if size := grow(); size < maxWAL {
			t.Errorf("%d bytes: emptied under a reader", size)
		}
		n, err := r.number(ctx, "SELECT count(*) FROM Post", nil)
		if n != records {
			t.Error("the reader's state changed")
		}
		return err
	})
	v.giveBack(r)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if size := grow(); size > 3*maxWAL {
			t.Errorf("%d bytes, though nothing is in the way", size)
		}
	}
}
