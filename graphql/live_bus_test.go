package graphql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

func (x *bound) subscribe(t testing.TB, who auth.Principal, query, after string, b *inbox) (stop func()) {
	t.Helper()
	stop, failed := x.engine.Subscribe(t.Context(), who, graphql.Request{Query: query}, after, b)
	if failed != nil {
		t.Fatalf("refused: %s", failed.Body)
	}
	t.Cleanup(stop)
	return stop
}

func (x *bound) refused(t testing.TB, who auth.Principal, query, after string, code fault.Code) {
	t.Helper()
	_, failed := x.engine.Subscribe(t.Context(), who, graphql.Request{Query: query}, after, newInbox())
	if failed == nil || failed.Code != code {
		t.Fatalf("%s: %+v, want %s", query, failed, code)
	}
}

func (x *bound) publish(t testing.TB, subject, format string, args ...any) {
	t.Helper()
	if err := x.nc.Publish(subject, fmt.Appendf(nil, format, args...)); err != nil {
		t.Fatal(err)
	}
	if err := x.nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

// store publishes to KEPT, which answers the position.
func store(t testing.TB, js nats.JetStreamContext, subject, format string, args ...any) uint64 {
	t.Helper()
	ack, err := js.Publish(subject, fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

func (b *inbox) payload(i int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.payloads[i])
}

// numbers are the values of the field must, in the order of their coming.
func (b *inbox) numbers(t testing.TB) (list []int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, payload := range b.payloads {
		var r struct {
			Data map[string]struct{ Must int }
		}
		if err := json.Unmarshal(payload, &r); err != nil {
			t.Fatal(err)
		}
		for _, reading := range r.Data {
			list = append(list, reading.Must)
		}
	}
	return list
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// deaf reports, in time, whether nobody hears a subject.
func (x *bound) deaf(t testing.TB, subject string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := x.nc.Request(subject, []byte(`{"must":0}`), 20*time.Millisecond)
		if errors.Is(err, nats.ErrNoResponders) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("somebody still hears %s", subject)
		}
	}
}

const heard = `subscription { heard { must unit } }`

func TestEqualSubscribersToASubjectAreServedByOneExecution(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	inboxes := make([]*inbox, 1000)
	stops := make([]func(), len(inboxes))
	for i := range inboxes {
		inboxes[i] = newInbox()
		stops[i] = x.subscribe(t, auth.Principal{Subject: fmt.Sprint("u", i)}, heard, "", inboxes[i])
	}
	other := newInbox()
	stops = append(stops, x.subscribe(t, nobody, `subscription { everything { must } }`, "", other))
	for n := range 5 {
		x.publish(t, "live.a", `{"must":%d}`, n+1)
	}
	x.publish(t, "live.b.c", `{"must":6}`)
	for _, b := range inboxes {
		b.awaitCount(t, 5)
	}
	other.awaitCount(t, 6)
	for _, b := range inboxes {
		if !slices.Equal(b.numbers(t), upTo(5)) || &b.payloads[0][0] != &inboxes[0].payloads[0][0] || b.cursors[0] != "" {
			t.Fatalf("got %v with %q", b.numbers(t), b.cursors[0])
		}
	}
	if got := x.engine.Stats(); got.Executions != 11 || got.Groups != 2 || got.Sinks != 1001 || got.Deliveries != 5006 {
		t.Errorf("%+v", got)
	}
	for _, stop := range stops {
		stop()
	}
	x.deaf(t, "live.a")
	if got := x.engine.Stats(); got.Groups != 0 || got.Sinks != 0 {
		t.Errorf("when all have left: %+v", got)
	}
	again := newInbox()
	x.subscribe(t, nobody, heard, "", again)
	x.publish(t, "live.a", `{"must":7}`)
	again.awaitCount(t, 1)
}

func TestAMessageThatDoesNotFitIsAnErrorOfThatEventAlone(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	b := newInbox()
	x.subscribe(t, nobody, heard, "", b)
	for _, text := range []string{`{"must":1}`, `{"must":1,"unit":"K"}`, `{}`, `nonsense`, ``, `[1]`, `"x"`, `{"must":2}`} {
		x.publish(t, "live.a", "%s", text)
	}
	b.awaitCount(t, 8)
	for i, want := range []string{
		`{"data":{"heard":{"must":1,"unit":null}}}`, `"heard":{"must":1,"unit":null}},"errors":[{"message":`, `"path":["heard","must"]`,
		`{"data":{"heard":null},"errors":[{"message":"a message cannot be read"`, `INTERNAL`, `"path":["heard"]`, `INTERNAL`, `{"data":{"heard":{"must":2,"unit":null}}}`,
	} {
		if got := b.payload(i); !strings.Contains(got, want) {
			t.Errorf("%d is %s, want %s", i, got, want)
		}
	}
	for _, want := range []string{"subject=live.a", "field=Subscription.heard", "unit is no value of the enum Unit"} {
		if !strings.Contains(x.log.String(), want) {
			t.Errorf("the log does not say %q", want)
		}
	}
}

func TestRulesHoldForEachEventOfASubject(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	x.refused(t, ada, `subscription { private { must } }`, "", fault.Forbidden)
	x.refused(t, nobody, `subscription { heard(x: "a.b") { must } }`, "", fault.BadUserInput)
	a, b := newInbox(), newInbox()
	x.subscribe(t, ada, `subscription { robots { name secret } }`, "", a)
	x.subscribe(t, ben, `subscription { robots { name secret } }`, "", b)
	x.publish(t, "robots", `{"id":"r","ownerId":"ada","name":"Robi","secret":"oil"}`)
	a.awaitCount(t, 1)
	b.awaitCount(t, 1)
	wantData(t, a.payload(0), `{"robots":{"name":"Robi","secret":"oil"}}`)
	wantData(t, b.payload(0), `{"robots":{"name":"Robi","secret":null}}`, fault.Forbidden)
}

func TestCloseEndsWhatIsFedFromTheBus(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	x.stream(t)
	a, b := newInbox(), newInbox()
	x.subscribe(t, nobody, heard, "", a)
	x.subscribe(t, nobody, keptQuery, "", b)
	x.engine.Close()
	a.awaitEnd(t, fault.Unavailable)
	b.awaitEnd(t, fault.Unavailable)
	x.deaf(t, "live.a")
	x.refused(t, nobody, heard, "", fault.Unavailable)
}

const keptQuery = `subscription { kept { must } }`

// twoBound are two processes on one server.
func twoBound(t testing.TB) (a, b *bound) {
	a = newBound(t, graphql.Options{})
	second := bustest.Open(t, bus.Options{URL: a.Bus.URL(), Memory: true})
	return a, boundOn(t, resourcetest.Reader(t, second, boundDir(), resource.FeedOptions{}), a.Bus.URL(), graphql.Options{})
}

func TestAStreamIsResumedOnAnyProcessWithoutAGap(t *testing.T) {
	t.Parallel()
	x, y := twoBound(t)
	js := x.stream(t)
	store(t, js, "kept.other", `{"must":-1}`)
	var wg sync.WaitGroup
	const total = 600
	wg.Go(func() {
		for n := range total {
			store(t, js, "kept.a", `{"must":%d}`, n+1)
			store(t, js, "kept.other", `{"must":-1}`)
		}
	})
	// One client goes from process to process, each time after a few results.
	var got []int
	after := start(t, x)
	for turn := 0; len(got) < total; turn++ {
		at := []*bound{x, y}[turn%2]
		b := newInbox()
		b.most = 1 + turn*7%50
		stop := at.subscribe(t, nobody, keptQuery, after, b)
		b.awaitCount(t, min(b.most, total-len(got)))
		stop()
		numbers := b.numbers(t)
		got = append(got, numbers...)
		after = b.cursor(len(numbers) - 1)
	}
	wg.Wait()
	if !slices.Equal(got, upTo(total)) {
		t.Errorf("got %v", got)
	}
}

// start is the cursor from before everything on the subject.
func start(t testing.TB, x *bound) string {
	t.Helper()
	id, _, _, err := x.Bus.StreamState(t.Context(), "KEPT")
	if err != nil {
		t.Fatal(err)
	}
	return resource.Position{Log: id}.String()
}

func TestReplaysOfAStreamAreSharedWithNobodyAndDelayNobody(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	js := x.stream(t)
	const old = 700
	for n := range old {
		store(t, js, "kept.a", `{"must":%d}`, n+1)
	}
	live, slow := newInbox(), newInbox()
	slow.gate = make(chan struct{})
	x.subscribe(t, nobody, keptQuery, "", live)
	x.subscribe(t, nobody, keptQuery, start(t, x), slow)
	const more = 400 // more than is held for one who is behind
	for n := range more {
		store(t, js, "kept.a", `{"must":%d}`, old+n+1)
	}
	live.awaitCount(t, more)
	if n := slow.count(); n != 0 {
		t.Errorf("%d have come before there was room", n)
	}
	close(slow.gate)
	slow.awaitCount(t, old+more)
	store(t, js, "kept.a", `{"must":%d}`, old+more+1)
	slow.awaitCount(t, old+more+1)
	if !slices.Equal(slow.numbers(t), upTo(old+more+1)) {
		t.Errorf("got %v", slow.numbers(t))
	}
	if got := x.engine.Stats(); got.Groups != 1 || got.Sinks != 2 {
		t.Errorf("%+v", got)
	}
}

func TestCursorsOfStreamsThatAreGoneAreExpired(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	x.refused(t, nobody, keptQuery, "", fault.Unavailable) // there is no stream
	js := x.stream(t)
	for n := range 5 {
		store(t, js, "kept.a", `{"must":%d}`, n+1)
	}
	first := start(t, x)
	x.refused(t, nobody, keptQuery, "nonsense", fault.BadUserInput)
	x.refused(t, nobody, keptQuery, resource.Position{Log: x.Bus.LogID(), Seq: 1}.String(), fault.CursorExpired)
	log, _, _ := strings.Cut(first, "-")
	for _, p := range []resource.Position{{Log: log, Seq: 4}, {Log: log, Seq: 5}, {Log: log, Seq: 0}} {
		b := newInbox()
		x.subscribe(t, nobody, keptQuery, p.String(), b)
		b.awaitCount(t, int(5-p.Seq))
	}
	beyond := newInbox()
	x.subscribe(t, nobody, keptQuery, resource.Position{Log: log, Seq: 50}.String(), beyond)
	beyond.awaitEnd(t, fault.CursorExpired)

	if err := js.PurgeStream("KEPT", &nats.StreamPurgeRequest{Sequence: 4}); err != nil {
		t.Fatal(err)
	}
	late := newInbox()
	x.subscribe(t, nobody, keptQuery, first, late)
	late.awaitEnd(t, fault.CursorExpired)

	still := newInbox()
	x.subscribe(t, nobody, keptQuery, "", still)
	if err := js.DeleteStream("KEPT"); err != nil {
		t.Fatal(err)
	}
	x.stream(t)
	still.awaitEnd(t, fault.CursorExpired)
	x.refused(t, nobody, keptQuery, first, fault.CursorExpired)
}

// cable is a connection to a server that can be cut, and mended.
type cable struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newCable(t testing.TB, url string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Listener: l, to: strings.TrimPrefix(url, "nats://")}
	t.Cleanup(func() { _ = l.Close(); c.set(true) })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			c.join(in)
		}
	}()
	return c
}

