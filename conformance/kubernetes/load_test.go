//go:build kubernetes

package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// load is clients at work: writers, readers and subscribers to what is written.
// All subscribers begin after the same event, so all must be told the same.
type load struct {
	service     service
	began       time.Time
	subscribers []*subscriber
	stopWriters context.CancelFunc
	stopAll     context.CancelFunc
	writing     sync.WaitGroup
	listening   sync.WaitGroup
	ledger      ledger
	story       story
}

const (
	// lastTitle ends a load: every subscriber reads up to it.
	lastTitle = "the last of all"
	changes   = `subscription { postChanged { kind post { title } } }`
	create    = `mutation ($title: String!) { createPost(input: {title: $title}) { title } }`
	read      = `{ posts(first: 1) { nodes { title } } }`
)

// begin starts a load and returns when every subscriber has heard something.
// writes is how many there are to be in a second, as long as they are answered.
func begin(t *testing.T, s service, subscribers, writes int) *load {
	t.Helper()
	l := &load{service: s, began: time.Now()}
	l.ledger.started, l.ledger.acked = map[string]time.Time{}, map[string]time.Time{}
	l.ledger.failures, l.ledger.readFailures = map[string]int{}, map[string]int{}
	l.story.arrived = map[string]time.Time{}
	all, stopAll := context.WithCancel(t.Context())
	writers, stopWriters := context.WithCancel(all)
	l.stopAll, l.stopWriters = stopAll, stopWriters
	t.Cleanup(func() { stopAll(); l.writing.Wait(); l.listening.Wait() })

	cursor := l.firstCursor(t)
	for i := range subscribers {
		b := &subscriber{name: fmt.Sprintf("s%d", i), token: s.token(fmt.Sprintf("subscriber-%d", i)), at: cursor, load: l}
		if b.dial = dialSocket; i%2 == 1 {
			b.dial = dialEvents
		}
		l.subscribers = append(l.subscribers, b)
		l.listening.Go(func() { b.run(all) })
	}
	const each = 2 // writes a second of one writer
	for i := range max(1, writes/each) {
		l.writing.Go(func() { l.write(writers, fmt.Sprintf("w%d", i), i%2 == 0, time.Second/each) })
	}
	for i := range 4 {
		l.writing.Go(func() { l.read(writers, fmt.Sprintf("r%d", i), i%2 == 0) })
	}
	eventually(t, 2*time.Minute, "all subscribers have heard something", func() error {
		for _, b := range l.subscribers {
			if b.heard() == 0 {
				return fmt.Errorf("%s has not: %s", b.name, b.failures())
			}
		}
		return nil
	})
	for _, b := range l.subscribers { // figures are of what comes now
		b.forget()
	}
	return l
}

// firstCursor is the position before everything that the load writes.
func (l *load) firstCursor(t *testing.T) string {
	t.Helper()
	token := l.service.token("first")
	st, err := dialSocket(t.Context(), l.service.url, token, "", call{Query: changes}, func() {})
	if err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	defer st.close()
	for i := range 50 {
		title := fmt.Sprintf("before all %d", i)
		l.ledger.started[title] = time.Now()
		if _, err := post(t.Context(), http.DefaultClient, l.service.url, token, "", call{Query: create, Variables: map[string]any{"title": title}}); err != nil {
			t.Fatalf("write: %v", err)
		}
		told := make(chan struct{})
		go func() { defer close(told); _, _ = st.next() }()
		select {
		case <-told:
			if st.cursor() != "" {
				return st.cursor()
			}
		case <-time.After(5 * time.Second): // it may not have stood yet
		}
	}
	t.Fatal("no event comes")
	return ""
}

// end stops the writers, waits until all subscribers have been told everything,
// and says how it went. What was lost, doubled or out of order fails the test.
func (l *load) end(t *testing.T) report {
	t.Helper()
	l.stopWriters()
	l.writing.Wait()
	if !l.attempt(t.Context(), newClient(false), l.service.token("last"), lastTitle, 2*time.Minute) {
		t.Fatalf("the last write was not acknowledged: %v", l.ledger.failures)
	}
	eventually(t, 3*time.Minute, "all subscribers are told of the last write", func() error {
		missing := 0
		for _, b := range l.subscribers {
			if !b.done() {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of %d are not", missing, len(l.subscribers))
		}
		return nil
	})
	l.stopAll()
	l.listening.Wait()
	return l.judge(t)
}

// ledger is what writers and readers were told.
type ledger struct {
	mu           sync.Mutex
	started      map[string]time.Time // titles that were sent
	acked        map[string]time.Time // and acknowledged
	slowest      time.Duration        // from sending, retries included, to the acknowledgement
	requests     int
	failures     map[string]int // of writes, by reason; each was sent again
	samples      []string       // the first of each, in their own words
	reads        int
	readFailures map[string]int
}

func newClient(keepAlive bool) *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: !keepAlive}}
}

