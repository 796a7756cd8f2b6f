package realtime

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// tenure is the time in which one engine serves the hub.
type tenure struct {
	engine  Engine
	users   sync.WaitGroup // what runs on the engine, subscriptions aside
	retired atomic.Bool    // another engine follows: nothing begins here
}

// use returns the engine of the moment; the caller calls users.Done when it no
// longer needs it. It waits while engines are switched.
func (h *Hub) use() *tenure {
	h.gate.RLock()
	defer h.gate.RUnlock()
	h.tenure.users.Add(1)
	return h.tenure
}

// Switch replaces the engine while connections stay open. It pauses the
// subscriptions, calls between while nothing is delivered and nothing begins,
// and lets them go on at e after the last event that each was given: none is
// missing, none comes twice. A subscription that e refuses ends with e's errors,
// which say that the schema was reloaded; the others on its socket go on. (One
// without cursors begins anew; that to a subject of the bus is told so.)
//
// Queries and mutations that have begun end at the old engine. Switch returns
// when they have: then the old engine may be closed. One call runs at a time;
// others wait.
func (h *Hub) Switch(e Engine, between func()) {
	h.switching.Lock()
	defer h.switching.Unlock()
	old, paused := h.replace(e, between)
	resumeAll(paused, e)
	old.users.Wait()
}

// maxResuming is how many subscriptions begin again at the same time: one that
// waits for the bus delays few others.
const maxResuming = 64

func resumeAll(paused []*subscription, e Engine) {
	var wg sync.WaitGroup
	defer wg.Wait()
	next := make(chan *subscription)
	defer close(next)
	for range min(maxResuming, len(paused)) {
		wg.Go(func() {
			for s := range next {
				s.resume(e)
			}
		})
	}
	for _, s := range paused {
		next <- s
	}
}

func (h *Hub) replace(e Engine, between func()) (old *tenure, paused []*subscription) {
	h.gate.Lock()
	defer h.gate.Unlock()
	old = h.tenure
	old.retired.Store(true) // whatever begins here after this was not seen below
	paused = h.subs.all()
	for _, s := range paused {
		s.pause()
	}
	between()
	h.tenure = &tenure{engine: e}
	return old, paused
}

// registry holds the subscriptions of a hub. Its lock is below all others.
type registry struct {
	mu   sync.Mutex
	set  map[*subscription]struct{}
	live [transports]int
}

func (r *registry) add(s *subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set == nil {
		r.set = map[*subscription]struct{}{}
	}
	if _, there := r.set[s]; !there {
		r.set[s] = struct{}{}
		r.live[s.transport()]++
	}
}

func (r *registry) remove(s *subscription) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.set[s]; there {
		delete(r.set, s)
		r.live[s.transport()]--
	}
}

// count is how many there are over each transport.
func (r *registry) count() [transports]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live
}

func (r *registry) all() []*subscription {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.set))
}
