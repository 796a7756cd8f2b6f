package proc

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// Strain says how much of the work that comes a process should take. Where there is
// more than its processors can do, what was begun is not what waits: goroutines
// wait for a processor before they have looked at their request, and a bound on
// those that are at work is never reached. So the measure is for how long they
// wait (runtime/metrics, /sched/latencies): while a tenth of them waits for longer
// than 100 ms less and less is taken, and when they do not more and more, until the
// whole (additive increase, multiplicative decrease). A process that has had less
// than a quarter of its processors waits for what others do there: refusing would
// help nobody. The methods may run concurrently; nil takes everything.
type Strain struct {
	share atomic.Uint64 // bits of the share that is taken

	looking sync.Mutex
	looked  atomic.Int64 // when, in nanoseconds
	waited  func() time.Duration
	used    func() time.Duration // processor time until now
	had     time.Duration        // of it at the last look
}

const (
	lookEvery = 100 * time.Millisecond
	// tooLate is what processors may let wait; goroutines of an idle process wait
	// for microseconds, those of one that a cgroup throttles for tens of milliseconds.
	tooLate    = 100 * time.Millisecond
	leastShare = 0.02
	busy       = 0.25 // of GOMAXPROCS, from which on the process itself is what is too much
	less       = 0.75 // of the share, at each look
	more       = 0.04 // of the whole, in the time of a look
)

// NewStrain returns one that takes everything. waited tells how long all but a tenth
// of the goroutines that ran since the last call have waited, at most, and used how
// much processor time the process has had, less than 0 if that is unknown; nil: Go and the system tell.
func NewStrain(waited, used func() time.Duration) *Strain {
	s := &Strain{waited: waited, used: used}
	if waited == nil {
		s.waited = new(schedule).waited
	}
	if used == nil {
		s.used = processorTime
	}
	s.share.Store(math.Float64bits(1))
	s.looked.Store(time.Now().UnixNano())
	return s
}

// Take reports whether to take what has come. Of what weighs more a larger share is
// taken; usually it weighs 1.
func (s *Strain) Take(weight float64) bool {
	share := s.Share() * weight
	return share >= 1 || rand.Float64() < share
}

// Share is how much is taken, of 1.
func (s *Strain) Share() float64 {
	if s == nil {
		return 1
	}
	if s.sinceLook() >= lookEvery && s.looking.TryLock() {
		if since := s.sinceLook(); since >= lookEvery { // another one may have looked meanwhile
			s.look(since)
		}
		s.looking.Unlock()
	}
	return math.Float64frombits(s.share.Load())
}

func (s *Strain) sinceLook() time.Duration { return time.Since(time.Unix(0, s.looked.Load())) }

func (s *Strain) look(since time.Duration) {
	s.looked.Store(time.Now().UnixNano())
	share := math.Float64frombits(s.share.Load())
	had := s.used()
	own := had - s.had
	s.had = had
	switch late := s.waited(); {
	case late > tooLate && had >= 0 && float64(own) < busy*float64(since)*float64(runtime.GOMAXPROCS(0)):
	case late > tooLate:
		share = max(leastShare, share*less)
	case late < tooLate/2:
		share = min(1, share+more*float64(since)/float64(lookEvery))
	}
	s.share.Store(math.Float64bits(share))
}

// schedule reads for how long goroutines have waited for a processor.
type schedule struct {
	sample [1]metrics.Sample
	before []uint64
}

func (s *schedule) waited() time.Duration {
	s.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(s.sample[:])
	if s.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := s.sample[0].Value.Float64Histogram()
	first := s.before == nil
	if first {
		s.before = make([]uint64, len(h.Counts))
	}
	total := uint64(0)
	for i, n := range h.Counts {
		n, s.before[i] = n-s.before[i], n
		h.Counts[i] = n
		total += n
	}
	if first {
		return 0
	}
	late := total / 10
	for i := len(h.Counts) - 1; i >= 0; i-- {
		if h.Counts[i] > late {
			return time.Duration(max(h.Buckets[i], 0) * float64(time.Second))
		}
		late -= h.Counts[i]
	}
	return 0
}
