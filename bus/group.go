package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/fault"
)

// Appends of several entries go out in groups: what waits while one batch is
// under way leaves together as the next, with those who come right after
// (gather.go). A log without replicas writes a batch
// through to the disk before it acknowledges it, which takes the same 1 to 2 ms
// for two entries as for hundreds; and while many small batches take turns,
// nobody else's append gets through.
//
// Each member of a group keeps what it was promised: all of its entries are
// stored or none, its own expectations decide, and another's failure is not its
// own.

const (
	// maxGroup bounds a group in entries, well below the server's MaxEntries;
	// one append of more goes alone.
	maxGroup = 512
	// maxGroupBytes bounds what the server holds back until the commit.
	maxGroupBytes = 4 << 20
	// batchHeaders is room in bytes for the headers of a batch in each message.
	batchHeaders = 128
	// commitWait bounds the wait for one acknowledgement: an answer that was
	// lost on the way never comes, and the others are waiting.
	commitWait = 3 * time.Second
)

// group holds the appends that wait. A goroutine lives while there are any;
// Close waits for it.
type group struct {
	mu      sync.Mutex
	waiting []*member // in the order of their coming
	running bool
	closed  bool
	pace    pace
	enough  int           // how many full waits for
	full    chan struct{} // closed when enough are waiting; nil: nobody asked
	done    sync.WaitGroup
}

// member is one append of a group.
type member struct {
	entries []Entry
	msgs    []*nats.Msg
	bytes   int
	answer  chan struct{} // closed once seq and err are set
	seq     uint64
	err     error
}

func (m *member) end(seq uint64, err error) {
	m.seq, m.err = seq, err
	close(m.answer)
}

// appendGrouped stores the entries with those of others.
func (b *Bus) appendGrouped(ctx context.Context, entries []Entry, msgs []*nats.Msg) (uint64, error) {
	m := &member{entries: entries, msgs: msgs, answer: make(chan struct{})}
	for _, msg := range msgs {
		m.bytes += msg.Size()
	}
	if !b.group.join(m, b.commitGroup) {
		return 0, fault.New(fault.Unavailable, "the bus is closed")
	}
	select {
	case <-m.answer:
		return m.seq, m.err
	case <-ctx.Done():
	}
	if b.group.leave(m) {
		return 0, fmt.Errorf("append: %w", ctx.Err())
	}
	return 0, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
}

// join lets m wait for the next batch, which commit stores. It reports false on
// a closed bus.
func (g *group) join(m *member, commit func([]*member)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.waiting = append(g.waiting, m)
	if len(g.waiting) >= g.enough {
		g.goOn()
	}
	if !g.running {
		g.running = true
		g.done.Go(func() { g.run(commit) })
	}
	return true
}

// leave takes m back. It reports false when m is on its way already.
func (g *group) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	return true
}

// close lets nobody join any more, and waits for those who have.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.goOn()
	g.mu.Unlock()
	g.done.Wait()
}

// run commits what waits, group after group, until nothing does. Whoever is
// about to join goes first: those who were just answered often come again.
func (g *group) run(commit func([]*member)) {
	for {
		runtime.Gosched()
		g.gather()
		members := g.take()
		if members == nil {
			return
		}
		began := time.Now()
		commit(members)
		g.mu.Lock()
		now := time.Now()
		g.pace.end(now, now.Sub(began), len(members), len(g.waiting))
		g.mu.Unlock()
	}
}

// gather waits for those who are expected.
func (g *group) gather() {
	g.mu.Lock()
	wait, enough := g.pace.gather(time.Now(), len(g.waiting))
	if wait == 0 || g.closed {
		g.mu.Unlock()
		return
	}
	full := make(chan struct{})
	g.full, g.enough = full, enough
	g.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-full:
	case <-timer.C:
		g.mu.Lock()
		g.goOn()
		g.mu.Unlock()
	}
}

// goOn ends the wait for others. The caller holds mu.
func (g *group) goOn() {
	if g.full != nil {
		close(g.full)
		g.full = nil
	}
}

