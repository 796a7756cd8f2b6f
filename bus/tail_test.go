package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

var errEnough = errors.New("enough")

// tailing is a Tail that runs.
type tailing struct {
	got   chan bus.Message
	ended chan error
	id    string
	at    uint64
	stop  context.CancelFunc
}

// tail starts one and returns when it has begun, or ended.
func tail(t testing.TB, b *bus.Bus, want bus.Tail) *tailing {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &tailing{got: make(chan bus.Message, 20000), ended: make(chan error, 1), stop: cancel}
	started := make(chan struct{})
	want.Started = func(id string, at uint64) {
		r.id, r.at = id, at
		close(started)
	}
	go func() {
		err := b.Tail(ctx, want, func(m bus.Message) error { r.got <- m; return nil })
		r.ended <- err
	}()
	select {
	case <-started:
	case err := <-r.ended:
		r.ended <- err
	case <-time.After(20 * time.Second):
		t.Fatal("the tail did not start")
	}
	t.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// expect receives messages with these sequences.
func (r *tailing) expect(t testing.TB, seqs ...uint64) {
	t.Helper()
	for _, seq := range seqs {
		select {
		case m := <-r.got:
			if m.Seq != seq {
				t.Fatalf("got message %d, want %d", m.Seq, seq)
			}
		case err := <-r.ended:
			r.ended <- err
			t.Fatalf("ended before message %d: %v", seq, err)
		case <-time.After(30 * time.Second):
			t.Fatalf("message %d did not come", seq)
		}
	}
}

// fails waits for the end.
func (r *tailing) fails(t testing.TB, code fault.Code) {
	t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		if !fault.Is(err, code) {
			t.Fatalf("ended with %v, want %s", err, code)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("the tail goes on, want %s", code)
	}
}

func told(t testing.TB, b *bus.Bus, subjects ...string) {
	t.Helper()
	for _, s := range subjects {
		if err := b.Tell(t.Context(), "ALARMS", s, bus.Header{"K": {"v"}}, []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTailBringsWhatIsStoredAndThenWhatComes(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	told(t, b, "alarms.a", "alarms.b", "alarms.a", "alarms.c.d", "alarms.a")
	all, some, news := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.>"}), tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.*", After: 2}), tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.a", New: true})
	if news.at != 5 || some.at != 2 || all.at != 0 || news.id == "" || news.id != some.id {
		t.Errorf("started at %d, %d, %d", news.at, some.at, all.at)
	}
	all.expect(t, 1, 2, 3, 4, 5)
	some.expect(t, 3, 5)
	told(t, b, "alarms.b", "alarms.a")
	all.expect(t, 6, 7)
	some.expect(t, 6, 7)
	m := <-news.got
	if m.Seq != 7 || m.Subject != "alarms.a" || string(m.Data) != "alarms.a" || m.Header.Get("K") != "v" || m.Time.IsZero() {
		t.Errorf("%+v", m)
	}
	id, first, last, err := b.StreamState(t.Context(), "ALARMS")
	if err != nil || id != news.id || first != 1 || last != 7 {
		t.Errorf("%s %d %d %v", id, first, last, err)
	}
	news.stop()
	if err := <-news.ended; err != nil {
		t.Error(err)
	}
	news.ended <- nil
}

func TestAStreamThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	_, _, _, err := b.StreamState(t.Context(), "ALARMS")
	for _, err := range []error{err, b.Tail(t.Context(), bus.Tail{Stream: "ALARMS", Subject: "alarms.>"}, nil)} {
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(fault.Of(err).Message, "no stream ALARMS: create it") {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "a.b", "a b", "*", ">", "a\r\n", strings.Repeat("x", 300)} {
		if _, _, _, err := b.StreamState(t.Context(), name); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
		if err := b.Tail(t.Context(), bus.Tail{Stream: name, Subject: "a"}, nil); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
}

func TestTailReadsTenThousandInOrder(t *testing.T) {
	t.Parallel()
	for direct, total := range map[bool]int{true: 10_000, false: 2_000} {
		t.Run(fmt.Sprint("direct gets: ", direct), func(t *testing.T) {
			t.Parallel()
			readInOrder(t, direct, total)
		})
	}
}

func readInOrder(t *testing.T, direct bool, total int) {
	b := bustest.New(t)
	config := alarms()
	config.AllowDirect = direct
	makeStream(t, b, config)
	go func() {
		for i := range total {
			if err := b.Publish(fmt.Sprintf("alarms.%d", i%2), nil, fmt.Append(nil, i)); err != nil {
				t.Error(err)
			}
		}
	}()
	live := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.*"})
	for i := range total {
		live.expect(t, uint64(i+1))
	}
	half := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.1"})
	for i := range total / 2 {
		half.expect(t, uint64(2*i+2))
	}
}

func TestTailSaysWhenWhatFollowsIsNotThereAnyMore(t *testing.T) {
	t.Parallel()
	trim := func(t *testing.T, b *bus.Bus, s jetstream.Stream) { told(t, b, "alarms.b", "alarms.b", "alarms.b") }
	purge := func(t *testing.T, b *bus.Bus, s jetstream.Stream) {
		if err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	purgeOne := func(t *testing.T, b *bus.Bus, s jetstream.Stream) {
		if err := s.Purge(t.Context(), jetstream.WithPurgeSubject("alarms.b")); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, b *bus.Bus, s jetstream.Stream) {
		if err := s.DeleteMsg(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	type change struct {
		change         func(*testing.T, *bus.Bus, jetstream.Stream)
		expired, holds uint64 // positions
	}
	for name, c := range map[string]change{
		"trimmed":           {trim, 2, 3},
		"purged":            {purge, 4, 5},
		"a subject purged":  {purgeOne, 3, 4},
		"a message deleted": {remove, 2, 3},
	} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, direct gets: %t", name, direct), func(t *testing.T) {
				t.Parallel()
				b := bustest.New(t)
				config := alarms()
				config.MaxMsgs, config.AllowDirect = 5, direct
				s := makeStream(t, b, config)
				told(t, b, "alarms.a", "alarms.b", "alarms.a", "alarms.b", "alarms.a") // 1 to 5
				id, _, _, err := b.StreamState(t.Context(), "ALARMS")
				if err != nil {
					t.Fatal(err)
				}
				c.change(t, b, s)
				tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.a", ID: id, After: c.expired}).fails(t, fault.CursorExpired)
				r := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.*", ID: id, After: c.holds})
				_, first, last, err := b.StreamState(t.Context(), "ALARMS")
				if err != nil {
					t.Fatal(err)
				}
				for seq := max(first, c.holds+1); seq <= last; seq++ {
					r.expect(t, seq)
				}
				told(t, b, "alarms.a")
				r.expect(t, last+1)
			})
		}
	}
}

func TestAPositionOfAnotherStreamIsExpired(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	told(t, b, "alarms.a")
	for _, want := range []bus.Tail{{ID: "other"}, {After: 2}} {
		want.Stream, want.Subject = "ALARMS", "alarms.*"
		if err := b.Tail(t.Context(), want, nil); !fault.Is(err, fault.CursorExpired) {
			t.Errorf("%+v: %v", want, err)
		}
	}
}

func TestTailEndsWhenTheStreamIsAnotherOne(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"created again": true, "deleted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			makeStream(t, b, alarms())
			told(t, b, "alarms.a")
			r := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.*"})
			r.expect(t, 1)
			js, err := jetstream.New(bus.Conn(b))
			if err != nil {
				t.Fatal(err)
			}
			if err := js.DeleteStream(t.Context(), "ALARMS"); err != nil {
				t.Fatal(err)
			}
			if !again {
				r.fails(t, fault.Unavailable)
				return
			}
			makeStream(t, b, alarms())
			told(t, b, "alarms.a", "alarms.a")
			r.fails(t, fault.CursorExpired)
			if len(r.got) > 0 {
				t.Error("messages of the other stream were handed over")
			}
		})
	}
}

