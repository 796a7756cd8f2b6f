package graphql

import (
	"log/slog"
	"sync"
	"time"
)

// sparing lets one line a second into the log, and counts what it leaves out. A
// service that goes wrong does so with every message.
type sparing struct {
	mu      sync.Mutex
	next    time.Time
	leftOut int
}

// lineEvery is how long the log says nothing new of the same kind.
const lineEvery = time.Second

// line reports whether a line is due. It then tells how many were left out
// before.
func (s *sparing) line() (leftOut slog.Attr, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(s.next) {
		s.leftOut++
		return slog.Attr{}, false
	}
	if s.leftOut > 0 {
		leftOut = slog.Int("left_out", s.leftOut)
	}
	s.next, s.leftOut = now.Add(lineEvery), 0
	return leftOut, true
}

// complaints are what the log says of one field that a service takes part in.
type complaints struct {
	unfit  sparing // values that are not of the field's type
	failed sparing // what came of them in subscriptions
}