func (c *cable) join(in net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, err := net.Dial("tcp", c.to)
	if c.cut || err != nil {
		_ = in.Close()
		return
	}
	c.conns = append(c.conns, in, out)
	go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
	go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func TestACutConnectionIsToldWhereNothingIsKeptAndNothingIsMissedWhereAStreamIs(t *testing.T) {
	t.Parallel()
	server := newBound(t, graphql.Options{})
	js := server.stream(t)
	wire := newCable(t, server.Bus.URL())
	far := bustest.Open(t, bus.Options{URL: "nats://" + wire.Addr().String(), Memory: true})
	x := boundOn(t, resourcetest.Reader(t, far, boundDir(), resource.FeedOptions{}), server.Bus.URL(), graphql.Options{})
	core, stream := newInbox(), newInbox()
	x.subscribe(t, nobody, heard, "", core)
	x.subscribe(t, nobody, keptQuery, "", stream)
	sent := 0
	for round := range 3 {
		for range 20 {
			sent++
			store(t, js, "kept.a", `{"must":%d}`, sent)
		}
		server.publish(t, "live.a", `{"must":%d}`, round+1)
		core.await(t, "a value", func() bool { n := core.numbers(t); return len(n) > 0 && slices.Contains(n, round+1) })
		wire.set(true)
		for range 20 {
			sent++
			store(t, js, "kept.a", `{"must":%d}`, sent)
		}
		losses := strings.Count(strings.Join(texts(core), ""), "may have been lost")
		wire.set(false)
		core.await(t, "the loss", func() bool { return strings.Count(strings.Join(texts(core), ""), "may have been lost") > losses })
	}
	stream.awaitCount(t, sent)
	if !slices.Equal(stream.numbers(t), upTo(sent)) {
		t.Errorf("got %v", stream.numbers(t))
	}
	if _, ended := core.over(); ended {
		t.Error("the loss has ended the subscription")
	}
}

func texts(b *inbox) (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.payloads {
		list = append(list, string(p))
	}
	return list
}

func TestASubjectIsHeardAsLongAsSomebodyListens(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	js := x.stream(t)
	stay := newInbox()
	x.subscribe(t, nobody, keptQuery, "", stay)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				for _, query := range []string{heard, keptQuery} {
					b := newInbox()
					stop, failed := x.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: query}, "", b)
					if failed != nil {
						t.Errorf("refused: %s", failed.Body)
						return
					}
					if _, ended := b.over(); ended {
						t.Error("ended at once")
					}
					stop()
				}
			}
		})
	}
	const total = 50
	for n := range total {
		store(t, js, "kept.a", `{"must":%d}`, n+1)
	}
	wg.Wait()
	stay.awaitCount(t, total)
	if !slices.Equal(stay.numbers(t), upTo(total)) {
		t.Errorf("got %v", stay.numbers(t))
	}
	x.deaf(t, "live.a")
	if got := x.engine.Stats(); got.Groups != 1 || got.Sinks != 1 {
		t.Errorf("%+v", got)
	}
}

func TestWhoLeavesWhileTheSubjectIsNotHeardYetLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		stop, failed := x.engine.Subscribe(ctx, nobody, graphql.Request{Query: heard}, "", newInbox())
		if failed == nil {
			stop()
		}
	}
	x.deaf(t, "live.a")
	if got := x.engine.Stats(); got.Groups != 0 || got.Sinks != 0 {
		t.Errorf("%+v", got)
	}
}
