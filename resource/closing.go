package resource

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/schema"
)

// A deletion that others keep from getting through, because they refer to the
// record without pause, says in the log that it closes the record: a message on
// the subject beside it, which all workers hear. Until the record is gone, the
// deletion is given up, or the time in the message has passed, whoever refers to
// the record or changes what refers to it waits. So it costs nothing where nobody
// is in another's way, and a worker that dies holds nobody up for long.
//
// That nothing dangles does not depend on it, nor on any clock: a worker that
// does not hear of it is refused by the log as ever.

const (
	// lostRaces is how often a deletion is decided anew before it closes the record.
	lostRaces = 3
	// closedLeast is for how long at least, and closedMost at most.
	closedLeast, closedMost = time.Second, commandWait
	// maxClosings bounds what a worker remembers; of more it takes no notice.
	maxClosings = 10_000
	// reopenWait bounds how long it takes to take it back.
	reopenWait = time.Second
)

// closingNote is a message of Subjects.Reference, as far as it tells of a deletion.
type closingNote struct {
	Closing *closingBy `json:"closing,omitempty"`
	Opened  *closingBy `json:"opened,omitempty"`
	Deleted bool       `json:"deleted,omitempty"`
}

type closingBy struct {
	Command string `json:"command"`
	For     int64  `json:"for,omitempty"` // milliseconds from when it is heard
}

// closings are the records that others are about to delete, as this process has
// heard of them.
type closings struct {
	prefix string
	some   atomic.Bool // there may be any
	mu     sync.Mutex
	by     map[string]*closed
}

// closed is a record that is about to be deleted.
type closed struct {
	command string
	until   time.Time
	over    chan struct{} // closed when that is decided
}

func newClosings(s bus.Subjects) *closings {
	return &closings{prefix: s.References(), by: map[string]*closed{}}
}

// hear takes notice of a message of the log.
func (c *closings) hear(m bus.Message) {
	if !strings.HasPrefix(m.Subject, c.prefix) || string(m.Data) == referredTo {
		return
	}
	var note closingNote
	if json.Unmarshal(m.Data, &note) != nil { // others' messages close nothing
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.by[m.Subject]
	switch {
	case note.Closing != nil:
		c.add(m.Subject, was, note.Closing)
	case was != nil && (note.Deleted || note.Opened != nil && note.Opened.Command == was.command):
		c.end(m.Subject)
	}
}

// add notes that a record is being closed, maybe for longer than before. The
// caller holds mu, here and below.
func (c *closings) add(subject string, was *closed, by *closingBy) {
	now := time.Now()
	for s, other := range c.by {
		if now.After(other.until) && other != was {
			c.end(s)
		}
	}
	until := now.Add(min(time.Duration(max(by.For, 0))*time.Millisecond, closedMost))
	switch {
	case was != nil:
		c.by[subject] = &closed{command: by.Command, until: until, over: was.over}
	case len(c.by) < maxClosings:
		c.by[subject] = &closed{command: by.Command, until: until, over: make(chan struct{})}
		c.some.Store(true)
	}
}

func (c *closings) end(subject string) {
	close(c.by[subject].over)
	delete(c.by, subject)
	c.some.Store(len(c.by) > 0)
}

// of returns what is known of a record that somebody else closes; false when
// nobody does.
func (c *closings) of(subject, command string) (closed, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.by[subject]
	switch {
	case one == nil || one.command == command:
		return closed{}, false
	case time.Now().After(one.until):
		c.end(subject)
		return closed{}, false
	}
	return *one, true
}

// errClosing says that a change has waited for a deletion: it is decided anew.
var errClosing = errors.New("a record that it has to do with is being deleted")

// giveWay waits while somebody else closes the record that a command changes, or
// one to which that leads in one of its states. The error is errClosing when it
// has: what was read may be true no more.
func (w *Worker) giveWay(ctx context.Context, command string, r *schema.Resource, id string, states ...[]byte) error {
	if w.reads == nil || !w.reads.feed.closings.some.Load() {
		return nil
	}
	var subjects []string
	if ruled(r) {
		subjects = append(subjects, w.bus.Subjects().Reference(r.Name, id))
	}
	for _, ref := range r.References {
		for _, raw := range states {
			if to := rawjson.String(raw, ref.Key.Name); to != "" && len(to) <= maxID {
				subjects = append(subjects, w.bus.Subjects().Reference(ref.To.Name, to))
			}
		}
	}
	for _, subject := range subjects {
		if one, closing := w.reads.feed.closings.of(subject, command); closing {
			one.wait(ctx)
			return fault.Wrap(errClosing, fault.Conflict, "a record that it is or refers to is being deleted; try again")
		}
	}
	return nil
}

func (c closed) wait(ctx context.Context) {
	timer := time.NewTimer(time.Until(c.until))
	defer timer.Stop()
	select {
	case <-c.over:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ending is a record that a bundle deletes, and to which others may refer.
type ending struct{ record, reference string }

// giveWay waits for others who close what the bundle changes or refers to, unless
// it closes something itself: two of those do not wait for each other, since one
// gets through whenever the other does not.
func (b *bundle) giveWay(ctx context.Context, decisions []Decision) error {
	if len(b.closed) > 0 {
		return nil
	}
	for i, d := range decisions[:b.asked] {
		p := &b.parts[i]
		current, _ := standing(p.last)
		if err := b.w.giveWay(ctx, b.tx.ID, p.cmd.r, d.ID, current, d.Raw); err != nil {
			return err
		}
	}
	return nil
}

// insist closes what the bundle is to delete, if it has lost often enough: for as
// long as a few attempts like the last one take.
func (b *bundle) insist(ctx context.Context, err error, took time.Duration) {
	if errors.Is(err, bus.ErrConflict) || errors.Is(err, errClosing) {
		b.lost++
	}
	if b.lost < lostRaces || len(b.endings) == 0 || time.Now().Before(b.insisted) {
		return
	}
	long := min(max(closedLeast, 4*took), closedMost)
	b.insisted = time.Now().Add(long / 2)
	if b.closed == nil {
		b.closed = map[string]ending{}
	}
	for _, e := range b.endings {
		b.closed[e.reference] = e
	}
	b.tell(ctx, b.endings, closingNote{Closing: &closingBy{Command: b.tx.ID, For: long.Milliseconds()}})
}

// relent takes back what the bundle has closed and not deleted.
func (b *bundle) relent(ctx context.Context, err error) {
	if err == nil {
		for _, e := range b.endings {
			delete(b.closed, e.reference)
		}
	}
	if len(b.closed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenWait)
	defer cancel()
	var left []ending
	for _, e := range b.closed {
		left = append(left, e)
	}
	b.tell(ctx, left, closingNote{Opened: &closingBy{Command: b.tx.ID}})
}

// tell appends a note beside each of the records that is there. That others write
// to one is no reason not to tell of the rest, and what cannot be told is not
// necessary.
func (b *bundle) tell(ctx context.Context, of []ending, note closingNote) {
	data, _ := json.Marshal(note) // it always encodes
	ctx, cancel := context.WithTimeout(ctx, appendWait)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(readsAtOnce)
	for _, e := range of {
		g.Go(func() error {
			for range lostRaces {
				last, err := b.w.last(ctx, e.record)
				if current, _ := standing(last); err != nil || current == nil {
					return nil
				}
				if _, err = b.w.bus.Append(ctx, bus.Entry{Subject: e.reference, Data: data, Of: e.record, After: last.Seq}); !errors.Is(err, bus.ErrConflict) {
					return nil
				}
			}
			return nil
		})
	}
	_ = g.Wait() // see above
}