// While the reader stands still the messages that it has not read are trimmed.
func TestATailThatIsTooSlowIsTold(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	config := alarms()
	config.MaxMsgs = 100
	makeStream(t, b, config)
	gate, begun := make(chan struct{}), make(chan struct{})
	started := make(chan struct{})
	next := uint64(1)
	ended := make(chan error, 1)
	go func() {
		ended <- b.Tail(t.Context(), bus.Tail{Stream: "ALARMS", Subject: "alarms.>", New: true, Started: func(string, uint64) { close(started) }}, func(m bus.Message) error {
			if m.Seq == 1 {
				close(begun)
				<-gate
			}
			if m.Seq != next {
				return fmt.Errorf("got %d, want %d", m.Seq, next)
			}
			next++
			return nil
		})
	}()
	<-started
	told(t, b, "alarms.a")
	<-begun
	for range 300 {
		told(t, b, "alarms.a")
	}
	close(gate)
	if err := <-ended; !fault.Is(err, fault.CursorExpired) {
		t.Fatalf("%v after %d", err, next-1)
	}
}

func TestTailReturnsTheErrorOfItsReader(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	told(t, b, "alarms.a")
	if err := b.Tail(t.Context(), bus.Tail{Stream: "ALARMS", Subject: "alarms.a"}, func(bus.Message) error { return errEnough }); err != errEnough {
		t.Fatal(err)
	}
}