func (l *load) write(ctx context.Context, name string, keepAlive bool, pace time.Duration) {
	client, token := newClient(keepAlive), l.service.token("writer-"+name)
	defer client.CloseIdleConnections()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		title := fmt.Sprintf("%s-%d-%d", name, l.began.UnixNano(), n)
		l.attempt(ctx, client, token, title, 5*time.Minute)
	}
}

// attempt sends a write until it is acknowledged, each time with the same key. It
// ends a request that it has begun also when ctx is over.
func (l *load) attempt(ctx context.Context, client *http.Client, token, title string, within time.Duration) bool {
	g := &l.ledger
	began := time.Now()
	g.mu.Lock()
	g.started[title] = began
	g.mu.Unlock()
	c := call{Query: create, Variables: map[string]any{"title": title}}
	for try := 0; time.Since(began) < within; try++ {
		_, err := post(context.WithoutCancel(ctx), client, l.service.url, token, fmt.Sprintf("%s-%d", title, l.began.UnixNano()), c)
		g.mu.Lock()
		g.requests++
		if err == nil {
			g.acked[title] = time.Now()
			g.slowest = max(g.slowest, time.Since(began))
			g.mu.Unlock()
			return true
		}
		g.failures[reason(err)]++
		if g.failures[reason(err)] <= 3 {
			g.samples = append(g.samples, fmt.Sprintf("%s after %s, try %d of %s: %v", time.Now().Format("15:04:05.000"), round(time.Since(began)), try+1, title, err))
		}
		g.mu.Unlock()
		if ctx.Err() != nil && try > 20 {
			return false
		}
		pause(context.WithoutCancel(ctx), time.Duration(100+rand.IntN(400))*time.Millisecond) // what was begun is finished
	}
	return false
}

func (l *load) read(ctx context.Context, name string, keepAlive bool) {
	client, token := newClient(keepAlive), l.service.token("reader-"+name)
	defer client.CloseIdleConnections()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		_, err := post(context.WithoutCancel(ctx), client, l.service.url, token, "", call{Query: read})
		l.ledger.mu.Lock()
		l.ledger.reads++
		if err != nil {
			l.ledger.readFailures[reason(err)]++
		}
		l.ledger.mu.Unlock()
	}
}

// reason is the code of a refusal, or what is the same in errors of a kind.
func reason(err error) string {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.Extensions.Code
	}
	text := err.Error()
	for _, known := range []string{"connection refused", "connection reset", "use of closed network connection", "context canceled", "EOF", "no route to host", "Client.Timeout", "timeout", "status 5"} {
		if strings.Contains(text, known) {
			if known == "status 5" {
				return text[strings.Index(text, known):]
			}
			return known
		}
	}
	return text[max(0, len(text)-60):]
}

// story is what happened, as the first subscriber was told of each event; all
// others must be told the same in the same order.
type story struct {
	mu      sync.Mutex
	titles  []string
	arrived map[string]time.Time // first
	wrong   []string
}

// tell checks the event that is at place n of what a subscriber was told.
func (s *story) tell(name string, n int, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n == len(s.titles):
		s.titles = append(s.titles, title)
		s.arrived[title] = time.Now()
	case s.titles[n] != title && len(s.wrong) < 20:
		s.wrong = append(s.wrong, fmt.Sprintf("%s was told %q at place %d, others %q", name, title, n, s.titles[n]))
	}
}

// subscriber listens, and comes back when its connection ends.
type subscriber struct {
	name  string
	token string
	dial  func(ctx context.Context, url, token, cursor string, c call, beat func()) (stream, error)
	load  *load

	mu       sync.Mutex
	at       string // cursor
	n        int    // events
	last     time.Time
	gap      time.Duration // longest time between events
	ended    []time.Time   // connections
	silent   int           // that it gave up because nothing came
	reasons  map[string]int
	complete bool
}

// silence is how long nothing may come, heartbeats included, which come each 20 s
// or more often.
const silence = 25 * time.Second

func (b *subscriber) run(ctx context.Context) {
	for try := 0; ctx.Err() == nil && !b.done(); try++ {
		if b.listen(ctx) {
			try = 0
		}
		if b.done() {
			return
		}
		// As clients do: soon, each at a time of its own, then less often.
		pause(ctx, time.Duration(100+rand.IntN(900))*time.Millisecond<<min(try, 3))
	}
}

// listen uses one connection, and says whether it brought anything.
func (b *subscriber) listen(ctx context.Context) (useful bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var closing sync.Mutex
	var st stream
	dead := time.AfterFunc(silence, func() {
		b.mu.Lock()
		b.silent++
		b.mu.Unlock()
		cancel()
		closing.Lock()
		defer closing.Unlock()
		if st != nil {
			st.close()
		}
	})
	defer dead.Stop()
	opened, err := b.dial(ctx, b.load.service.url, b.token, b.at, call{Query: changes}, func() { dead.Reset(silence) })
	if err != nil {
		b.failed(err, false)
		return false
	}
	defer opened.close()
	defer context.AfterFunc(ctx, opened.close)()
	closing.Lock()
	st = opened
	closing.Unlock()
	for {
		r, err := opened.next()
		b.at = opened.cursor()
		if err != nil {
			b.failed(err, true)
			return useful
		}
		useful = true
		if b.tell(r) {
			return true
		}
	}
}

