package bus_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
)

func bytesOf(n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(n)})
	data := make([]byte, n)
	_, _ = r.Read(data) // never fails
	return data
}

func TestObjectsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	o := b.Objects(bus.ObjectsOptions{Name: "views"})
	if list, err := o.List(t.Context()); len(list) != 0 || err != nil {
		t.Fatal("without a store: ", list, err)
	}
	if err := errors.Join(o.Delete(t.Context(), "none"), o.Sweep(t.Context(), time.Now())); err != nil {
		t.Fatal(err)
	}
	if err := o.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{"empty": 0, "one": 1, "a chunk": 128 << 10, "large": 9<<20 + 7}
	for name, size := range sizes {
		if err := o.Write(t.Context(), name, map[string]string{"of": name}, iotest.HalfReader(bytes.NewReader(bytesOf(size)))); err != nil {
			t.Fatal(err)
		}
	}
	list, err := o.List(t.Context())
	if err != nil || len(list) != len(sizes) {
		t.Fatal(list, err)
	}
	for _, x := range list {
		var got bytes.Buffer
		if err := o.Read(t.Context(), x, &got); err != nil || !bytes.Equal(got.Bytes(), bytesOf(sizes[x.Name])) || !maps.Equal(x.Meta, map[string]string{"of": x.Name}) {
			t.Errorf("%s: %d bytes, %v", x.Name, got.Len(), err)
		}
		if err := o.Delete(t.Context(), x.Name); err != nil {
			t.Error(err)
		}
		if err := o.Read(t.Context(), x, io.Discard); (err == nil) != (x.Size == 0) {
			t.Errorf("%s was deleted and read: %v", x.Name, err)
		}
	}
	if list, err := o.List(t.Context()); len(list) != 0 || err != nil {
		t.Error("left are ", list, err)
	}
}

// What a writer left that was interrupted is no object, and Sweep removes it.
func TestAnInterruptedWriteLeavesNoObject(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	o := b.Objects(bus.ObjectsOptions{Name: "views"})
	if err := o.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk broke")
	if err := o.Write(t.Context(), "x", nil, io.MultiReader(bytes.NewReader(bytesOf(300<<10)), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := o.Write(t.Context(), "whole", nil, strings.NewReader("whole")); err != nil {
		t.Fatal(err)
	}
	bus.PutOrphan(t, o, bytesOf(1000))
	if n := bus.Chunks(t, o); n != 2 {
		t.Fatalf("%d sets of chunks", n)
	}
	if err := o.Sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || bus.Chunks(t, o) != 2 {
		t.Fatal("it may be written just now: ", err)
	}
	if err := o.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := bus.Chunks(t, o); n != 1 {
		t.Errorf("%d sets of chunks are left", n)
	}
	list, err := o.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "whole" {
		t.Fatal(list, err)
	}
	var got strings.Builder
	if err := o.Read(t.Context(), list[0], &got); err != nil || got.String() != "whole" {
		t.Error(got.String(), err)
	}
}
