package bus_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidings/bus"
)

func TestAGroupWaitsForThoseWhoWereThere(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	now := time.Now()
	for name, c := range map[string]struct {
		members, left int // of the last batch
		took, since   time.Duration
		waiting       int
		wait          time.Duration
		enough        int
	}{
		"nothing is known":               {waiting: 1},
		"a writer by itself":             {members: 1, took: ms, waiting: 1},
		"two who take turns":             {members: 1, left: 1, took: ms, waiting: 1},
		"many were answered":             {members: 32, took: ms, waiting: 1, wait: ms, enough: 40},
		"many came meanwhile":            {members: 1, left: 31, took: ms, waiting: 31, wait: ms, enough: 40},
		"all are there":                  {members: 16, took: ms, waiting: 20},
		"nobody is there":                {members: 32, took: ms},
		"it was a while ago":             {members: 32, took: ms, since: ms, waiting: 1},
		"a short while":                  {members: 32, took: 3 * ms, since: 2 * ms, waiting: 1, wait: 3 * ms, enough: 40},
		"a slow log":                     {members: 32, took: time.Second, waiting: 1, wait: bus.LongestGather, enough: 40},
		"no more than a batch has room":  {members: 300, left: 300, took: ms, waiting: 200, wait: ms, enough: 256},
		"no waiting with a batch's fill": {members: 300, left: 300, took: ms, waiting: 256},
	} {
		var p bus.Pace
		if c.members > 0 {
			p.End(now, c.took, c.members, c.left)
		}
		if wait, enough := p.Gather(now.Add(c.since), c.waiting); wait != c.wait || enough != c.enough {
			t.Errorf("%s: waits %v for %d, want %v for %d", name, wait, enough, c.wait, c.enough)
		}
	}
}

func TestAGuessThatWasTooHighIsNotRaisedSoon(t *testing.T) {
	t.Parallel()
	var p bus.Pace
	now := time.Now()
	expects := func(want int) {
		t.Helper()
		if _, enough := p.Gather(now, 1); enough != want {
			t.Fatalf("expects %d, want %d", enough, want)
		}
	}
	p.End(now, time.Millisecond, 32, 0)
	expects(40)
	for range bus.ProbeAfter {
		p.End(now, time.Millisecond, 32, 0)
		expects(32)
	}
	p.End(now, time.Millisecond, 32, 0)
	expects(32)
	p.End(now, time.Millisecond, 32, 0)
	expects(40)
}

// batchLog is one that takes a batch a while, and counts.
type batchLog struct {
	groups  *bus.Groups
	takes   time.Duration
	batches []int
}

func newBatchLog(takes time.Duration) *batchLog {
	l := &batchLog{takes: takes}
	l.groups = bus.NewGroups(func(members int) {
		time.Sleep(l.takes)
		l.batches = append(l.batches, members)
	})
	return l
}

func TestAWriterByItselfNeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newBatchLog(2 * time.Millisecond)
		began := time.Now()
		for range 100 {
			log.groups.Append()
		}
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("100 appends of 2 ms took %v", took)
		}
	})
}

// Clients who come again a moment after their answer would split into those who
// are answered and those who wait, in turn.
func TestBusyWritersComeToShareABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const writers, each = 32, 100
		log := newBatchLog(2 * time.Millisecond)
		var slowest time.Duration
		var mu sync.Mutex
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				time.Sleep(time.Duration(w) * 150 * time.Microsecond)
				for range each {
					began := time.Now()
					log.groups.Append()
					mu.Lock()
					slowest = max(slowest, time.Since(began))
					mu.Unlock()
					time.Sleep(time.Duration(w) * 50 * time.Microsecond) // thinks
				}
			})
		}
		wg.Wait()
		log.groups.Close()
		if n, least := len(log.batches), writers*each/24; n > least {
			t.Errorf("%d appends left as %d batches, want at most %d: %v", writers*each, n, least, log.batches)
		}
		// A batch under way, the wait, and one's own batch.
		if most := 2*log.takes + bus.LongestGather; slowest > most {
			t.Errorf("an append took %v, want at most %v", slowest, most)
		}
	})
}

func TestNobodyIsWaitedForAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newBatchLog(time.Millisecond)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { log.groups.Append() })
		}
		wg.Wait()
		time.Sleep(time.Second)
		began := time.Now()
		log.groups.Append()
		if took := time.Since(began); took != log.takes {
			t.Errorf("took %v, want %v", took, log.takes)
		}
	})
}

func TestClosingEndsTheWaitForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newBatchLog(bus.LongestGather)
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() { log.groups.Append() })
		}
		wg.Wait()
		began := time.Now()
		wg.Go(func() { log.groups.Append() })
		synctest.Wait()
		log.groups.Close()
		wg.Wait()
		if took := time.Since(began); took != log.takes {
			t.Errorf("took %v, want %v", took, log.takes)
		}
		if log.groups.Append() {
			t.Error("joined a closed group")
		}
		if last := log.batches[len(log.batches)-1]; last != 1 {
			t.Errorf("batches of %v", log.batches)
		}
	})
}
