package graphql_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// pods are two processes on one bus, each with a view of its own; the first has
// the worker.
func pods(t testing.TB, o graphql.Options) (one, two *service) {
	t.Helper()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	dir := socialDir(t)
	one = (&service{Service: resourcetest.On(t, server, dir, resource.FeedOptions{})}).with(t, o)
	client := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	two = (&service{Service: resourcetest.Reader(t, client, dir, resource.FeedOptions{})}).with(t, o)
	return one, two
}

// send posts a request as HTTP carries it.
func send(t testing.TB, s *service, who auth.Principal, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(auth.NewContext(t.Context(), who), http.MethodPost, "/graphql", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.engine.ServeHTTP(w, r)
	return w
}

func query(text string) string { return fmt.Sprintf(`{"query":%q}`, text) }

func TestAReadWithAPositionIsNeverStale(t *testing.T) {
	t.Parallel()
	one, two := pods(t, graphql.Options{})
	send(t, one, ada, query(`mutation { createUser(input: {name: "0", email: "a@example.org"}) { id } }`))
	stale := 0
	for i := range 1000 {
		name := fmt.Sprintf("n%d", i)
		w := send(t, one, ada, query(fmt.Sprintf(`mutation { updateUser(input: {id: "ada", name: %q}) { name } }`, name)))
		position := w.Header().Get("Tidings-Position")
		if position == "" {
			t.Fatalf("no position: %s", w.Body)
		}
		if got := send(t, two, nobody, query(adaName)); !strings.Contains(got.Body.String(), name) {
			stale++ // what the position is for
		}
		got := send(t, two, nobody, query(adaName), "Tidings-Position", position)
		if !strings.Contains(got.Body.String(), `"`+name+`"`) {
			t.Fatalf("after %s: %s", name, got.Body)
		}
	}
	t.Logf("without a position %d of 1000 reads were stale", stale)
}

func TestAPositionIsToldOnDemand(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	now := s.Feed.Now().String()
	change := `mutation { updateUser(input: {id: "ada", name: "A"}) { name } }`
	position := func(w *httptest.ResponseRecorder) string {
		var r struct{ Extensions struct{ Position string } }
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r.Extensions.Position
	}
	if w := send(t, s, nobody, query(adaName)); position(w) != "" || w.Header().Get("Tidings-Position") != "" {
		t.Errorf("a query that did not ask: %s", w.Body)
	}
	if w := send(t, s, nobody, query(adaName), "Tidings-Want", "x, position"); position(w) != now {
		t.Errorf("a query: %s", w.Body)
	}
	if w := send(t, s, nobody, fmt.Sprintf(`{"query":%q,"extensions":{"position":true}}`, adaName)); position(w) != now {
		t.Errorf("a query by its extensions: %s", w.Body)
	}
	if w := send(t, s, nobody, fmt.Sprintf(`{"query":%q,"extensions":{"position":%q}}`, adaName, now)); position(w) != now {
		t.Errorf("a query that waits: %s", w.Body)
	}
	w := send(t, s, ada, query(change), "Tidings-Want", "position")
	if at := position(w); at == "" || at == now || at != w.Header().Get("Tidings-Position") {
		t.Errorf("a mutation: %s, %v", w.Body, w.Header())
	}
	if w := send(t, s, ben, query(change)); w.Header().Get("Tidings-Position") != "" || position(w) != "" {
		t.Errorf("a mutation that changed nothing: %s, %v", w.Body, w.Header())
	}
}

func TestAPositionThatDoesNotComeIsAnError(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Timeout: 50 * time.Millisecond})
	now := s.Feed.Now()
	for name, c := range map[string]struct {
		position string
		code     fault.Code
	}{
		"not a position": {"7", fault.BadUserInput},
		"another log":    {resource.Position{Log: "other", Seq: 1}.String(), fault.CursorExpired},
		"the future":     {resource.Position{Log: now.Log, Seq: now.Seq + 1000}.String(), fault.Timeout},
		"the end of all": {resource.Position{Log: now.Log, Seq: 1<<64 - 1}.String(), fault.Timeout},
	} {
		r := s.engine.Execute(t.Context(), nobody, graphql.Request{Query: adaName, Position: c.position})
		if r.Code != c.code || !r.Failed {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	r := s.engine.Execute(t.Context(), nobody, graphql.Request{Query: adaName, Extensions: json.RawMessage(`{"position":7}`)})
	if r.Code != fault.BadRequest {
		t.Errorf("%s", r.Body)
	}
}
