package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"tidings/bus"
)

// Process is a process of the service, as it reports itself.
type Process struct {
	ID, Host string
	Role     string // api, worker, or api and worker
	Version  string
	NotReady string   // why it is not; empty: it is ready
	Draining bool     // it is about to end
	Open     []string // what its circuit breakers keep from being asked
}

// Processes looks once at all processes whose console is on, and returns those that
// have reported themselves within a while, by their roles and hosts. The error says
// that the bus does not let this one hear them.
func Processes(ctx context.Context, b *bus.Bus, within time.Duration) ([]Process, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	l := look{From: rand.Text()[:idLength], Nth: 1}
	data, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := map[string]Process{}
	asked := func() { err = b.Publish(b.Subjects().Control("look"), nil, data) }
	heard := b.Subscribe(ctx, b.Subjects().Control("report"), asked, func(m bus.Message) {
		r, err := decodeReport(m.Data)
		if err != nil || r.To != l.From {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		found[r.ID] = Process{ID: r.ID, Host: r.Host, Role: r.Role, Version: r.Version, NotReady: r.NotReady, Draining: r.Draining, Open: r.Open}
	})
	if err := errors.Join(heard, err); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID))
	}), nil
}
