package graphql_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
)

func hash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func apq(text string) json.RawMessage {
	return fmt.Appendf(nil, `{"persistedQuery":{"version":1,"sha256Hash":%q}}`, hash(text))
}

func documents(t testing.TB, b *bus.Bus) *bus.Bucket {
	t.Helper()
	k, err := b.Bucket(t.Context(), bus.BucketOptions{Name: "documents", Forget: true, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sharing is a service whose clients may register documents.
func sharing(t testing.TB, o graphql.Options) *service {
	t.Helper()
	s := newService(t, o)
	o.Functions, o.Persisted.Shared = functions(), documents(t, s.Bus)
	return s.with(t, o)
}

// with is the same service with another engine.
func (s *service) with(t testing.TB, o graphql.Options) *service {
	t.Helper()
	if o.Functions == nil {
		o.Functions = functions()
	}
	e, err := graphql.New(s.Model, s.Client, s.Feed, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &service{Service: s.Service, engine: e, posts: s.posts}
}

func (s *service) ask(t testing.TB, r graphql.Request) string {
	t.Helper()
	return string(s.engine.Execute(t.Context(), nobody, r).Body)
}

func manifest(t testing.TB, files fstest.MapFS) *graphql.Operations {
	t.Helper()
	o, err := graphql.ReadOperations(files)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	adaName  = `{ user(id: "ada") { name } }`
	adaData  = `{"user":{"name":"ada!"}}`
	notFound = `{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}`
)

func TestADocumentIsRegisteredByItsFirstRequestForAllProcesses(t *testing.T) {
	t.Parallel()
	one := sharing(t, graphql.Options{})
	two := one.with(t, graphql.Options{Persisted: graphql.Persisted{Shared: documents(t, one.Bus)}})
	if body := one.ask(t, graphql.Request{Extensions: apq(adaName)}); body != notFound {
		t.Errorf("an unknown hash: %s", body)
	}
	wantData(t, one.ask(t, graphql.Request{Query: adaName, Extensions: apq(adaName)}), adaData)
	for name, r := range map[string]graphql.Request{
		"Apollo's extension": {Extensions: apq(adaName)},
		"queryId":            {QueryID: "sha256:" + hash(adaName)},
		"documentId":         {DocumentID: "sha256:" + strings.ToUpper(hash(adaName))},
		"a bare hash":        {DocumentID: hash(adaName)},
	} {
		for pod, s := range []*service{one, two} {
			body := s.ask(t, r)
			if !strings.Contains(body, `"ada!"`) {
				t.Errorf("%s, pod %d: %s", name, pod+1, body)
			}
		}
	}
}

func TestOnlyValidDocumentsOfTheirHashAreKept(t *testing.T) {
	t.Parallel()
	s := sharing(t, graphql.Options{})
	bad := `{ nobodyKnows }`
	large := adaName + strings.Repeat(" ", 64<<10)
	for name, c := range map[string]struct {
		r    graphql.Request
		code fault.Code
	}{
		"invalid":            {graphql.Request{Query: bad, Extensions: apq(bad)}, fault.ValidationFailed},
		"another's hash":     {graphql.Request{Query: adaName, Extensions: apq(bad)}, fault.BadRequest},
		"another's queryId":  {graphql.Request{Query: adaName, QueryID: "sha256:" + hash(bad)}, fault.BadRequest},
		"an id of no text":   {graphql.Request{Query: adaName, DocumentID: "x-1"}, fault.BadRequest},
		"another version":    {graphql.Request{Query: adaName, Extensions: json.RawMessage(`{"persistedQuery":{"version":2,"sha256Hash":"` + hash(adaName) + `"}}`)}, fault.BadRequest},
		"no hash":            {graphql.Request{Extensions: json.RawMessage(`{"persistedQuery":{"version":1}}`)}, fault.BadRequest},
		"of the wrong types": {graphql.Request{Extensions: json.RawMessage(`{"persistedQuery":7}`)}, fault.BadRequest},
		"a short hash":       {graphql.Request{Extensions: json.RawMessage(`{"persistedQuery":{"version":1,"sha256Hash":"abc"}}`)}, fault.PersistedQueryNotFound},
	} {
		r := s.engine.Execute(t.Context(), nobody, c.r)
		if r.Code != c.code || !r.Failed {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	wantData(t, s.ask(t, graphql.Request{Query: large, Extensions: apq(large)}), adaData)
	for _, text := range []string{bad, large, adaName} {
		if body := s.ask(t, graphql.Request{Extensions: apq(text)}); body != notFound {
			t.Errorf("was kept: %s", body)
		}
	}
}

func TestSomebodyElsesBytesAreNotRun(t *testing.T) {
	t.Parallel()
	s := sharing(t, graphql.Options{})
	if _, err := documents(t, s.Bus).Put(t.Context(), hash("other"), []byte(adaName), 0); err != nil {
		t.Fatal(err)
	}
	if body := s.ask(t, graphql.Request{QueryID: "sha256:" + hash("other")}); body != notFound {
		t.Error(body)
	}
}

func TestOfSeveralNamesDocumentIDCountsFirst(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Persisted: graphql.Persisted{Deployed: manifest(t, fstest.MapFS{
		"m.json": {Data: []byte(`{"a":"{ a: __typename }","b":"{ b: __typename }","` + hash("c") + `":"{ c: __typename }"}`)},
	})}})
	ext := apq("c")
	wantData(t, s.ask(t, graphql.Request{DocumentID: "a", QueryID: "b", Extensions: ext}), `{"a":"Query"}`)
	wantData(t, s.ask(t, graphql.Request{QueryID: "b", Extensions: ext}), `{"b":"Query"}`)
	wantData(t, s.ask(t, graphql.Request{Extensions: ext}), `{"c":"Query"}`)
	wantData(t, s.ask(t, graphql.Request{Query: "{ c: __typename }", Extensions: ext}), `{"c":"Query"}`)
}

func TestWithoutASharedStoreClientsAreToldNotToAsk(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	if body := s.ask(t, graphql.Request{Extensions: apq(adaName)}); !strings.Contains(body, `"PersistedQueryNotSupported"`) {
		t.Error(body)
	}
	wantData(t, s.ask(t, graphql.Request{Query: adaName, Extensions: apq(adaName)}), adaData)
	if body := s.ask(t, graphql.Request{Extensions: apq(adaName)}); !strings.Contains(body, `"PersistedQueryNotSupported"`) {
		t.Error(body)
	}
}

func TestPersistedOnlyRunsNothingElse(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	deployed := manifest(t, fstest.MapFS{"users/ada.graphql": {Data: []byte(adaName + "\n")}})
	s = s.with(t, graphql.Options{Persisted: graphql.Persisted{Deployed: deployed, Only: true, Shared: documents(t, s.Bus)}})
	for _, r := range []graphql.Request{
		{DocumentID: "users/ada"}, {QueryID: "sha256:" + hash(adaName)}, {Extensions: apq(adaName)}, {QueryID: hash(adaName + "\n")},
		{Query: adaName + "\n"}, {Query: adaName + "\n", DocumentID: "users/ada"},
	} {
		wantData(t, s.ask(t, r), adaData)
	}
	other := `{ user(id: "ben") { name } }`
	for _, c := range []struct {
		r    graphql.Request
		code fault.Code
	}{
		{graphql.Request{Query: other}, fault.Forbidden},
		{graphql.Request{Query: other, Extensions: apq(other)}, fault.Forbidden},
		{graphql.Request{Query: other, DocumentID: "users/ada"}, fault.BadRequest},
		{graphql.Request{Extensions: apq(other)}, fault.PersistedQueryNotFound},
		{graphql.Request{DocumentID: "users/ben"}, fault.PersistedQueryNotFound},
		{graphql.Request{}, fault.BadRequest},
	} {
		if r := s.engine.Execute(t.Context(), admin, c.r); r.Code != c.code || !r.Failed {
			t.Errorf("%+v: %s", c.r, r.Body)
		}
		_, failed := s.engine.Subscribe(t.Context(), admin, c.r, "", nil)
		if failed == nil || failed.Code != c.code {
			t.Errorf("subscribe %+v: %v", c.r, failed)
		}
	}
	wantData(t, s.ask(t, graphql.Request{Query: other, Trusted: true}), `{"user":{"name":"ben!"}}`)
}

func TestManifestsOfAllTools(t *testing.T) {
	t.Parallel()
	o := manifest(t, fstest.MapFS{
		"apollo.json": {Data: []byte(`{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"` + hash("x") + `","name":"A","type":"query","body":"query A { a: __typename }"}]}`)},
		"relay.json":  {Data: []byte(`{"0123456789abcdef0123456789abcdef":"query B { b: __typename }"}`)},
		"c/d.gql":     {Data: []byte("{ d: __typename }")},
		"README.md":   {Data: []byte("no operation")},
	})
	s := newService(t, graphql.Options{Persisted: graphql.Persisted{Deployed: o}})
	for id, want := range map[string]string{
		"sha256:" + hash("x"): `{"a":"Query"}`, "0123456789abcdef0123456789abcdef": `{"b":"Query"}`,
		"c/d": `{"d":"Query"}`, hash("{ d: __typename }"): `{"d":"Query"}`,
	} {
		wantData(t, s.ask(t, graphql.Request{DocumentID: id}), want)
	}
	if o.Len() != 4 {
		t.Errorf("%d ids", o.Len())
	}
}

func TestABadManifestIsRefusedWithFileAndReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"empty.graphql":    {" \n", "empty"},
		"list.json":        {`[]`, "JSON object"},
		"null.json":        {`null`, "JSON object"},
		"number.json":      {`{"a":1}`, `"a"`},
		"format.json":      {`{"format":"x","operations":[]}`, `"x"`},
		"version.json":     {`{"format":"apollo-persisted-query-manifest","version":2,"operations":[]}`, "version 2"},
		"nobody.json":      {`{"operations":[{"id":"a"}]}`, "operation 1"},
		"twice.json":       {`{"operations":[{"id":"a","body":"{a}"},{"id":"a","body":"{b}"}]}`, `"a"`},
		"operations.json":  {`{"operations":{}}`, "list"},
		"spelled-two.json": {`{"` + hash("x") + `":"{a}","sha256:` + hash("x") + `":"{b}"}`, "another document"},
	} {
		_, err := graphql.ReadOperations(fstest.MapFS{name: {Data: []byte(c.content)}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := newService(t, graphql.Options{})
	o := manifest(t, fstest.MapFS{
		"good.graphql": {Data: []byte(adaName)}, "field.graphql": {Data: []byte("{ nobodyKnows }")}, "syntax.json": {Data: []byte(`{"q":"{"}`)},
	})
	_, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: functions(), Persisted: graphql.Persisted{Deployed: o}})
	for _, want := range []string{"field.graphql", "nobodyKnows", "syntax.json: q"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "good.graphql") {
		t.Error(err)
	}
}

// broken is a store that cannot be reached.
type broken struct{}

func (broken) Get(context.Context, string) ([]byte, uint64, error) {
	return nil, 0, errors.New("away")
}
func (broken) Put(context.Context, string, []byte, uint64) (uint64, error) {
	return 0, errors.New("away")
}

func TestAStoreThatIsAwayCostsOnlyTheSecondRequest(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Persisted: graphql.Persisted{Shared: broken{}}})
	for range 2 {
		if body := s.ask(t, graphql.Request{Extensions: apq(adaName)}); body != notFound {
			t.Error(body)
		}
		wantData(t, s.ask(t, graphql.Request{Query: adaName, Extensions: apq(adaName)}), adaData)
	}
}

func get(t testing.TB, s *service, who auth.Principal, params url.Values, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(auth.NewContext(t.Context(), who), http.MethodGet, "/graphql?"+params.Encode(), nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.engine.ServeHTTP(w, r)
	return w.Result()
}

func TestAnUnknownHashHasTheStatusThatClientsExpect(t *testing.T) {
	t.Parallel()
	s := sharing(t, graphql.Options{})
	params := url.Values{"extensions": {string(apq(adaName))}}
	for accept, status := range map[string]int{"application/json": 200, "application/graphql-response+json": 400} {
		r := get(t, s, nobody, params, "Accept", accept)
		if r.StatusCode != status || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("ETag") != "" {
			t.Errorf("%s: %d %v", accept, r.StatusCode, r.Header)
		}
	}
}

func TestManyRegisterTheSameAtOnce(t *testing.T) {
	t.Parallel()
	s := sharing(t, graphql.Options{})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if body := s.ask(t, graphql.Request{Query: adaName, Extensions: apq(adaName)}); !strings.Contains(body, "ada!") {
				t.Error(body)
			}
			if body := s.ask(t, graphql.Request{Extensions: apq(adaName)}); !strings.Contains(body, "ada!") {
				t.Error(body)
			}
		})
	}
	wg.Wait()
}
