package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

const (
	// What waits for a follower is bounded; what does not fit is dropped and
	// read from the stream when its turn comes.
	liveMessages = 8192
	liveBytes    = 32 << 20
	// checkEvery is how often a follower compares itself with the log.
	checkEvery = 2 * time.Second
	// A log that seems to be gone, or with replicas to end earlier, is believed
	// only when it says so this many times in a row: a server that is just
	// stopping, or a leader that was replaced without knowing it, may say so.
	checksToBelieve = 3
	// With replicas it must go on saying so for as long as a leader may take that
	// was cut off to learn that there is another one.
	staleLeader = 30 * time.Second
)

// Follow hands fn every message of the log after the given sequence, in order,
// each once: first what is stored, then what comes, until ctx ends (then it
// returns nil) or fn fails (then it returns that error as it is). What History
// trimmed before it was read is no gap.
//
// Live messages come by a core subscription to the stream's republish; their
// sequences show what is missing, and that is read from the stream. So it is
// too after a lost connection, when fn was slow for so long that the bounded
// buffer ran over, and every two seconds when nothing came. While the log
// cannot be reached Follow waits and says so in the logger. ErrLogReplaced ends
// it: the log is not the one of LogID any more, or ends before what was followed.
func (b *Bus) Follow(ctx context.Context, after uint64, fn func(Message) error) error {
	f := &follower{bus: b, pos: after, fn: fn}
	err := f.run(ctx)
	if h, ok := err.(fnError); ok {
		return h.error
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("follow the log after %d: %w", f.pos, err)
}

type follower struct {
	bus     *Bus
	pos     uint64    // everything up to here was handed over
	at      time.Time // when the log stored the last that was; zero when none was
	fn      func(Message) error
	reader  *reader
	epoch   uint64    // reconnects of the connection when the log was recognized last
	doubts  int       // checks in a row that saw another log
	doubted time.Time // since when
}

func (f *follower) run(ctx context.Context) (err error) {
	nc := f.bus.nc
	f.epoch = nc.Stats().Reconnects
	live, err := f.bus.subscribe(ctx)
	if err != nil {
		return err
	}
	defer live.stop()
	if f.reader, err = f.bus.newReader(); err != nil {
		return err
	}
	defer f.reader.close()
	status := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(status)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()

	err = f.check(ctx)
	for err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case raw := <-live.msgs:
			if err = f.live(ctx, raw); err == nil && live.lost() {
				err = f.check(ctx)
			}
		case <-tick.C:
			err = f.check(ctx)
		case <-status:
			if nc.IsClosed() {
				return unavailable(nats.ErrConnectionClosed)
			}
			err = f.check(ctx)
		}
	}
	return err
}

// liveSub is the live path. The subscription's own queue is the bounded buffer:
// what does not fit there is dropped by the client library, which is a gap
// like any other.
type liveSub struct {
	msgs    chan *nats.Msg
	sub     *nats.Subscription
	dropped int // as far as it was acted upon
	done    chan struct{}
	gone    chan struct{} // closed when the subscription's goroutine has ended
}

