//go:build conformance

package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A service in JavaScript takes part in the schema of examples/telemetry, with
// two apis on a bus of its own beside it. Everything that a subscriber of a
// stream is told is counted against what was acknowledged, over both apis and
// every transport, while the service and the bus come and go.

// telemetry is where the example lies.
func telemetry(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../examples/telemetry")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal("the example's packages are not installed: make clients")
	}
	return dir
}

type site struct {
	nats      *process
	apis      []*api
	responder *process
	user      string // token
	admin     string // token
}

func startSite(t testing.TB) *site {
	t.Helper()
	dir, data := telemetry(t), t.TempDir()
	s := &site{}
	var url string
	s.nats, url = startNATS(t)
	env := []string{"TIDINGS_NATS_URL=" + url}
	for i := range 2 {
		s.apis = append(s.apis, startAPI(t, fmt.Sprintf("api %d", i), data, env, "--schema", dir))
	}
	s.responder = start(t, &process{name: "node", args: []string{filepath.Join(dir, "responder.mjs")}, env: []string{"NATS=" + url}})
	s.waitForResponder(t, 1)
	s.user, s.admin = token(t, data, "ada", "USER"), token(t, data, "ops", "ADMIN")
	return s
}

// waitForResponder returns when the responder has said that many times that it
// is ready.
func (s *site) waitForResponder(t testing.TB, times int) {
	t.Helper()
	poll(t, 30*time.Second, "the responder is ready", func() error {
		s.responder.mustRun(t)
		if n := strings.Count(s.responder.output(t), "ready"); n < times {
			return fmt.Errorf("it said so %d times", n)
		}
		return nil
	})
}

type deviceStatus struct {
	ID        string  `json:"id"`
	Running   bool    `json:"running"`
	Celsius   float64 `json:"celsius"`
	Threshold float64 `json:"threshold"`
}

const statusFields = `{ id running celsius threshold }`

// ask sends an operation whose one field is called it.
func ask[T any](ctx context.Context, a *api, token, query string) (it T, err error) {
	data, err := post(ctx, a.url, token, call{Query: query})
	if err != nil {
		return it, err
	}
	var r struct {
		It T `json:"it"`
	}
	err = json.Unmarshal(data, &r)
	return r.It, err
}

