package graphql_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc/proctest"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

func TestAnAnswerTellsItsExchangeWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for _, c := range []struct {
		query string
		want  graphql.Exchange
	}{
		{`query Who { user(id: "ada") { id } }`, graphql.Exchange{User: "root", Kind: "query", Name: "Who", Status: 200}},
		{`mutation { deleteUser(input: {id: "nobody"}) { id } }`, graphql.Exchange{User: "root", Kind: "mutation", Status: 200, Code: fault.NotFound}},
		{`subscription S { userChanged { id } }`, graphql.Exchange{User: "root", Kind: "subscription", Name: "S", Status: 400, Code: fault.BadRequest}},
		{`{`, graphql.Exchange{User: "root", Status: 200, Code: fault.ParseFailed}},
		{``, graphql.Exchange{User: "root", Status: 400, Code: fault.BadRequest}},
	} {
		got := graphql.Exchange{}
		ctx := graphql.WithExchange(auth.NewContext(t.Context(), admin), &got)
		body, _ := json.Marshal(map[string]string{"query": c.query})
		r := httptest.NewRequestWithContext(ctx, "POST", "/graphql", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		s.engine.ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want {
			t.Errorf("%s: %+v", c.query, got)
		}
	}
}

// A failure that is not the caller's carries the request's id, and says nothing
// of its cause; the log has both.
func TestWhatIsNotTheCallersFaultIsForTheLog(t *testing.T) {
	t.Parallel()
	var log proctest.Log
	fail := func(err error) graphql.Function {
		return graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return nil, err }}
	}
	f := functions()
	f["Query.greeting"] = fail(errors.New("dial tcp 10.0.0.7:5432: password hunter2 is wrong"))
	f["Query.guarded"] = fail(fault.Wrap(errors.New("hunter2"), fault.Unavailable, "nobody is there"))
	f["Query.fractions"] = fail(fault.New(fault.Conflict, "it is taken"))
	f["Query.explode"] = graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { panic("hunter2 again") }}
	s := newService(t, graphql.Options{Functions: f, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for query, code := range map[string]fault.Code{
		`{ greeting }`:  fault.Internal,
		`{ guarded }`:   fault.Unavailable,
		`{ explode }`:   fault.Internal,
		`{ fractions }`: fault.Conflict,
	} {
		id := "request-" + url.QueryEscape(strings.Trim(query, "{} "))
		ctx := graphql.WithExchange(t.Context(), &graphql.Exchange{ID: id})
		body := string(s.engine.Execute(ctx, admin, graphql.Request{Query: query}).Body)
		told := strings.Contains(body, `"requestId":"`+id+`"`)
		logged := strings.Contains(log.String(), "request_id="+id)
		if ours := code != fault.Conflict; told != ours || logged != ours {
			t.Errorf("%s: told %v, logged %v: %s", query, told, logged, body)
		}
		if !strings.Contains(body, string(code)) || strings.Contains(body, "hunter2") || strings.Contains(body, "10.0.0.7") {
			t.Errorf("%s: %s", query, body)
		}
	}
	for _, cause := range []string{"password hunter2 is wrong", "UNAVAILABLE: nobody is there: hunter2", "hunter2 again"} {
		if !strings.Contains(log.String(), cause) {
			t.Errorf("the log does not say %q:\n%s", cause, log.String())
		}
	}
}

// A database or a bus that fails is INTERNAL or UNAVAILABLE, and no more is said.
func TestPartsThatFailAreNotQuoted(t *testing.T) {
	t.Parallel()
	var log proctest.Log
	s := newService(t, graphql.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := s.View.Close(); err != nil {
		t.Fatal(err)
	}
	body := s.run(t, admin, `{ users { nodes { id } } }`, "")
	wantData(t, body, `{"users":null}`, fault.Internal)
	if m := decode(t, body).Errors[0].Message; m != "internal error" {
		t.Errorf("the message is %q", m)
	}
	if !strings.Contains(log.String(), "closed") {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
}

func TestABusWithoutWorkersIsUnavailable(t *testing.T) {
	t.Parallel()
	var log proctest.Log
	r := resourcetest.Reader(t, bustest.New(t), socialDir(t), resource.FeedOptions{})
	e, err := graphql.New(r.Model, r.Client, r.Feed, graphql.Options{Functions: functions(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	body := string(e.Execute(t.Context(), admin, graphql.Request{Query: `mutation { deleteUser(input: {id: "ada"}) { id } }`}).Body)
	wantData(t, body, `{"deleteUser":null}`, fault.Unavailable)
	if strings.Contains(body, "nats") || !strings.Contains(body, `"requestId":"`) || !strings.Contains(log.String(), "nats: no responders") {
		t.Errorf("%s\nin the log: %s", body, log.String())
	}
}

func TestLargeResponsesAreCompressed(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	plain, header := fetch(t, s.engine, introspection, "")
	if header.Get("Content-Encoding") != "" || len(plain) < 10_000 {
		t.Fatalf("%d bytes as %q", len(plain), header.Get("Content-Encoding"))
	}
	packed, header := fetch(t, s.engine, introspection, "gzip")
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(body, plain) || len(packed) > len(plain)/3 {
		t.Errorf("%d bytes became %d and %d: %v", len(plain), len(packed), len(body), err)
	}
	if header.Get("Content-Encoding") != "gzip" || header.Get("Content-Length") != strconv.Itoa(len(packed)) || !strings.Contains(header.Get("Vary"), "Accept-Encoding") {
		t.Errorf("headers %v", header)
	}
	if _, header := fetch(t, s.engine, `{__typename}`, "gzip"); header.Get("Content-Encoding") != "" || !strings.Contains(header.Get("Vary"), "Accept-Encoding") {
		t.Errorf("a small response: %v", header)
	}
}

func TestManyAreCompressedAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	want, _ := fetch(t, s.engine, introspection, "gzip")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if got, _ := fetch(t, s.engine, introspection, "gzip"); !bytes.Equal(got, want) {
					t.Error("the answers differ")
				}
			}
		})
	}
	wg.Wait()
}

const introspection = `{__schema{types{name description fields{name description args{name description}}}}}`

func fetch(t testing.TB, h http.Handler, query, encoding string) ([]byte, http.Header) {
	t.Helper()
	r := httptest.NewRequestWithContext(auth.NewContext(t.Context(), admin), "GET", "/graphql?query="+url.QueryEscape(query), nil)
	if encoding != "" {
		r.Header.Set("Accept-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes(), w.Result().Header
}

func TestOptionsSaysWhatIsAllowed(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	w := httptest.NewRecorder()
	s.engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "OPTIONS", "/graphql", nil))
	if w.Code != 204 || w.Header().Get("Allow") != "GET, HEAD, POST, OPTIONS" || w.Body.Len() != 0 {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// late is a body that does not come in time.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestABodyThatDoesNotComeInTimeIsToldSo(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/graphql", late{})
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.engine.ServeHTTP(w, r)
	if w.Code != http.StatusRequestTimeout || !strings.Contains(w.Body.String(), "too long") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