func (b *Bus) subscribe(ctx context.Context) (*liveSub, error) {
	l, err := b.listen(b.subjects.Live(), liveMessages, liveBytes)
	if err != nil {
		return nil, err
	}
	// Not knowing whether the server has the subscription is harmless: the
	// checks find what was missed.
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	_ = b.nc.FlushWithContext(ctx)
	if err := b.held(b.subjects.Live()); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

// listen subscribes; so many messages and bytes may wait.
func (b *Bus) listen(subject string, messages, bytes int) (*liveSub, error) {
	l := &liveSub{msgs: make(chan *nats.Msg, 64), done: make(chan struct{}), gone: make(chan struct{})}
	var err error
	l.sub, err = b.nc.Subscribe(subject, func(m *nats.Msg) {
		if b.intercept == nil {
			l.push(m)
			return
		}
		for _, m := range b.intercept(m) {
			l.push(m)
		}
	})
	if err != nil {
		return nil, unavailable(err)
	}
	end := sync.OnceFunc(func() { close(l.gone) })
	l.sub.SetClosedHandler(func(string) { end() })
	if !l.sub.IsValid() { // the connection was closed meanwhile
		end()
	}
	if err := l.sub.SetPendingLimits(messages, bytes); err != nil {
		l.stop()
		return nil, unavailable(err)
	}
	return l, nil
}

func (l *liveSub) push(m *nats.Msg) {
	select {
	case l.msgs <- m:
	case <-l.done:
	}
}

// lost reports, once the buffer was handed over, whether it had run over: then
// the stream must be asked, since perhaps no further message shows the gap.
func (l *liveSub) lost() bool {
	return len(l.msgs) == 0 && l.overflowed()
}

// overflowed reports whether the buffer has run over since it was asked last.
func (l *liveSub) overflowed() bool {
	n, err := l.sub.Dropped()
	if err != nil || n == l.dropped {
		return false
	}
	l.dropped = n
	return true
}

func (l *liveSub) stop() {
	close(l.done)
	_ = l.sub.Unsubscribe() // fails only when the connection is closed
	<-l.gone
}

// live takes one live message: hands it over when it is the next, drops it when
// it was had, and fills what is missing before it from the stream.
func (f *follower) live(ctx context.Context, raw *nats.Msg) error {
	m, err := stored(f.bus.subjects.Stream(), raw.Header, raw.Data)
	if err == nil && f.bus.subjects.told(m.Subject) != raw.Subject {
		// What a consumer delivers keeps its subject and its headers, wherever its
		// maker has it delivered, and these may be made to look like the log's.
		err = fmt.Errorf("it says that it was stored on %.100q", m.Subject)
	}
	if err != nil {
		f.bus.log.LogAttrs(ctx, slog.LevelWarn, "foreign message on the live subjects dropped", slog.String("subject", raw.Subject), slog.Any("error", err))
		return nil
	}
	if m.Seq > f.pos+1 {
		f.bus.gaps.Add(1)
		f.bus.missed.Add(m.Seq - f.pos - 1)
		if err := f.fill(ctx, m.Seq-1); err != nil {
			return f.tolerate(ctx, err)
		}
	}
	return f.tolerate(ctx, f.take(m))
}

// take hands a message over unless it was had, or came over a connection on
// which the log was not recognized yet.
func (f *follower) take(m Message) error {
	if m.Seq <= f.pos {
		return nil
	}
	if f.bus.nc.Stats().Reconnects != f.epoch {
		return fault.New(fault.Unavailable, "the connection was lost meanwhile")
	}
	if err := f.fn(m); err != nil {
		return fnError{err}
	}
	f.pos, f.at = m.Seq, m.Time
	return nil
}

// check compares the follower with the log's leader and catches up.
func (f *follower) check(ctx context.Context) error {
	if n := f.bus.nc.Stats().Reconnects; n != f.epoch {
		if err := f.recognize(ctx); isCode(err, codeStreamNotFound) {
			return f.doubt(fmt.Errorf("%w: its stream was deleted", ErrLogReplaced))
		} else if err != nil {
			return f.tolerate(ctx, err)
		}
		f.epoch = n
	}
	s, err := f.bus.state(ctx)
	switch {
	case isCode(err, codeStreamNotFound):
		return f.doubt(fmt.Errorf("%w: its stream was deleted", ErrLogReplaced))
	case err != nil:
		return f.tolerate(ctx, err)
	case s.id != f.bus.logID:
		return fmt.Errorf("%w: its stream was deleted and created again (log %s, now %s)", ErrLogReplaced, f.bus.logID, s.id)
	case s.last < f.pos:
		err := fmt.Errorf("%w: it ends at %d, before %d which was read from it", ErrLogReplaced, s.last, f.pos)
		if !f.bus.replicated.Load() {
			return err
		}
		if f.doubts > 0 && time.Since(f.doubted) < staleLeader {
			return nil
		}
		return f.doubt(err)
	}
	f.doubts = 0
	return f.tolerate(ctx, f.fill(ctx, s.last))
}

// recognize makes sure, when the connection is back, that the log still holds
// what was read last: a server that lost its end with the power has written
// other messages under the same sequences since.
func (f *follower) recognize(ctx context.Context) error {
	if f.at.IsZero() {
		return nil
	}
	m, err := f.bus.leaderGet(ctx, getRequest{Seq: f.pos})
	if err != nil {
		return err
	}
	if m != nil && !m.Time.Equal(f.at) {
		return fmt.Errorf("%w: it holds another message as %d than what was read from it", ErrLogReplaced, f.pos)
	}
	return nil // the same, or trimmed meanwhile
}

func (f *follower) doubt(err error) error {
	if f.doubts == 0 {
		f.doubted = time.Now()
	}
	if f.doubts++; f.doubts < checksToBelieve {
		return nil
	}
	return err
}

// fill hands over what the stream holds up to upto.
func (f *follower) fill(ctx context.Context, upto uint64) error {
	for f.pos < upto {
		end, err := f.reader.next(ctx, everything, f.pos, upto, f.take)
		if err != nil {
			return err
		}
		if end && f.pos < upto { // the rest up to there was purged, if the log got there
			if err := f.bus.reached(ctx, upto); err != nil {
				return err
			}
			f.pos, f.at = upto, time.Time{}
		}
	}
	return nil
}

// tolerate lets the follower live on when the stream could not be read: the
// next message or the next check tries again. Errors of fn and of ctx end it.
func (f *follower) tolerate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, own := err.(fnError); own || errors.Is(err, ErrLogReplaced) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.bus.nc.IsClosed() {
		return unavailable(nats.ErrConnectionClosed)
	}
	f.bus.log.LogAttrs(ctx, slog.LevelWarn, "the log cannot be read, trying again", slog.Uint64("seq", f.pos), slog.Any("error", err))
	return nil
}
