package bus

import "time"

// A batch costs the same however few it holds, so a group waits a moment for
// those who are about to come, as databases delay a commit while others have
// transactions open. Who is about to come is guessed from the last batch: those
// whom it answered, since a busy client comes again at once, those who came
// while it was under way, and now and then a few more, because on a busy core
// many are on their way unseen. A guess that was too high is corrected by the
// batch that came of it. Few writers never wait, nor does anybody after a pause.

const (
	// siblings is how many must have been there lately for a group to wait: a
	// writer by itself, or a few who take turns, would wait in vain.
	siblings = 4
	// longestGather bounds the wait, which is no longer than the last batch took.
	longestGather = 5 * time.Millisecond
	// probeAfter is for how many batches the guess is not raised after one that
	// fell short of it.
	probeAfter = 8
)

// pace is what a group knows of the batches before. Its zero value knows nothing.
type pace struct {
	expected int // how many members the next batch may come to
	modest   int // for how many batches yet the guess is not raised
	took     time.Duration
	ended    time.Time
}

// end notes a batch that ended now, took so long, and left some waiting.
func (p *pace) end(now time.Time, took time.Duration, members, waiting int) {
	there := members + waiting
	switch {
	case members < p.expected:
		p.modest = probeAfter
	case p.modest > 0:
		p.modest--
	default:
		there += there / 4
	}
	p.expected, p.took, p.ended = there, took, now
}

// gather says how long a group in which some wait already is to wait for others
// at most, and how many are enough. Zero: not at all.
func (p *pace) gather(now time.Time, waiting int) (wait time.Duration, enough int) {
	wait = min(p.took, longestGather)
	enough = min(p.expected, maxGroup/2) // each has two entries or more
	if enough < siblings || waiting == 0 || waiting >= enough || now.Sub(p.ended) >= wait {
		return 0, 0
	}
	return wait, enough
}
