package soap

import (
	"sync"
	"time"
)

// sparing lets one line a second into the log of what fails for call after call. The
// zero value is ready; it is safe for concurrent use.
type sparing struct {
	mu   sync.Mutex
	next time.Time
	held int
}

// line reports whether there is to be a line now, and how many there were none for
// since the last one.
func (s *sparing) line(now time.Time) (held int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		s.held++
		return 0, false
	}
	held, s.held, s.next = s.held, 0, now.Add(time.Second)
	return held, true
}
