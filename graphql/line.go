package graphql

import (
	"context"
	"slices"
	"sync"
	"time"
)

// line is a number of places, and those who wait for one, as many more. One caller
// has three quarters of the places at most, and as many of those who wait; a caller
// without a name has what there is.
type line struct {
	places, most int

	mu      sync.Mutex
	taken   int
	callers map[string]*caller // who has something here
	waiting []*waiting         // who came first is first
}

// caller is what one has in the line.
type caller struct {
	name           string
	working, waits int
}

// waiting is a request for a place.
type waiting struct {
	of   *caller
	turn chan struct{} // closed when it has one; nil: it had one at once
}

func newLine(places int) *line {
	return &line{places: places, most: places - places/4, callers: map[string]*caller{}}
}

// enter reports whether there was a place in time; then leave gives it back. Of those
// who wait the caller is next who has the fewest places, and of its requests the
// oldest.
func (l *line) enter(ctx context.Context, name string) (leave func(), entered bool) {
	w, now := l.ask(name)
	if w == nil {
		return nil, false
	}
	leave = func() { l.leave(w.of) }
	if now {
		return leave, true
	}
	wait := time.NewTimer(admissionWait)
	defer wait.Stop()
	select {
	case <-w.turn:
		return leave, true
	case <-wait.C:
	case <-ctx.Done():
	}
	return leave, !l.giveUp(w)
}

// ask takes a place when there is one, or one in the queue; nil when there is neither.
func (l *line) ask(name string) (w *waiting, now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callers[name]
	if c == nil {
		c = &caller{name: name}
	}
	switch {
	case l.taken < l.places && c.working < l.most:
		l.taken++
		c.working++
		now = true
	case len(l.waiting) < l.places && c.waits < l.most:
		c.waits++
	default:
		return nil, false
	}
	w = &waiting{of: c}
	if !now {
		w.turn = make(chan struct{})
		l.waiting = append(l.waiting, w)
	}
	if name != "" {
		l.callers[name] = c
	}
	return w, now
}

// leave gives a place back, to who is next.
func (l *line) leave(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	c.working--
	l.forget(c)
	if next := l.next(); next >= 0 {
		w := l.waiting[next]
		l.waiting = slices.Delete(l.waiting, next, next+1)
		l.taken++
		w.of.waits--
		w.of.working++
		close(w.turn)
	}
}

// next is the place in the queue of who is next; -1 when nobody is.
func (l *line) next() int {
	next := -1
	for i, w := range l.waiting {
		if w.of.working < l.most && (next < 0 || w.of.working < l.waiting[next].of.working) {
			next = i
		}
	}
	return next
}

// giveUp leaves the queue, and reports whether it was still in it.
func (l *line) giveUp(w *waiting) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	w.of.waits--
	l.forget(w.of)
	return true
}

func (l *line) forget(c *caller) {
	if c.working == 0 && c.waits == 0 {
		delete(l.callers, c.name)
	}
}

func (l *line) running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

func (l *line) queued() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
