package bus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// The live path is as bad as it can be: a third of the messages is dropped, some
// come twice, some late, some are forged. The follower still hands over each
// message of the log once, in order.
func TestFollowIsGapFreeOverALivePathThatDropsDoublesAndReorders(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	var held []*nats.Msg
	var dropped, doubled, late atomic.Int64
	bus.Intercept(b, func(m *nats.Msg) []*nats.Msg { // one goroutine calls it
		switch n := rnd.IntN(100); {
		case n < 30:
			dropped.Add(1)
			return nil
		case n < 50:
			doubled.Add(1)
			return []*nats.Msg{m, again(m)}
		case n < 70:
			late.Add(1)
			held = append(held, m)
			return nil
		}
		out := append(held, m)
		held = nil
		rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	})
	got := follow(t, b, 0)
	const writers, each = 4, 500
	write(t, b, writers, each)
	mine := map[string]int{} // each writer's own order holds too
	for seq := uint64(1); seq <= writers*each; seq++ {
		m := expect(t, got, seq)
		who, n, _ := strings.Cut(string(m.Data), " ")
		if n != strconv.Itoa(mine[who]) {
			t.Fatalf("message %d is %s's %s, want its %d", seq, who, n, mine[who])
		}
		mine[who]++
		if m.Header.Get("Writer") != who || !strings.HasSuffix(m.Subject, "."+who+"-"+n) {
			t.Fatalf("message %d arrived changed: %+v", seq, m)
		}
	}
	if dropped.Load() == 0 || doubled.Load() == 0 || late.Load() == 0 {
		t.Fatalf("nothing was disturbed: %d dropped, %d doubled, %d late", dropped.Load(), doubled.Load(), late.Load())
	}
}

// again copies a message: the follower empties the headers of what it gets.
func again(m *nats.Msg) *nats.Msg {
	c := nats.NewMsg(m.Subject)
	c.Data = m.Data
	for k, v := range m.Header {
		c.Header[k] = v
	}
	return c
}

// write appends from several goroutines at once and returns when all is acknowledged.
func write(t testing.TB, b *bus.Bus, writers, each int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			who := "w" + strconv.Itoa(w)
			for i := range each {
				_, err := b.Append(t.Context(), bus.Entry{
					Subject: b.Subjects().Record("User", fmt.Sprintf("%s-%d", who, i)),
					Header:  bus.Header{"Writer": {who}},
					Data:    fmt.Appendf(nil, "%s %d", who, i),
				})
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestFollowOfManySeesTheSameOrder(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	followers := []<-chan bus.Message{follow(t, b, 0), follow(t, b, 0), follow(t, b, 0)}
	done := make(chan struct{})
	go func() { defer close(done); write(t, b, 8, 100) }()
	for seq := uint64(1); seq <= 800; seq++ {
		first := expect(t, followers[0], seq)
		for _, got := range followers[1:] {
			if m := expect(t, got, seq); m.Subject != first.Subject || !m.Time.Equal(first.Time) {
				t.Fatalf("followers differ at %d: %v and %v", seq, m, first)
			}
		}
	}
	<-done
}

// A follower that stands still while more is written than its buffer takes
// reads the rest from the stream.
func TestFollowOfASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gate, begun, total := make(chan struct{}), make(chan struct{}), uint64(bus.LiveMessages+2500)
	next := uint64(1)
	done := make(chan error, 1)
	go func() {
		done <- b.Follow(ctx, 0, func(m bus.Message) error {
			if m.Seq == 1 {
				close(begun)
				<-gate
			}
			if m.Seq != next {
				return fmt.Errorf("got %d, want %d", m.Seq, next)
			}
			if next++; next > total {
				cancel()
			}
			return nil
		})
	}()
	mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "first")})
	<-begun
	for n := uint64(1); n < total; {
		var batch []bus.Entry
		for ; len(batch) < bus.MaxEntries && n < total; n++ {
			batch = append(batch, bus.Entry{Subject: b.Subjects().Record("User", strconv.FormatUint(n, 10))})
		}
		mustAppend(t, b, batch...)
	}
	close(gate)
	select {
	case err := <-done:
		if err != nil || next != total+1 {
			t.Fatalf("ended at %d of %d: %v", next-1, total, err)
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("stuck at %d of %d", next-1, total)
	}
}

