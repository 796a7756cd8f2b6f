package bus

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Intercept puts a hand into the live path of the followers that start after
// it: fn sees each live message and returns what they get instead.
func Intercept(b *Bus, fn func(*nats.Msg) []*nats.Msg) { b.intercept = fn }

// Lose takes answers of the stream away from the readers that start after it:
// those of which fn says so.
func Lose(b *Bus, fn func(*nats.Msg) bool) { b.lose = fn }

// Conn is the bus's own connection, for tests that speak to the server directly.
func Conn(b *Bus) *nats.Conn { return b.nc }

// Stored reads the headers of a stored message.
func Stored(stream string, h nats.Header, data []byte) (Message, error) {
	return stored(stream, h, data)
}

// Redact and Hide take credentials out of URLs and texts.
var (
	Redact = redact
	Hide   = hide
)

// LiveMessages is how many messages wait for a follower at most.
const LiveMessages = liveMessages

// TakeGroups says in which groups appends leave that came in this order while
// a batch was under way: by their places.
func TakeGroups(appends [][]Entry) (groups [][]int) {
	var g group
	at := map[*member]int{}
	for i, entries := range appends {
		m := &member{entries: entries, msgs: make([]*nats.Msg, len(entries))}
		g.waiting, at[m] = append(g.waiting, m), i
	}
	for members := g.take(); members != nil; members = g.take() {
		var group []int
		for _, m := range members {
			group = append(group, at[m])
		}
		groups = append(groups, group)
	}
	return groups
}

// ForeignFault reads an error answer of an adopter's service.
var ForeignFault = foreignFault

// HeardMessages is how many messages wait for one who hears at most.
const HeardMessages = heardMessages

// Pace is what a group knows of the batches before.
type Pace struct{ p pace }

func (p *Pace) End(now time.Time, took time.Duration, members, waiting int) {
	p.p.end(now, took, members, waiting)
}

func (p *Pace) Gather(now time.Time, waiting int) (wait time.Duration, enough int) {
	return p.p.gather(now, waiting)
}

// The constants of Pace.
const (
	LongestGather = longestGather
	ProbeAfter    = probeAfter
)

// Groups is a group with a log of the test's own.
type Groups struct {
	g      group
	commit func(members int)
}

// NewGroups returns groups that commit stores: as many members as it is told.
func NewGroups(commit func(members int)) *Groups { return &Groups{commit: commit} }

// Append waits until an append of two entries is stored. It reports false after Close.
func (g *Groups) Append() bool {
	m := &member{msgs: make([]*nats.Msg, 2), answer: make(chan struct{})}
	joined := g.g.join(m, func(members []*member) {
		g.commit(len(members))
		for _, m := range members {
			m.end(1, nil)
		}
	})
	if joined {
		<-m.answer
	}
	return joined
}

// Close waits for those who have joined.
func (g *Groups) Close() { g.g.close() }

// Unavailable is what becomes of an error that JetStream answered to a read.
func Unavailable(status, code int, description string) error {
	return unavailable(&apiError{Status: status, Code: code, Description: description})
}

// Question asks what the leader of a stream is asked.
func Question(ctx context.Context, b *Bus, subject string) (*nats.Msg, error) {
	return b.question(ctx, subject, nil)
}

// Alarm is what WatchUsage does at each look.
func Alarm(log *slog.Logger) func(Usage) {
	a := alarm{log: log, full: "raise its limit"}
	return func(u Usage) { a.look(context.Background(), u) }
}

var (
	CountServers = countServers
	TooOld       = tooOld
)

// Settled says of an answer whether it can be believed while a request that was sent
// before is open.
func Settled(ctx context.Context, open time.Time, err error) (bool, error) {
	return (&sends{open: open}).settled(ctx, err != nil, err)
}
