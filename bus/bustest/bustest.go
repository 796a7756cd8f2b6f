// Package bustest gives tests a real bus: the embedded server, in memory.
package bustest

import (
	"context"
	"testing"
	"time"

	"tidings/bus"
)

// New opens a bus whose log lives in memory and ends with the test. Each has a
// server of its own.
func New(t testing.TB) *bus.Bus {
	t.Helper()
	return Open(t, bus.Options{})
}

// Dir opens a bus whose log is kept in the directory, so that a test may close
// it and open it again.
func Dir(t testing.TB, dir string) *bus.Bus {
	t.Helper()
	return Open(t, bus.Options{Dir: dir})
}

// Open opens a bus with any options. It is closed with the test; closing it
// before does no harm.
func Open(t testing.TB, o bus.Options) *bus.Bus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := bus.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return b
}
