package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

// Tail says which messages of an adopter's stream are wanted.
type Tail struct {
	// Stream is the stream's name.
	Stream string
	// Subject is that of the messages, as the stream stores them. It may hold
	// wildcards after its first part.
	Subject string
	// ID is the identity of the stream that After is a position of. Empty: that
	// of whatever stream has the name now.
	ID string
	// After is a sequence of the stream: what is stored after it is wanted.
	After uint64
	// New: only what is stored from now on is wanted; After is not used.
	New bool
	// Until is where the tail ends without an error: what is stored up to this
	// sequence was handed over, and perhaps some of what follows. Zero: it goes on.
	Until uint64
	// Started is called once, before the first message, with the stream's
	// identity and the position from which it is tailed: After, or for New the
	// stream's last sequence. It may be nil.
	Started func(id string, at uint64)
}

// Tail hands fn the messages of an adopter's stream after a position, in order,
// each once, and then what comes, until ctx ends (then it returns nil) or fn
// fails (then it returns that error as it is). Message.Seq is the message's
// position. A tail with an end returns nil there. It lives through lost connections, restarts of the server and the
// loss of the stream's leader: what comes meanwhile is late, not lost.
//
// A message on the subject is announced by its own publication, and read from
// the stream's leader: no consumer is made, and of what fn is too slow for
// nothing waits here but 256 messages or 1 MiB and one more. The stream needs no
// setting of its own; one without replicas that allows direct gets is read
// faster. A stream that other streams fill, or whose subjects are
// transformed, is looked at every two seconds. Many tails of one stream look
// together, so that a silent one costs two questions a second at most.
//
// Errors are faults: UNAVAILABLE, at the beginning, when the bus or the stream
// is not there, and later when the stream was deleted or the bus was closed;
// CURSOR_EXPIRED when messages may be missing: the stream is not the one of ID
// or ends before After; the position lies before its first message; or a message
// after the position, of whatever subject, was taken out of its middle, so that
// nobody can tell whether it was one of these. BAD_USER_INPUT and FORBIDDEN as Ask.
func (b *Bus) Tail(ctx context.Context, t Tail, fn func(Message) error) error {
	if err := b.checkForeign(t.Subject, true); err != nil {
		return err
	}
	if err := checkStream(t.Stream); err != nil {
		return err
	}
	run := tail{bus: b, stream: b.glances.of(b, t.Stream), want: t, fn: fn, pos: t.After}
	defer b.glances.release(run.stream)
	err := run.run(ctx)
	if h, ok := err.(fnError); ok {
		return h.error
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("tail %s of the stream %s after %d: %w", t.Subject, t.Stream, run.pos, err)
}

// StreamState tells the identity of an adopter's stream, as LogID does that of
// the log, and its first and last sequence: last is 0 while it never held
// anything, and first is last + 1 while it is empty. UNAVAILABLE: there is no
// such stream, and the message names the remedy; or nobody can tell just now.
func (b *Bus) StreamState(ctx context.Context, stream string) (id string, first, last uint64, err error) {
	if err := checkStream(stream); err != nil {
		return "", 0, 0, err
	}
	s, err := b.stateOf(ctx, stream)
	if err != nil {
		return "", 0, 0, missing(stream, err)
	}
	return s.id, s.first, s.last, nil
}

// checkStream refuses what cannot be a stream's name, which would become part
// of a subject.
func checkStream(name string) error {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`.*>/\`, r) }
	if name == "" || len(name) > 255 || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("%.100q cannot be the name of a stream", name)
	}
	return nil
}

const (
	// A chunk is what is read before it is certain that nothing is missing.
	chunkMessages = 256
	chunkBytes    = 1 << 20
	// patience is how long the leader may take for one answer: one that crashed
	// in silence is asked again soon.
	patience = 2 * time.Second
	// retryEvery is the pause after an answer that did not come.
	retryEvery = 250 * time.Millisecond
	// doubtful is for how long a stream must seem to be gone before that is
	// believed: a server that starts or stops may say so. With replicas it must
	// seem so, or to be another one, for as long as staleLeader: a leader that was
	// replaced without knowing it may say so.
	doubtful = 4 * time.Second
	// glanceAge is how old the state may be by which a tail finds that nothing has
	// come: those of one stream share it.
	glanceAge = checkEvery / 4
	// firstLook is after how long a message is looked for again that was
	// announced and is not stored yet; the pauses double.
	firstLook = time.Millisecond
)

// tail reads by filter as long as the stream says that nothing was taken out of
// it, which its number of deleted messages tells, and else message by message,
// where each must have the sequence after the one before.
type tail struct {
	bus    *Bus
	stream *glance
	want   Tail
	fn     func(Message) error

	pos    uint64      // everything up to here was handed over
	found  int64       // how many of the announced were handed over
	last   streamState // what the leader said last
	whole  bool        // all that is deleted according to last lies at or before pos
	epoch  uint64      // reconnects of the connection when the stream was recognized last
	at     time.Time   // when the message at pos was stored; zero when there was none
	doubts time.Time   // since when each look saw another stream; zero when it does not
	reader *reader     // for direct gets; nil while there was none
}

var errExpired = fault.New(fault.CursorExpired, "the messages after this position are not all there any more")

func (t *tail) run(ctx context.Context) error {
	nc := t.bus.nc
	status := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(status)
	t.epoch = nc.Stats().Reconnects
	announced := make(chan struct{}, 1)
	var count atomic.Int64 // of the announced
	sub, err := nc.Subscribe(t.want.Subject, func(*nats.Msg) {
		count.Add(1)
		select {
		case announced <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // which fails on a closed connection: it is gone then
	if err := t.start(ctx); err != nil || t.done() && t.fits(t.last) == nil {
		return err
	}
	defer func() {
		if t.reader != nil {
			t.reader.close()
		}
	}()
	look, pause := time.NewTimer(0), checkEvery
	defer look.Stop()
	for {
		read := t.catchUp
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-announced:
			pause = firstLook
		case <-status:
		case <-look.C:
			if pause == checkEvery {
				read = t.glance
			}
		}
		if nc.IsClosed() {
			return unavailable(nats.ErrConnectionClosed)
		}
		err := read(ctx)
		switch all := count.Load(); {
		case err != nil:
			pause = retryEvery
		case t.found >= all || pause == checkEvery: // what was announced is there, or does not come any more
			t.found, pause = all, checkEvery
		}
		if err := t.tolerate(ctx, err); err != nil || t.done() {
			return err
		}
		look.Reset(pause)
		pause = min(2*pause, checkEvery)
	}
}

// start finds the position. Later the stream may be away; now it is said.
func (t *tail) start(ctx context.Context) error {
	s, err := t.state(ctx)
	if err != nil {
		return missing(t.want.Stream, err)
	}
	if err := t.bus.held(t.want.Subject); err != nil {
		return err
	}
	if t.want.ID == "" {
		t.want.ID = s.id
	}
	if t.want.New {
		t.pos = s.last
	}
	if err := t.fits(s); err != nil && s.replicas <= 1 {
		return err
	}
	t.last, t.whole = s, s.deleted == 0 || t.pos >= s.last
	if t.want.Started != nil {
		t.want.Started(t.want.ID, t.pos)
	}
	return nil
}

// fits is an error when a stream in this state cannot have what follows pos.
func (t *tail) fits(s streamState) error {
	switch {
	case s.id != t.want.ID:
		return fault.New(fault.CursorExpired, "the stream was deleted and created again")
	case s.last < t.pos:
		return fault.New(fault.CursorExpired, "the stream ends before this position")
	case s.first > t.pos+1:
		return errExpired
	}
	return nil
}

// done reports whether everything was handed over that is wanted.
func (t *tail) done() bool { return t.want.Until > 0 && t.pos >= t.want.Until }

// glance catches up unless the stream ends where the tail is.
func (t *tail) glance(ctx context.Context) error {
	s, err := t.stateSince(ctx, time.Now().Add(-glanceAge))
	if err != nil {
		return err
	}
	if t.fits(s) != nil || s.last != t.pos || t.bus.nc.Stats().Reconnects != t.epoch {
		if s.leader == t.last.leader { // what it had then is what there is to catch up with
			t.last.last = max(t.last.last, s.last)
		}
		return t.catchUp(ctx)
	}
	t.last, t.whole, t.doubts = s, true, time.Time{}
	return nil
}

// catchUp hands over what the stream holds.
func (t *tail) catchUp(ctx context.Context) error {
	if n := t.bus.nc.Stats().Reconnects; n != t.epoch {
		if err := t.recognize(ctx); err != nil {
			return err
		}
		t.epoch = n
	}
	for {
		before := t.pos
		read := t.filtered
		if !t.whole {
			read = t.walked
		}
		chunk, pos, err := read(ctx)
		if err != nil {
			return err
		}
		t.doubts = time.Time{}
		for _, m := range chunk {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := handed(t.fn(m)); err != nil {
				return err
			}
			t.pos, t.at = m.Seq, m.Time
			t.found++
		}
		if pos > t.pos {
			t.pos, t.at = pos, time.Time{}
		}
		if t.whole && (t.pos == before || t.pos == t.last.last) || t.done() {
			return nil
		}
	}
}

// filtered reads the next messages of the subject, and after them makes sure
// that nothing was taken from between them.
func (t *tail) filtered(ctx context.Context) (chunk []Message, pos uint64, err error) {
	was, pos := t.last, t.pos
	end, err := t.read(ctx, t.want.Subject, func(m Message) error {
		chunk, pos = append(chunk, m), m.Seq
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	s, err := t.state(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := t.fits(s); err != nil {
		return nil, 0, t.doubt(s, err)
	}
	t.last = s
	if s.deleted > 0 && (s.first != was.first || s.deleted != was.deleted) {
		t.whole = false // what was read is read again, with all that lies between
		return nil, t.pos, nil
	}
	// What the leader knew before it was asked, it has shown, unless it was
	// another one that answered, or one that was just stopping.
	if end && s.leader == was.leader && s.last >= was.last && t.bus.nc.Stats().Reconnects == t.epoch {
		pos = max(pos, was.last)
	}
	return chunk, pos, nil
}

// walked reads the next messages of all subjects, of which none may be missing.
func (t *tail) walked(ctx context.Context) (chunk []Message, pos uint64, err error) {
	s, err := t.state(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := t.fits(s); err != nil {
		return nil, 0, t.doubt(s, err)
	}
	pos = t.pos
	if pos < s.last {
		end, err := t.read(ctx, everything, func(m Message) error {
			if m.Seq != pos+1 {
				return errExpired
			}
			if pos = m.Seq; matches(t.want.Subject, m.Subject) {
				chunk = append(chunk, m)
			}
			return nil
		})
		if err == nil && end && pos < s.last {
			err = errExpired
		}
		if err == errExpired {
			return nil, 0, t.doubt(s, err)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	t.last, t.whole = s, pos >= s.last
	return chunk, pos, nil
}

// recognize makes sure, when the connection is back, that the stream still
// holds what was read last: a server that lost the end of it with the power has
// written other messages under the same sequences since.
func (t *tail) recognize(ctx context.Context) error {
	if t.at.IsZero() {
		return nil
	}
	m, err := t.get(ctx, getRequest{Seq: t.pos})
	if err == nil && m != nil && !m.Time.Equal(t.at) {
		return fault.New(fault.CursorExpired, "the stream holds another message at this position than it did")
	}
	return err
}

// doubt makes an end of the tail wait when the stream has replicas.
func (t *tail) doubt(s streamState, err error) error {
	if s.replicas > 1 && !t.believed() {
		return errDoubt
	}
	return err
}

// believed reports whether the doubts have lasted.
func (t *tail) believed() bool {
	if t.doubts.IsZero() {
		t.doubts = time.Now()
	}
	if t.last.replicas > 1 {
		return time.Since(t.doubts) >= staleLeader
	}
	return time.Since(t.doubts) >= doubtful
}

var errDoubt = errors.New("the stream looks like another one")

// tolerate lets the tail live on when the stream could not be read: it is tried
// again. Errors of fn and of ctx end it, and those that say what is missing.
func (t *tail) tolerate(ctx context.Context, err error) error {
	switch _, own := err.(fnError); {
	case err == nil || own || fault.Is(err, fault.CursorExpired):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case isCode(err, codeStreamNotFound) && t.believed():
		return missing(t.want.Stream, err)
	}
	t.bus.log.LogAttrs(ctx, slog.LevelWarn, "the stream cannot be read, trying again",
		slog.String("stream", t.want.Stream), slog.Uint64("seq", t.pos), slog.Any("error", err))
	return nil
}