// take returns the members of the next batch: the first and those after it that
// have room, in order. What one writes to, no later one of its batch may have
// expectations of, and the later one does not overtake.
func (g *group) take() (members []*member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.running = false
		return nil
	}
	seen := touched{written: map[string]bool{}, watched: map[string]uint64{}}
	entries, bytes := 0, 0
	g.waiting = slices.DeleteFunc(g.waiting, func(m *member) bool {
		fits := len(members) == 0 || entries+len(m.msgs) <= maxGroup && bytes+m.bytes <= maxGroupBytes
		fits = fits && seen.allows(m.entries)
		seen.add(m.entries, !fits)
		if fits {
			members = append(members, m)
			entries += len(m.msgs)
			bytes += m.bytes
		}
		return fits
	})
	return members
}

// commitGroup stores the members as one batch and answers each. When the batch
// is refused it finds out on whose account; the others go again without them.
func (b *Bus) commitGroup(members []*member) {
	for len(members) > 1 {
		last, err := b.commitTogether(members)
		switch {
		case err == nil:
			b.group.stale(landed(members, last))
			return
		case errors.Is(err, ErrConflict): // it may have been stored all the same; then each has a conflict of its own
		case errors.Is(err, ErrUnknownOutcome), fault.Is(err, fault.Unavailable):
			for _, m := range members {
				m.end(0, err)
			}
			return
		}
		rest := b.blame(members)
		if len(rest) == len(members) { // nobody can be told: each for itself
			break
		}
		members = rest
	}
	for _, m := range members {
		seq, err := b.commitTogether([]*member{m})
		if err == nil {
			b.group.stale(landed([]*member{m}, seq))
			continue
		}
		m.end(0, err)
	}
}

// commitTogether sends the members' messages as one atomic batch (ADR-50 of NATS).
func (b *Bus) commitTogether(members []*member) (last uint64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), min(commitWait, b.opts.CallTimeout))
	defer cancel()
	id := rand.Text()
	var batch []*nats.Msg
	for _, m := range members {
		for _, msg := range m.msgs {
			batch = append(batch, msg)
			msg.Header.Set(headerBatch, id)
			msg.Header.Set(headerBatchSeq, strconv.Itoa(len(batch)))
			msg.Header.Del(headerBatchLast)
		}
	}
	batch[len(batch)-1].Header.Set(headerBatchLast, "1")
	return b.commit(ctx, batch)
}

// landed answers the members of a batch, of which the log keeps the last message
// at the sequence last and the others right before it, and returns where each
// subject now stands.
func landed(members []*member, last uint64) map[string]uint64 {
	count := uint64(0)
	for _, m := range members {
		count += uint64(len(m.msgs))
	}
	at := make(map[string]uint64, count)
	seq := last - count
	for _, m := range members {
		for _, e := range m.entries {
			seq++
			at[e.Subject] = seq
		}
		m.end(seq, nil)
	}
	return at
}

// stale answers those who wait but expect what has just ceased to be: they need
// not spoil a batch to learn it.
func (g *group) stale(now map[string]uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(m *member) bool {
		for _, e := range m.entries {
			if seq, changed := now[e.watched()]; changed && seq != e.After {
				m.end(0, fmt.Errorf("append to %s: %w", e.Subject, ErrConflict))
				return true
			}
		}
		return false
	})
}

// blame answers the members whose expectations do not hold, and returns the
// others. What cannot be read is nobody's fault.
func (b *Bus) blame(members []*member) []*member {
	ctx, cancel := context.WithTimeout(context.Background(), min(commitWait, b.opts.CallTimeout))
	defer cancel()
	return slices.DeleteFunc(slices.Clone(members), func(m *member) bool {
		for _, e := range m.entries {
			last, err := b.last(ctx, e.watched())
			if err != nil {
				return false
			}
			if last == nil && e.After != 0 || last != nil && last.Seq != e.After {
				m.end(0, b.refusal(fmt.Errorf("append to %s: %w", e.Subject, ErrConflict)))
				return true
			}
		}
		return false
	})
}