// The server goes away and comes back, several times, while alarms are raised
// by another process: the reader gets each once, in order.
func TestTailLivesThroughRestartsOfTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := bustest.Open(t, bus.Options{Dir: dir, Listen: "127.0.0.1:0"})
	url := server.URL()
	config := alarms()
	config.Storage, config.AllowDirect = jetstream.FileStorage, true
	makeStream(t, server, config)
	b := bustest.Open(t, bus.Options{URL: url})
	r := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.a"})
	seq := uint64(0)
	for range 3 {
		for range 200 {
			told(t, server, "alarms.b", "alarms.a")
			seq += 2
			if seq%100 == 0 {
				r.expect(t, seq-98, seq-96, seq-94, seq-92, seq-90)
				for s := seq - 88; s <= seq; s += 2 {
					r.expect(t, s)
				}
			}
		}
		closeBus(t, server)
		server = bustest.Open(t, bus.Options{Dir: dir, Listen: strings.TrimPrefix(url, "nats://")})
	}
	told(t, server, "alarms.a")
	r.expect(t, seq+1)
}

// Three servers keep the stream. The one that leads it crashes and comes back.
func TestTailLivesThroughTheLossOfTheLeader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	c := startCluster(t)
	b := openCluster(t, c)
	config := alarms()
	config.Storage, config.Replicas = jetstream.FileStorage, 3
	makeStream(t, b, config)
	r := tail(t, b, bus.Tail{Stream: "ALARMS", Subject: "alarms.*"})
	raised := make(chan int)
	const total = 600
	go func() {
		defer close(raised)
		for i := range total {
			for t.Context().Err() == nil {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				err := b.Tell(ctx, "ALARMS", "alarms.a", bus.Header{"Nats-Msg-Id": {fmt.Sprint(i)}}, fmt.Append(nil, i))
				cancel()
				if err == nil {
					break
				}
			}
			select {
			case raised <- i:
			case <-t.Context().Done():
			}
		}
	}()
	for i := range raised {
		if i == total/3 {
			c.restart(t, c.leader("ALARMS"))
		}
	}
	last := uint64(0)
	for i := range total {
		select {
		case m := <-r.got:
			if string(m.Data) != fmt.Sprint(i) || m.Seq <= last {
				t.Fatalf("got %s as %d after %d, want %d", m.Data, m.Seq, last, i)
			}
			last = m.Seq
		case err := <-r.ended:
			r.ended <- err
			t.Fatal(err)
		case <-time.After(30 * time.Second):
			t.Fatalf("%d did not come", i)
		}
	}
}

func TestATailWithAnEndEndsWhereNothingOfItsSubjectFollows(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	makeStream(t, b, alarms())
	told(t, b, "alarms.a", "alarms.b", "alarms.a", "alarms.b", "alarms.b")
	for _, c := range []struct {
		after, until uint64
		seqs         []uint64
	}{{0, 5, []uint64{1, 3}}, {1, 4, []uint64{3}}, {3, 5, nil}, {5, 5, nil}, {5, 2, nil}} {
		var seqs []uint64
		err := b.Tail(t.Context(), bus.Tail{Stream: "ALARMS", Subject: "alarms.a", After: c.after, Until: c.until}, func(m bus.Message) error {
			seqs = append(seqs, m.Seq)
			return nil
		})
		if err != nil || !slices.Equal(seqs, c.seqs) {
			t.Errorf("after %d until %d: %v, %v", c.after, c.until, seqs, err)
		}
	}
}