func TestFollowStepsOverWhatHistoryTrimmed(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{History: 2})
	s := b.Subjects()
	var last uint64
	for i := range 10 { // 1, 3, 5 … are of the hot subject
		last = mustAppend(t, b, bus.Entry{Subject: s.Record("User", "hot"), After: last})
		mustAppend(t, b, bus.Entry{Subject: s.Record("User", fmt.Sprint(i))})
		last = max(last, 1)
	}
	got := follow(t, b, 0)
	for _, seq := range []uint64{2, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19, 20} {
		m := expect(t, got, seq)
		if m.Seq == 17 && m.Prev != 15 {
			t.Fatalf("the message before 17 was %d, want 15, trimmed or not", m.Prev)
		}
	}
	expect(t, got, mustAppend(t, b, bus.Entry{Subject: s.Record("User", "after")}))
}

// Erasing a subject may take the log's very last message: the followers must
// not wait for it for ever.
func TestFollowGoesOnAfterAPurge(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects()
	mustAppend(t, b, bus.Entry{Subject: s.Record("User", "1")})
	mustAppend(t, b, bus.Entry{Subject: s.Record("User", "2")})
	stream := stream(t, b)
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject(s.Record("User", "2"))); err != nil {
		t.Fatal(err)
	}
	got := follow(t, b, 0)
	expect(t, got, 1)
	expect(t, got, mustAppend(t, b, bus.Entry{Subject: s.Record("User", "3")}))
	if err := stream.DeleteMsg(t.Context(), 1); err == nil {
		t.Fatal("a single message could be deleted out of the log")
	}
}

func TestFollowGoesOnAfterTheServerWasRestarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := bustest.Open(t, bus.Options{Dir: dir, Listen: "127.0.0.1:0"})
	url := server.URL()
	b := bustest.Open(t, bus.Options{URL: url})
	got := follow(t, b, 0)
	id := b.LogID()
	for i := range 20 {
		expect(t, got, mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", fmt.Sprint(i))}))
	}
	closeBus(t, server)
	until(t, "the loss of the connection is noticed", func() bool { return b.Ready() != nil })
	if _, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("User", "x")}); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("append without a server: %v, want UNAVAILABLE", err)
	}
	server = bustest.Open(t, bus.Options{Dir: dir, Listen: strings.TrimPrefix(url, "nats://")})
	// What is written while the follower is still away must reach it too.
	for i := range 20 {
		mustAppend(t, server, bus.Entry{Subject: server.Subjects().Record("Post", fmt.Sprint(i))})
	}
	for seq := uint64(21); seq <= 40; seq++ {
		expect(t, got, seq)
	}
	until(t, "the connection is back", func() bool { return b.Ready() == nil })
	expect(t, got, mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "back")}))
	if server.LogID() != id {
		t.Fatalf("the log's identity changed with a restart: %s, then %s", id, server.LogID())
	}
}

