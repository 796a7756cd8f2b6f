package resource_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
)

// The log stores a change and is gone before it says so, until nobody waits any
// more: who asked is not told that nothing has happened.
func TestAChangeThatMayHaveHappenedIsNotToldAsUndone(t *testing.T) {
	t.Parallel()
	// What tells that the last of it is on its way to the server: the connection
	// is cut when that has passed.
	last := map[string]string{"a command": "Tidings-Command: cut-1", "a transaction": "Nats-Batch-Commit: 1"}
	for name, carry := range map[string]func(ctx context.Context, w *resource.Worker) error{
		"a command": func(ctx context.Context, w *resource.Worker) error {
			_, err := w.Carry(ctx, resource.Command{Type: "Slip", Verb: resource.Create, Who: alice, ID: "cut-1", Input: json.RawMessage(`{"text":"s"}`)})
			return err
		},
		"a transaction": func(ctx context.Context, w *resource.Worker) error {
			_, err := w.CarryAll(ctx, resource.Transaction{Who: alice, ID: "cut-1", Changes: []resource.Change{
				change("Slip", resource.Create, `{"text":"s"}`), change("Slip", resource.Create, `{"text":"t"}`)}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
			proxy := newCutter(t, server.URL(), last[name])
			b := bustest.Open(t, bus.Options{URL: "nats://" + proxy.Addr().String(), Memory: true})
			w := resource.NewWorker(b, warehouseModel(t), resource.WorkerOptions{})
			_ = proxy.Close() // who loses the connection finds no other one
			proxy.cuts.Store(1)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := carry(ctx, w); !fault.Is(err, fault.Timeout) {
				t.Errorf("%v", err)
			}
			if end(t, server) == 0 {
				t.Error("nothing was stored")
			}
		})
	}
}