func (b *subscriber) failed(err error, opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reasons == nil {
		b.reasons = map[string]int{}
	}
	text := reason(err)
	if strings.Contains(err.Error(), "1012") {
		text = "1012"
	}
	b.reasons[text]++
	if opened {
		b.ended = append(b.ended, time.Now())
	}
}

// tell notes an event and says whether it is the last.
func (b *subscriber) tell(r result) bool {
	var data struct {
		PostChanged struct {
			Kind string
			Post struct{ Title string }
		}
	}
	if err := json.Unmarshal(r.Data, &data); err != nil || data.PostChanged.Kind == "" {
		return false
	}
	title := data.PostChanged.Post.Title
	b.load.story.tell(b.name, b.n, title)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	now := time.Now()
	if !b.last.IsZero() {
		b.gap = max(b.gap, now.Sub(b.last))
	}
	b.last = now
	b.complete = title == lastTitle
	return b.complete
}

func (b *subscriber) heard() int { b.mu.Lock(); defer b.mu.Unlock(); return b.n }
func (b *subscriber) done() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.complete }
func (b *subscriber) failures() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprint(b.reasons)
}
func (b *subscriber) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gap, b.ended, b.reasons, b.silent = 0, nil, nil, 0
}

// report is how a load went.
type report struct {
	events, acked, requests, reads int
	failures, readFailures         map[string]int
	reconnects, mostOfOne, silent  int
	ended                          []time.Time
	reasons                        map[string]int // why connections ended or were not made
	gap, meanGap, slowestWrite     time.Duration
	latency50, latency99           time.Duration // from sending a write until the first is told
	lost, doubled                  int
}

func (l *load) judge(t *testing.T) report {
	t.Helper()
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	g, s := &l.ledger, &l.story
	r := report{events: len(s.titles), acked: len(g.acked), requests: g.requests, reads: g.reads, failures: g.failures, readFailures: g.readFailures, slowestWrite: g.slowest, reasons: map[string]int{}}
	times := map[string]int{}
	for _, title := range s.titles {
		times[title]++
	}
	var latencies []time.Duration
	for title := range g.acked {
		if times[title] == 0 {
			r.lost++
		}
		latencies = append(latencies, s.arrived[title].Sub(g.started[title]))
	}
	for title, n := range times {
		if n > 1 {
			r.doubled += n - 1
		}
		if _, known := g.started[title]; !known {
			t.Errorf("told of %q, which nobody wrote", title)
		}
	}
	slices.Sort(latencies)
	if n := len(latencies); n > 0 {
		r.latency50, r.latency99 = latencies[n/2], latencies[n*99/100]
	}
	for _, b := range l.subscribers {
		r.reconnects += len(b.ended)
		r.mostOfOne = max(r.mostOfOne, len(b.ended))
		r.ended = append(r.ended, b.ended...)
		r.gap = max(r.gap, b.gap)
		r.meanGap += b.gap / time.Duration(len(l.subscribers))
		r.silent += b.silent
		for why, n := range b.reasons {
			r.reasons[why] += n
		}
		if b.n != len(s.titles) {
			t.Errorf("%s was told of %d events, others of %d", b.name, b.n, len(s.titles))
		}
	}
	for _, sample := range g.samples {
		t.Log(sample)
	}
	for _, wrong := range s.wrong {
		t.Error(wrong)
	}
	if r.lost > 0 || r.doubled > 0 {
		t.Errorf("of %d acknowledged writes %d were lost, %d doubled", r.acked, r.lost, r.doubled)
	}
	return r
}

// show prints what counts of a scenario.
func (r report) show(t *testing.T, subscribers int) {
	t.Helper()
	t.Logf("FIGURES events %d to each of %d subscribers, acknowledged writes %d, lost %d, doubled %d", r.events, subscribers, r.acked, r.lost, r.doubled)
	t.Logf("FIGURES failed: %d of %d writes %v, %d of %d reads %v; slowest write %s", sum(r.failures), r.requests, r.failures, sum(r.readFailures), r.reads, r.readFailures, round(r.slowestWrite))
	t.Logf("FIGURES connections ended %d, %.2f a subscriber, most of one %d, given up in silence %d; %v", r.reconnects, float64(r.reconnects)/float64(subscribers), r.mostOfOne, r.silent, r.reasons)
	t.Logf("FIGURES longest time without an event: mean of subscribers %s, longest %s; from write to first delivery p50 %s, p99 %s", round(r.meanGap), round(r.gap), round(r.latency50), round(r.latency99))
}

// spread counts the connections that ended in each part of a time.
func (r report) spread(from time.Time, part time.Duration) []int {
	var counts []int
	for _, at := range r.ended {
		if i := int(at.Sub(from) / part); i >= 0 {
			for len(counts) <= i {
				counts = append(counts, 0)
			}
			counts[i]++
		}
	}
	return counts
}

func sum(m map[string]int) int {
	n := 0
	for k := range maps.Values(m) {
		n += k
	}
	return n
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
