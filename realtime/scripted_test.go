package realtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/schema"
)

// scripted is an engine whose operations are words: the protocols are tested
// apart from what operations mean. Its log is a list of numbered payloads.
type scripted struct {
	mu      sync.Mutex
	log     [][]byte
	sinks   map[graphql.Sink]bool
	blocked chan struct{} // receives when a "query block" has begun
	stopped chan struct{} // receives when a subscription was stopped
	release chan struct{} // lets a "mutation slow" end, or its like be planned
	gone    string        // a subscription that there is no more

	executed atomic.Bool // a "mutation planned slowly" was
}

func newScripted() *scripted {
	return &scripted{sinks: map[graphql.Sink]bool{}, blocked: make(chan struct{}, 1000), stopped: make(chan struct{}, 1000), release: make(chan struct{})}
}

func (e *scripted) Kind(_ context.Context, r graphql.Request) (string, error) {
	kind, _, _ := strings.Cut(r.Query, " ")
	if r.Query == "mutation planned slowly" {
		e.blocked <- struct{}{}
		<-e.release
	}
	switch kind {
	case "query", "mutation", "subscription":
		return kind, nil
	case "limited":
		return "", &fault.Error{Code: fault.RateLimited, Message: "too many requests", RetryAfter: 7}
	}
	return "", fault.New(fault.ParseFailed, "unexpected %q", r.Query)
}

func failed(code fault.Code, text string) graphql.Response {
	return graphql.Response{Failed: true, Code: code, Body: fmt.Appendf(nil, `{"errors":[{"message":%q,"extensions":{"code":%q}}]}`, text, code)}
}

func (e *scripted) Execute(ctx context.Context, who auth.Principal, r graphql.Request) graphql.Response {
	switch r.Query {
	case "query who":
		return graphql.Response{Body: fmt.Appendf(nil, `{"data":{"who":%q}}`, who.Subject)}
	case "query block":
		e.blocked <- struct{}{}
		<-ctx.Done()
		return failed(fault.Unavailable, "cancelled")
	case "mutation planned slowly":
		e.executed.Store(true)
	case "mutation slow":
		e.blocked <- struct{}{}
		<-e.release
		return graphql.Response{Body: []byte(`{"data":{"slow":true}}`)}
	case "query panic":
		panic("no")
	case "query variables":
		return graphql.Response{Body: fmt.Appendf(nil, `{"data":{"variables":%s,"name":%q}}`, r.Variables, r.OperationName)}
	case "query lines":
		return graphql.Response{Body: []byte("{\n\"data\":\r\n{}}")}
	case "mutation set":
		return graphql.Response{Body: []byte(`{"data":{"set":true}}`)}
	}
	return failed(fault.ParseFailed, "unexpected "+r.Query)
}

func (e *scripted) Subscribe(_ context.Context, _ auth.Principal, r graphql.Request, after string, s graphql.Sink) (func(), *graphql.Response) {
	switch r.Query {
	case "subscription ends":
		s.Next([]byte(`{"data":1}`), "1")
		s.End(nil)
		return func() {}, nil
	case "subscription breaks":
		s.End([]byte(`[{"message":"broken"}]`))
		return func() {}, nil
	case "subscription panics":
		panic("no")
	case e.gone:
		f := failed(fault.ValidationFailed, "no such subscription")
		return nil, &f
	case "subscription waits":
		if r.Moved {
			e.blocked <- struct{}{}
			<-e.release
		}
	case "subscription ticks", "subscription ticks more":
	default:
		f := failed(fault.ValidationFailed, "no such subscription")
		return nil, &f
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	from := len(e.log)
	if after != "" {
		from, _ = strconv.Atoi(after)
	}
	for i := from; i < len(e.log); i++ {
		s.Next(e.log[i], strconv.Itoa(i+1))
	}
	e.sinks[s] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.sinks, s)
		e.stopped <- struct{}{}
	}, nil
}

// emit appends a payload with its number as data and cursor, and filler.
func (e *scripted) emit(filler string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := strconv.Itoa(len(e.log) + 1)
	payload := []byte(`{"data":` + n + `,"extensions":{"cursor":"` + n + `"},"filler":"` + filler + `"}`)
	e.log = append(e.log, payload)
	for s := range e.sinks {
		if !s.Next(payload, n) {
			delete(e.sinks, s)
		}
	}
}

// forget empties the log; the numbers begin again.
func (e *scripted) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = e.log[:0]
}

func (e *scripted) subscribers() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sinks)
}

var secret = []byte("a secret of at least thirty-two bytes")

func token(t testing.TB, subject string, ttl time.Duration) string {
	t.Helper()
	tok, err := auth.Sign(secret, auth.Principal{Subject: subject, Roles: schema.User}, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

type fixture struct {
	engine *scripted
	hub    *realtime.Hub
	url    string // of the HTTP server
}

func serve(t testing.TB, o realtime.Options) fixture {
	t.Helper()
	e := newScripted()
	hub := newHub(t, e, o)
	srv := httptest.NewServer(hub.Wrap(http.NotFoundHandler()))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	return fixture{engine: e, hub: hub, url: srv.URL}
}

func newHub(t testing.TB, e realtime.Engine, o realtime.Options) *realtime.Hub {
	t.Helper()
	v, err := auth.NewVerifier(auth.Options{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	return realtime.NewHub(e, v, o)
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
		<-tick.C
	}
}

func object(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return m
}