func mustAsk[T any](t testing.TB, a *api, token, query string) T {
	t.Helper()
	it, err := ask[T](t.Context(), a, token, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return it
}

// refusedWith fails unless the operation is answered with an error of the code,
// whose message has the words.
func refusedWith(t testing.TB, a *api, token, query, code, words string) {
	t.Helper()
	_, err := ask[any](t.Context(), a, token, query)
	if e, ok := errors.AsType[graphQLError](err); !ok || e.Extensions.Code != code || !strings.Contains(e.Message, words) {
		t.Errorf("%s: %v; want %s with %q", query, err, code, words)
	}
}

func TestAServiceInAnotherLanguageAnswersFields(t *testing.T) {
	s := startSite(t)
	a := s.apis[0]
	boiler := `{ it: deviceStatus(id: "boiler") ` + statusFields + ` }`
	if d := mustAsk[deviceStatus](t, a, s.user, boiler); d.ID != "boiler" || !d.Running || d.Celsius < 20 || d.Threshold != 90 {
		t.Errorf("%+v", d)
	}
	if d := mustAsk[deviceStatus](t, a, s.admin, `mutation { it: setThreshold(id: "pump", celsius: 99.5) `+statusFields+` }`); d.Threshold != 99.5 {
		t.Errorf("%+v", d)
	}
	if ok := mustAsk[bool](t, a, s.user, `mutation { it: sendCommand(id: "boiler", command: STOP) }`); !ok {
		t.Error("the command was not sent")
	}
	poll(t, 10*time.Second, "the command has reached the device", func() error {
		if d := mustAsk[deviceStatus](t, s.apis[1], s.user, boiler); d.Running {
			return errors.New("the boiler runs")
		}
		return nil
	})

	refusedWith(t, a, s.user, `{ it: deviceStatus(id: "toaster") { id } }`, "NOT_FOUND", "no device toaster")
	refusedWith(t, a, s.admin, `mutation { it: setThreshold(id: "pump", celsius: 300) { id } }`, "BAD_USER_INPUT", "200 degrees")
	refusedWith(t, a, s.user, `mutation { it: setThreshold(id: "pump", celsius: 30) { id } }`, "FORBIDDEN", "")
	for _, id := range []string{"a.b", "*", ">", "a b"} {
		refusedWith(t, a, s.user, fmt.Sprintf(`{ it: deviceStatus(id: %q) { id } }`, id), "BAD_USER_INPUT", "")
	}
	refusedWith(t, a, anybody, boiler, "FORBIDDEN", "")
}

func TestAServiceThatIsKilledIsUnavailableUntilItIsBack(t *testing.T) {
	s := startSite(t)
	boiler := `{ it: deviceStatus(id: "boiler") ` + statusFields + ` }`
	s.responder.kill(t)
	for range 30 { // which opens the breaker
		// Silence would be a TIMEOUT, each after two seconds.
		poll(t, 10*time.Second, "the server has noticed", func() error {
			_, err := ask[any](t.Context(), s.apis[0], s.user, boiler)
			if e, ok := errors.AsType[graphQLError](err); !ok || e.Extensions.Code != "UNAVAILABLE" {
				return fmt.Errorf("%v; want UNAVAILABLE", err)
			}
			return nil
		})
	}
	// Without a service alarms are stored all the same.
	mustAsk[bool](t, s.apis[0], s.user, `mutation { it: raiseAlarm(device: "pump", text: "nobody is there") }`)
	s.responder.run(t)
	s.waitForResponder(t, 2)
	poll(t, 10*time.Second, "the service answers again", func() error {
		_, err := ask[deviceStatus](t.Context(), s.apis[0], s.user, boiler)
		return err
	})
}

// Readings come over every transport, to several subscribers at once.
func TestAServicePublishesToSubscribers(t *testing.T) {
	s := startSite(t)
	what := call{Query: `subscription { it: reading(device: "pump") { device celsius at } }`}
	for i, open := range []dial{dialSocket, dialEvents, dialEventSource} {
		st, err := open(t.Context(), s.apis[i%2].url, anybody, what)
		if err != nil {
			t.Fatal(err)
		}
		defer st.close()
		for range 2 {
			r, err := st.next()
			if err == nil {
				err = r.err()
			}
			if err != nil {
				t.Fatal(err)
			}
			var data struct {
				It struct {
					Device  string
					Celsius float64
					At      time.Time
				}
			}
			if err := json.Unmarshal(r.Data, &data); err != nil || data.It.Device != "pump" || data.It.Celsius < 20 || time.Since(data.It.At) > time.Minute {
				t.Errorf("%s: %v", r.Data, err)
			}
		}
	}
}

// alarmed is what a subscriber to alarms was told.
type alarmed struct {
	text, cursor string
}

// listener hears alarms up to the last, and comes back with its cursor
// whenever its connection has ended, or after so many alarms by itself: to the
// other api, over the next transport.
type listener struct {
	site    *site
	via     int
	heard   []alarmed
	resumes int
}

const (
	firstAlarm = "the first of all"
	lastAlarm  = "the last of all"
	tooHot     = "too hot: it was stopped" // as the service says it
	// perConnection is after how many alarms a listener leaves.
	perConnection = 17
)

func (l *listener) run(ctx context.Context, begin string) error {
	for {
		cursor := begin
		if n := len(l.heard); n > 0 {
			cursor = l.heard[n-1].cursor
		}
		err := l.session(ctx, cursor)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("after %d alarms: %w", len(l.heard), err)
		case !errors.Is(err, errLeft) && !comesBack(err):
			return fmt.Errorf("after %d alarms: %w", len(l.heard), err)
		}
		l.via++
		l.resumes++
		pause(ctx, 20*time.Millisecond)
	}
}

var errLeft = errors.New("the listener leaves and comes back")

func (l *listener) session(ctx context.Context, cursor string) error {
	open := transports[l.via%len(transports)]
	c := call{Query: `subscription { it: alarm { device text celsius } }`}
	st, err := open(ctx, l.site.apis[l.via%2].url, l.site.user, c.resume(cursor))
	if err != nil {
		return err
	}
	defer st.close()
	for n := 0; ; n++ {
		if n == perConnection {
			return errLeft
		}
		a, err := nextAlarm(st)
		if err != nil {
			return err
		}
		l.heard = append(l.heard, a)
		if a.text == lastAlarm {
			return nil
		}
	}
}

