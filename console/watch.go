package console

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/sleep"
)

const (
	// linger is how long is still looked when nobody does any more: a page that
	// comes back has no gap.
	linger = 30 * time.Second
	// remembered is how many looks are kept for those who come back.
	remembered = 120
	// forgotten is after how many looks a process that says nothing is no longer shown.
	forgotten = 15
	// maxProcesses bounds those that are shown.
	maxProcesses = 500
)

// heard is the last that a process said, and the counts that were shown of it before: of two
// reports that come between two looks nothing is lost.
type heard struct {
	report report
	at     time.Time // when it came
	before *report   // nil: nothing was shown before
	shown  bool
}

// begin counts somebody who looks, and a question of theirs, if they have one;
// they call done. The fault is RATE_LIMITED for one question too many.
func (c *Console) begin(q *question) (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q != nil {
		if c.questions[*q] == 0 && len(c.questions) == maxQuestions {
			return nil, fault.New(fault.RateLimited, "there are %d different lists of operations open; close one", maxQuestions)
		}
		c.questions[*q]++
	}
	c.looking++
	select {
	case c.wanted <- struct{}{}:
	default:
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.looking--
		if q == nil {
			return
		}
		if c.questions[*q]--; c.questions[*q] == 0 {
			delete(c.questions, *q)
			delete(c.answers, *q)
		}
	}, nil
}

// watch looks whenever somebody wants it to.
func (c *Console) watch(ctx context.Context) {
	for {
		select {
		case <-c.wanted:
			if c.lookers() > 0 { // who came while others looked has been served
				c.lookAround(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// lookAround looks until nobody has wanted it to for a while.
func (c *Console) lookAround(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var hearing sync.WaitGroup
	defer hearing.Wait()
	defer cancel()
	hearing.Go(func() {
		err := c.opts.Bus.Subscribe(ctx, c.opts.Bus.Subjects().Control("report"), nil, c.hear)
		c.missed(ctx, "does not hear other processes", err)
	})
	recent := newRecent(c.opts.Feed)
	defer recent.leave()
	tick := time.NewTicker(c.opts.Every)
	defer tick.Stop()
	last := time.Now() // when somebody looked
	for {
		nth := c.ask(ctx)
		// The others answer meanwhile; those who are late are shown as they were.
		if sleep.For(ctx, c.opts.Every/4) != nil {
			break
		}
		recent.follow()
		c.compose(nth, recent.newest())
		if c.lookers() > 0 {
			last = time.Now()
		} else if time.Since(last) > linger {
			break
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overviews, c.reports = nil, map[string]heard{}
}

func (c *Console) lookers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looking
}

// ask asks all processes for their reports, this one without the bus. It returns
// which look this is.
func (c *Console) ask(ctx context.Context) (nth uint64) {
	c.mu.Lock()
	c.nth++
	l := look{From: c.id, Nth: c.nth}
	for q := range c.questions {
		l.Questions = append(l.Questions, q)
	}
	c.mu.Unlock()
	if data, err := json.Marshal(l); err == nil {
		err = c.opts.Bus.Publish(c.opts.Bus.Subjects().Control("look"), nil, data)
		if err != nil && !fault.Is(err, fault.Unavailable) { // while the bus is away there is this process
			c.missed(ctx, "cannot ask other processes", err)
		}
	}
	c.take(c.report(l))
	return l.Nth
}

// hear takes in what another process says. What is not of the form is passed over.
func (c *Console) hear(m bus.Message) {
	if r, err := decodeReport(m.Data); err == nil && r.To == c.id && r.ID != c.id {
		c.take(r)
	}
}

// counts are what of a report the next one is held against. It is all that is kept
// of it: whoever held it whole would hold, by way of it, all those before.
func (r report) counts() *report {
	return &report{At: r.At, Numbers: r.Numbers, Late: r.Late}
}

func (c *Console) take(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.reports[r.ID]
	if !known && len(c.reports) == maxProcesses || known && r.Nth <= was.report.Nth || r.Nth > c.nth {
		return
	}
	h := heard{report: r, at: time.Now(), before: was.before}
	if was.shown {
		h.before = was.report.counts()
	}
	c.reports[r.ID] = h
}

// compose makes what there is to see of the last reports, and tells who looks.
func (c *Console) compose(nth uint64, changes []change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for id, h := range c.reports {
		if nth > h.report.Nth+forgotten {
			delete(c.reports, id)
			continue
		}
		h.shown = true
		c.reports[id] = h
	}
	c.overviews = append(c.overviews, c.overviewLocked(now, changes))
	if extra := len(c.overviews) - remembered; extra > 0 {
		c.overviews = append(c.overviews[:0], c.overviews[extra:]...)
	}
	for q := range c.questions {
		c.answers[q] = c.listLocked(q, now)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// nextOverviews are those after a time, and what is closed when there are more.
// Without a time it is the newest.
func (c *Console) nextOverviews(after time.Time) (list []overview, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.overviews {
		if o.at.After(after) {
			list = append(list, o)
		}
	}
	if after.IsZero() && len(list) > 1 {
		list = list[len(list)-1:]
	}
	return list, c.changed
}

// nextList is the newest answer to a question, and what is closed when there is another.
func (c *Console) nextList(q question) (l list, there bool, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, there = c.answers[q]
	return l, there, c.changed
}
