//go:build conformance

package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// event is one change, as a subscriber was told of it.
type event struct {
	Cursor string `json:"cursor"`
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	// Text is what the attempt that caused it wrote: the title of a post, the
	// name of a user, or that it was deleted. No two attempts write the same.
	Text string `json:"-"`
	Node struct {
		Title string `json:"title"`
		Name  string `json:"name"`
	} `json:"node"`
}

// What subscribers ask for, one for each type.
var (
	postChanges = call{Query: `subscription { change: postChanged { kind id cursor node: post { title } } }`}
	userChanges = call{Query: `subscription { change: userChanged { kind id cursor node: user { name } } }`}
)

// deletion is the text of an attempt to delete a record.
func deletion(id string) string { return "deleted " + id }

// readEvent takes the change out of a result.
func readEvent(r result) (event, error) {
	if err := r.err(); err != nil {
		return event{}, err
	}
	var data struct {
		Change event `json:"change"`
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		return event{}, err
	}
	e := data.Change
	e.Text = e.Node.Title + e.Node.Name
	if e.Kind == "DELETED" {
		e.Text = deletion(e.ID)
	}
	if e.Cursor == "" || e.Cursor != r.Extensions.Cursor {
		return e, fmt.Errorf("the change's cursor is %q, that in the extensions %q", e.Cursor, r.Extensions.Cursor)
	}
	return e, nil
}

const (
	// textBefore is what the subscribers begin after.
	textBefore = "before all"
	// lastText ends the load: every subscriber reads up to it.
	lastText = "the last of all"
)

// subscriber listens until the event with lastText has come. Whenever its
// connection ends it takes the next api and the other transport, and resumes
// after the last event that it has seen.
type subscriber struct {
	name  string
	token string
	apis  []*api
	what  call
	after string // where it begins
	dials []dial // its transports; none: all
	via   int    // counts through the transports
	on    int    // counts through the apis
	// silence is how long nothing may come before it takes its connection for
	// dead; zero: for ever.
	silence time.Duration

	mu      sync.Mutex
	events  []event
	came    []arrival   // when each of them came
	opened  time.Time   // the connection
	resumed int         // connections that began with a cursor of an earlier one
	ended   []time.Time // when each connection but the last one ended
}

// arrival is when an event came, and since when the connection was there that
// brought it.
type arrival struct{ at, opened time.Time }

// transports in the order in which subscribers take turns: sockets and event
// streams by turns, each with the ways there are to hand over a cursor.
var transports = []dial{dialSocket, dialEvents, dialSocketByInit, dialEventSource}

// run returns nil after the last event, and otherwise what no subscriber
// should ever meet.
func (s *subscriber) run(ctx context.Context) error {
	for {
		err := s.session(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: the last event has not come; %d have: %w", s.name, s.count(), err)
		case !comesBack(err):
			return fmt.Errorf("%s after %d events: %w", s.name, s.count(), err)
		}
		s.mu.Lock()
		s.ended = append(s.ended, time.Now())
		s.mu.Unlock()
		s.via++
		s.on++
		pause(ctx, 20*time.Millisecond) // of a polite client; the other end may be down
	}
}

// comesBack tells a lost connection, after which a client comes back, from a
// refusal, after which it must not.
func comesBack(err error) bool {
	if refused, ok := errors.AsType[graphQLError](err); ok {
		return refused.Extensions.Code == "UNAVAILABLE"
	}
	return !errors.Is(err, errComplete)
}

// session listens over one connection.
func (s *subscriber) session(ctx context.Context) error {
	cursor, known := s.after, s.count()
	if known > 0 {
		cursor = s.events[known-1].Cursor
	}
	dials := s.dials
	if dials == nil {
		dials = transports
	}
	open := dials[s.via%len(dials)]
	st, err := open(ctx, s.apis[s.on%len(s.apis)].url, s.token, s.what.resume(cursor))
	if err != nil {
		return err
	}
	defer st.close()
	s.opened = time.Now()
	if s.silence > 0 {
		dead := time.AfterFunc(s.silence, st.close)
		defer dead.Stop()
		st = heard{st, func() { dead.Reset(s.silence) }}
	}
	for {
		r, err := st.next()
		if err != nil {
			return err
		}
		e, err := readEvent(r)
		if err != nil {
			return err
		}
		if s.add(e, s.count() == known && known > 0) {
			return nil
		}
	}
}

// heard tells of each result that comes.
type heard struct {
	stream
	tell func()
}

func (h heard) next() (result, error) {
	r, err := h.stream.next()
	h.tell()
	return r, err
}

// add keeps an event and says whether it is the last.
func (s *subscriber) add(e event, resumed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	s.came = append(s.came, arrival{time.Now(), s.opened})
	if resumed {
		s.resumed++
	}
	return e.Text == lastText
}

func (s *subscriber) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// audience is a number of subscribers to the same changes.
type audience struct {
	all  []*subscriber
	wg   sync.WaitGroup
	errs chan error
}

// gather starts n subscribers, spread over the transports and the apis. They
// all begin after the same event, which this function causes by calling touch:
// so none can miss what comes next because it was slow to subscribe.
func gather(t testing.TB, n int, token string, apis []*api, what call, touch func()) *audience {
	t.Helper()
	begin := cursorOf(t, apis[0], token, what, touch)
	a := &audience{errs: make(chan error, n)}
	for i := range n {
		s := &subscriber{
			name: fmt.Sprintf("subscriber %d", i), token: token, apis: apis, what: what,
			after: begin, via: i, on: i / 2,
		}
		a.all = append(a.all, s)
		a.wg.Go(func() { a.errs <- s.run(t.Context()) })
	}
	return a
}

// cursorOf subscribes, touches and returns the cursor of the event that follows.
func cursorOf(t testing.TB, a *api, token string, what call, touch func()) string {
	t.Helper()
	st, err := dialSocket(t.Context(), a.url, token, what)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	if err := st.(*socket).stands(); err != nil {
		t.Fatal(err)
	}
	touch()
	r, err := st.next()
	if err != nil {
		t.Fatal(err)
	}
	e, err := readEvent(r)
	if err != nil {
		t.Fatal(err)
	}
	return e.Cursor
}

// wait returns the events once every subscriber has seen the last one. All
// must have seen the same ones in the same order, none of them twice.
func (a *audience) wait(t testing.TB, within time.Duration) []event {
	t.Helper()
	a.heard(t, within)
	first := a.all[0].events
	resumed := 0
	for _, s := range a.all {
		same(t, a.all[0].name, s.name, first, s.events)
		resumed += s.resumed
	}
	seen := map[string]bool{}
	for _, e := range first {
		if seen[e.Cursor] {
			t.Errorf("the event %+v came twice", e)
		}
		seen[e.Cursor] = true
	}
	t.Logf("%d subscribers had %d events each and resumed %d times", len(a.all), len(first), resumed)
	return first
}

// same reports the first difference of what two subscribers were told.
func same(t testing.TB, oneName, otherName string, one, other []event) {
	t.Helper()
	for i := range max(len(one), len(other)) {
		if i < len(one) && i < len(other) && one[i] == other[i] {
			continue
		}
		at := func(list []event) any {
			if i < len(list) {
				return list[i]
			}
			return "nothing"
		}
		t.Errorf("%s and %s differ at event %d of %d and %d: %+v, %+v", oneName, otherName, i, len(one), len(other), at(one), at(other))
		return
	}
}

// resumed is how often the subscribers have come back with a cursor.
func (a *audience) resumed() int {
	n := 0
	for _, s := range a.all {
		s.mu.Lock()
		n += s.resumed
		s.mu.Unlock()
	}
	return n
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
