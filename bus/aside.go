package bus

import "context"

// asideKey is where a request's service travels in the context of its handler.
type asideKey struct{}

// Aside runs wait, which only waits for something, and lets another request be
// worked on meanwhile in the place of the one whose handler calls it: ctx is the
// handler's. So Service.Concurrency bounds the requests at work, and not those
// that wait; how many do is for the caller to bound. It returns when there is a
// place again. Outside of a handler it is a call of wait.
func Aside(ctx context.Context, wait func()) {
	s, ok := ctx.Value(asideKey{}).(*service)
	if !ok {
		wait()
		return
	}
	s.working.Add(-1)
	s.workers.Go(s.work)
	defer func() {
		s.working.Add(1)
		select {
		case s.places <- struct{}{}:
		case <-s.stopped: // what is in the queue is finished by all who are left
		}
	}()
	wait()
}
