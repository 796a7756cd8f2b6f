package console

import (
	"slices"
	"sync"
	"time"

	"tidings/resource"
)

// maxChanges is how many of the latest changes are shown.
const maxChanges = 25

// change is one of the latest, without what the record holds.
type change struct {
	Sequence uint64    `json:"sequence"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Type     string    `json:"type"`
	ID       string    `json:"id"`
	Bytes    int       `json:"bytes"`
}

// recent watches the feed of the moment for as long as somebody looks.
type recent struct {
	of   func() *resource.Feed
	feed *resource.Feed // which is watched

	mu     sync.Mutex
	events []change // a ring
	next   int      // where the next one goes
}

var _ resource.Watcher = (*recent)(nil)

func newRecent(of func() *resource.Feed) *recent {
	r := &recent{of: of}
	r.follow()
	return r
}

// follow goes on with the feed that another edition of the schema has brought.
func (r *recent) follow() {
	if r.of == nil {
		return
	}
	feed := r.of()
	if feed == r.feed {
		return
	}
	r.leave()
	r.feed = feed
	missed, err := feed.Join(r.from(feed.Now().Seq), r)
	if err != nil { // the feed does not remember so much
		missed, _ = feed.Join(resource.FromNow, r) // which refuses nobody
	}
	for _, e := range missed {
		r.Offer(e)
	}
}

// from is the position after which changes are new: those before the first look
// are shown as far as the feed has them at hand.
func (r *recent) from(now uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := uint64(0)
	for _, e := range r.events {
		newest = max(newest, e.Sequence)
	}
	return max(newest, now-min(now, maxChanges))
}

func (r *recent) leave() {
	if r.feed != nil {
		r.feed.Leave(r)
	}
}

// Offer implements resource.Watcher.
func (r *recent) Offer(e resource.Event) {
	c := change{Sequence: e.Seq, At: e.Time.UTC(), Kind: string(e.Kind), Type: e.Type, ID: clip(e.ID, maxName), Bytes: len(e.Raw)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) < maxChanges {
		r.events = append(r.events, c)
		return
	}
	r.events[r.next] = c
	r.next = (r.next + 1) % maxChanges
}

// newest are the changes, newest first.
func (r *recent) newest() []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Concat(r.events[r.next:], r.events[:r.next])
	slices.Reverse(list)
	if list == nil {
		return []change{}
	}
	return list
}
