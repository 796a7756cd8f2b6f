package realtime

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"tidings/auth"
	"tidings/graphql"
)

// outlet is where the results of one operation go: an operation on a socket,
// or a stream.
type outlet interface {
	graphql.Sink
	graphql.Pacer
	graphql.Trier
	graphql.Dater
	// reached takes a cursor up to which the client will have everything when it
	// has read what is queued.
	reached(cursor string)
	// over reports whether nothing more of the operation is wanted.
	over() bool
	// spot says where the operation is.
	spot() spot
}

// subscription is what a client's operation has at an engine. It knows how far
// its client has come, so that it can go on at another engine (switch.go).
type subscription struct {
	hub     *Hub
	ctx     context.Context
	request graphql.Request
	out     outlet
	begun   int64 // when, in nanoseconds since 1970

	// mu is above the engines' locks, and held while they are called.
	mu     sync.Mutex
	who    auth.Principal
	lease  *lease // what the engine has; nil: no engine has anything
	stop   func() // ends it there
	paused bool   // between two engines
	at     string // while it is paused: the cursor after which it goes on

	// given is how many results were queued; the lock of its lease guards it.
	given uint64
}

// transport is what carries its results.
func (s *subscription) transport() transport {
	if _, socket := s.out.(*operation); socket {
		return overSocket
	}
	return overStream
}

// begin subscribes at the engine of the moment.
func (s *subscription) begin(after string) (failed *graphql.Response) {
	s.begun = time.Now().UnixNano()
	s.hub.subs.add(s) // before an engine is chosen: Switch must not overlook it
	for {
		retired, failed := s.beginAt(s.hub.use(), after)
		if !retired {
			return failed
		}
	}
}

// beginAt subscribes at one engine, unless that is about to be replaced.
func (s *subscription) beginAt(t *tenure, after string) (retired bool, failed *graphql.Response) {
	defer t.users.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.retired.Load() {
		return true, nil
	}
	return false, s.beginLocked(t.engine, after)
}

func (s *subscription) beginLocked(e Engine, after string) (failed *graphql.Response) {
	defer func() {
		if s.stop == nil {
			s.hub.subs.remove(s)
		}
	}()
	l := &lease{sub: s, at: after}
	stop, failed := e.Subscribe(s.ctx, s.who, s.request, after, l)
	if failed != nil {
		return failed
	}
	s.lease, s.stop = l, stop
	if s.out.over() { // nobody else will stop it
		s.endLocked()
	}
	return nil
}

// end ends the subscription. No lock is held: the engine has locks of its own.
func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
}

func (s *subscription) endLocked() {
	s.paused = false
	s.hub.subs.remove(s)
	if s.stop != nil {
		s.stop()
	}
	s.lease, s.stop = nil, nil
}

// pause takes the subscription from its engine: when it returns, no more
// results come.
func (s *subscription) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauseLocked()
}

func (s *subscription) pauseLocked() {
	if s.stop == nil {
		return
	}
	s.stop()
	s.at = s.lease.cut()
	s.lease, s.stop, s.paused = nil, nil, true
}

// resume goes on at e with what came since pause, or tells the client why it
// cannot.
func (s *subscription) resume(e Engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed := s.resumeLocked(e); failed != nil {
		s.out.End(reloaded(errorsOf(*failed)))
	}
}

func (s *subscription) resumeLocked(e Engine) (failed *graphql.Response) {
	if !s.paused {
		return nil
	}
	s.paused = false
	defer s.hub.survive(s.out.End)
	s.request.Moved = true
	return s.beginLocked(e, s.at)
}

// reloaded says in each message of a list of errors what has brought it about.
func reloaded(errors []byte) []byte {
	var list []map[string]json.RawMessage
	if json.Unmarshal(errors, &list) != nil {
		return errors
	}
	for _, e := range list {
		var message string
		if json.Unmarshal(e["message"], &message) == nil {
			e["message"] = encode("The schema was reloaded, and this subscription did not go on: " + message)
		}
	}
	return encode(list)
}

// encode writes what always has a JSON form.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts and lists of them do not fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// lease is the sink that one engine has, for as long as the subscription is
// there. Its lock is below the engine's and above the connection's.
type lease struct {
	sub *subscription // whose lock is above

	mu  sync.Mutex
	end bool
	at  string // the cursor up to which the client has everything
	ask func() // for a newer one; nil: there is none
}

var _ interface {
	graphql.Sink
	graphql.Pacer
	graphql.Trier
	graphql.Starter
	graphql.Leaver
	graphql.Follower
	graphql.Dater
} = (*lease)(nil)

// Next implements graphql.Sink.
func (l *lease) Next(payload []byte, cursor string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end || !l.sub.out.Next(payload, cursor) {
		return false
	}
	l.sub.given++
	if cursor != "" {
		l.at = cursor
	}
	return true
}

// Try implements graphql.Trier.
func (l *lease) Try(payload []byte, cursor string) (taken, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end {
		return false, false
	}
	if taken, full = l.sub.out.Try(payload, cursor); !taken {
		return taken, full
	}
	l.sub.given++
	if cursor != "" {
		l.at = cursor
	}
	return taken, full
}

// Happened implements graphql.Dater.
func (l *lease) Happened(at time.Time) { l.sub.out.Happened(at) }

// End implements graphql.Sink.
func (l *lease) End(errors []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end {
		return
	}
	l.end = true
	l.sub.hub.subs.remove(l.sub)
	l.sub.out.End(errors)
}

// Ready implements graphql.Pacer.
func (l *lease) Ready(ctx context.Context) error { return l.sub.out.Ready(ctx) }

// Start implements graphql.Starter.
func (l *lease) Start(cursor string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = cursor
	if s, ok := l.sub.out.(graphql.Starter); ok {
		s.Start(cursor)
	}
}

// Left implements graphql.Leaver.
func (l *lease) Left(cursor string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = cursor
}

// cut lets nothing more through, and returns the cursor up to which the client
// has everything.
func (l *lease) cut() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = true
	return l.at
}