func nextAlarm(st stream) (alarmed, error) {
	r, err := st.next()
	if err == nil {
		err = r.err()
	}
	if err != nil {
		return alarmed{}, err
	}
	var data struct {
		It struct{ Device, Text string }
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		return alarmed{}, err
	}
	if r.Extensions.Cursor == "" || data.It.Device == "" {
		return alarmed{}, fmt.Errorf("an alarm without a cursor or a device: %s", r.Data)
	}
	return alarmed{text: data.It.Text, cursor: r.Extensions.Cursor}, nil
}

// Alarms are raised by clients and by the service, while listeners come and go
// and an api, the service and the bus are killed. Each listener must have every
// alarm that was acknowledged, once, and all must have the same in one order.
func TestNoAlarmIsMissedAndNoneComesTwice(t *testing.T) {
	s := startSite(t)
	tried := map[string]int{}
	raise := func(text string) {
		t.Helper()
		poll(t, patience, "an alarm is raised", func() error {
			tried[text]++
			_, err := ask[bool](t.Context(), s.apis[1], s.user, fmt.Sprintf(`mutation { it: raiseAlarm(device: "pump", text: %q) }`, text))
			return err
		})
	}
	begin := s.awaitAlarm(t, firstAlarm, func() { raise(firstAlarm) })
	const listeners, total = 4, 240
	all := make([]*listener, listeners)
	ended := make(chan error, listeners)
	for i := range all {
		all[i] = &listener{site: s, via: i}
		go func() { ended <- all[i].run(t.Context(), begin) }()
	}
	for i := range total {
		switch i {
		case total / 5:
			s.awaitAlarm(t, tooHot, func() {
				mustAsk[deviceStatus](t, s.apis[0], s.admin, `mutation { it: setThreshold(id: "boiler", celsius: 21) `+statusFields+` }`)
			})
		case 2 * total / 5:
			s.apis[0].kill(t)
			s.apis[0].restart(t)
		case 3 * total / 5:
			s.nats.kill(t)
			s.nats.restart(t)
		case 4 * total / 5:
			s.responder.kill(t)
		}
		raise(fmt.Sprintf("alarm %d", i))
	}
	raise(lastAlarm)
	s.count(t, all, ended, tried)
}

// awaitAlarm subscribes, does what leads to an alarm and returns its cursor.
func (s *site) awaitAlarm(t testing.TB, text string, do func()) (cursor string) {
	t.Helper()
	st, err := dialSocket(t.Context(), s.apis[0].url, s.user, call{Query: `subscription { it: alarm { device text } }`})
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	if err := st.(*socket).stands(); err != nil {
		t.Fatal(err)
	}
	do()
	for {
		a, err := nextAlarm(st)
		if err != nil {
			t.Fatal(err)
		}
		if a.text == text {
			return a.cursor
		}
	}
}

// count waits for the listeners and holds what they heard against what was
// raised: each text that often, the last time with success.
func (s *site) count(t testing.TB, all []*listener, ended <-chan error, tried map[string]int) {
	t.Helper()
	late := time.After(time.Minute)
	for range all {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-late:
			t.Fatal("not every listener has heard the last alarm")
		}
	}
	first, resumes := all[0].heard, 0
	for i, l := range all {
		resumes += l.resumes
		if !slices.Equal(l.heard, first) {
			t.Errorf("listener %d heard %d alarms, the first one %d, and they differ", i, len(l.heard), len(first))
		}
	}
	cursors, times := map[string]bool{}, map[string]int{}
	last := -1
	for _, a := range first {
		if cursors[a.cursor] {
			t.Errorf("%q came twice", a.text)
		}
		cursors[a.cursor] = true
		times[a.text]++
		var n int
		if _, err := fmt.Sscanf(a.text, "alarm %d", &n); err == nil {
			if n < last {
				t.Errorf("alarm %d came after alarm %d", n, last)
			}
			last = n
		}
	}
	delete(tried, firstAlarm) // which they began after
	for text, n := range tried {
		if times[text] < 1 || times[text] > n {
			t.Errorf("%q was raised %d times and came %d times", text, n, times[text])
		}
	}
	t.Logf("%d listeners heard %d alarms each, %d of them from the service, and resumed %d times", len(all), len(first), times[tooHot], resumes)
	if times[tooHot] == 0 {
		t.Error("none of them is from the service")
	}
	if least := len(all) * len(tried) / perConnection; resumes < least {
		t.Errorf("they resumed %d times, and should have at least %d times", resumes, least)
	}
}