func TestFollowEndsWhenTheLogIsReplaced(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	b := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1")})
	done := make(chan error, 1)
	go func() { done <- b.Follow(t.Context(), 0, func(bus.Message) error { return nil }) }()
	js, err := jetstream.New(bus.Conn(server))
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), b.Subjects().Stream()); err != nil {
		t.Fatal(err)
	}
	again := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	if again.LogID() == b.LogID() {
		t.Fatal("another log has the same identity")
	}
	select {
	case err := <-done:
		if !errors.Is(err, bus.ErrLogReplaced) {
			t.Fatalf("%v, want ErrLogReplaced", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the follower goes on")
	}
}

// A follower that is ahead of the log follows a log that lost its end.
func TestFollowRefusesAPositionThatTheLogNeverReached(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	err := b.Follow(t.Context(), 7, func(bus.Message) error { return nil })
	if !errors.Is(err, bus.ErrLogReplaced) {
		t.Fatalf("%v, want ErrLogReplaced", err)
	}
}

// A server lost the end of its log with the power and has gone on since: the
// same identity, the same sequences, other messages.
func TestFollowRecognizesALogThatLostItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := bustest.Open(t, bus.Options{Dir: dir, Listen: "127.0.0.1:0"})
	url := server.URL()
	mustAppend(t, server, bus.Entry{Subject: server.Subjects().Record("User", "1")})
	closeBus(t, server)
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	o := bus.Options{Dir: dir, Listen: strings.TrimPrefix(url, "nats://")}
	server = bustest.Open(t, o)
	b := bustest.Open(t, bus.Options{URL: url})
	read, done := make(chan uint64, 10), make(chan error, 1)
	go func() { done <- b.Follow(t.Context(), 0, func(m bus.Message) error { read <- m.Seq; return nil }) }()
	mustAppend(t, server, bus.Entry{Subject: server.Subjects().Record("User", "2")})
	for range 2 {
		<-read
	}
	closeBus(t, server)
	other := bustest.Dir(t, before) // the log as it was, on other files; it goes on without listening yet
	for i := range 3 {
		mustAppend(t, other, bus.Entry{Subject: other.Subjects().Record("Post", fmt.Sprint(i))})
	}
	closeBus(t, other)
	o.Dir = before
	bustest.Open(t, o)
	select {
	case err := <-done:
		if !errors.Is(err, bus.ErrLogReplaced) || len(read) > 0 {
			t.Fatalf("%v, want ErrLogReplaced; %d of the other messages were read", err, len(read))
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the follower goes on")
	}
}

func TestFollowDropsForeignMessagesOnTheLiveSubjects(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	got := follow(t, b, 0)
	expect(t, got, mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1")}))
	if err := bus.Conn(b).Publish(b.Subjects().Prefix+".live.User.x", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	// Nor does one tell of anything that came by another subject than the log's
	// would: the headers of what a consumer delivers are its writer's.
	next := nats.NewMsg(b.Subjects().Prefix + ".live.User.y")
	for k, v := range map[string]string{"Nats-Stream": b.Subjects().Stream(), "Nats-Subject": b.Subjects().Record("User", "x"), "Nats-Sequence": "2", "Nats-Time-Stamp": "2024-05-01T10:00:00Z"} {
		next.Header.Set(k, v)
	}
	if err := bus.Conn(b).PublishMsg(next); err != nil {
		t.Fatal(err)
	}
	// One that claims to be far ahead does not carry the follower away.
	ahead := nats.NewMsg(b.Subjects().Prefix + ".live.User.x")
	for k, v := range map[string]string{"Nats-Stream": b.Subjects().Stream(), "Nats-Subject": b.Subjects().Record("User", "x"), "Nats-Sequence": "1000", "Nats-Time-Stamp": "2024-05-01T10:00:00Z"} {
		ahead.Header.Set(k, v)
	}
	if err := bus.Conn(b).PublishMsg(ahead); err != nil {
		t.Fatal(err)
	}
	// Headers that a writer set under the server's names change nothing either.
	e := bus.Entry{Subject: b.Subjects().Record("User", "2"), Header: bus.Header{"Nats-Sequence": {"99"}, "Nats-Stream": {"other"}, "Nats-Subject": {"x"}}}
	m := expect(t, got, mustAppend(t, b, e))
	if m.Subject != e.Subject {
		t.Fatalf("a writer's header changed the subject: %+v", m)
	}
	if m, err := b.Last(t.Context(), e.Subject); err != nil || m.Seq != 2 || m.Subject != e.Subject {
		t.Fatalf("a writer's header changed what is read: %+v, %v", m, err)
	}
}

func stream(t testing.TB, b *bus.Bus) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(bus.Conn(b))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), b.Subjects().Stream())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeBus(t testing.TB, b *bus.Bus) {
	t.Helper()
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// until polls a condition that some other goroutine or process brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// What was missing in what came live is counted: here each second message, which
// the next one shows, unless a look at the log does before.
func TestGapsAreCounted(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	var n, dropped atomic.Int64
	bus.Intercept(b, func(m *nats.Msg) []*nats.Msg { // one goroutine calls it
		if n.Add(1)%2 == 0 {
			dropped.Add(1)
			return nil
		}
		return []*nats.Msg{m}
	})
	got := follow(t, b, 0)
	const all = 200
	write(t, b, 1, all)
	for seq := uint64(1); seq <= all; seq++ {
		expect(t, got, seq)
	}
	times, messages := b.Gaps()
	if times == 0 || messages < times || messages > all {
		t.Errorf("%d gaps of %d messages, %d dropped", times, messages, dropped.Load())
	}
}
