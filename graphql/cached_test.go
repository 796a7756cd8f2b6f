package graphql_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/auth"
	"tidings/graphql"
)

func TestWhatCachesMayKeep(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{
		CacheMaxAge:   time.Minute,
		Introspection: func(who auth.Principal) bool { return who.Roles != 0 },
		Persisted: graphql.Persisted{Deployed: manifest(t, fstest.MapFS{
			"name.graphql": {Data: []byte(adaName)},
		})},
	})
	const open, own, none = "public, max-age=60", "private, no-cache", "no-store"
	for name, c := range map[string]struct {
		who   auth.Principal
		query url.Values
		want  string
	}{
		"anybody's, by id":        {nobody, url.Values{"documentId": {"name"}}, open},
		"anybody's, by text":      {nobody, url.Values{"query": {adaName}}, open},
		"of a known caller":       {ada, url.Values{"documentId": {"name"}}, own},
		"an owner's field":        {ada, url.Values{"query": {`{ user(id: "ada") { email } }`}}, own},
		"a field that is refused": {nobody, url.Values{"query": {`{ user(id: "ada") { email } }`}}, none},
		"none, of an owner's":     {nobody, url.Values{"query": {`{ users(filter: {id: {eq: "zoe"}}) { nodes { email } } }`}}, own},
		"a function":              {nobody, url.Values{"query": {`{ greeting }`}}, own},
		"the schema":              {admin, url.Values{"query": {`{ __schema { queryType { name } } }`}}, own},
		"the schema, refused":     {nobody, url.Values{"query": {`{ __schema { queryType { name } } }`}}, none},
		"what cannot be read":     {nobody, url.Values{"query": {`{`}}, none},
		"an unknown id":           {nobody, url.Values{"queryId": {"x"}}, none},
		"a mutation":              {ada, url.Values{"query": {`mutation { deleteUser(input: {id: "ada"}) { id } }`}}, none},
	} {
		r := get(t, s, c.who, c.query)
		if got := r.Header.Get("Cache-Control"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if (r.Header.Get("ETag") != "") != (c.want != none) {
			t.Errorf("%s: ETag %q", name, r.Header.Get("ETag"))
		}
		vary := strings.Join(r.Header.Values("Vary"), ",")
		if strings.Contains(vary, "Authorization") != (c.want == own) || strings.Contains(vary, "Tidings-Position") != (c.want != none) {
			t.Errorf("%s: Vary %q", name, vary)
		}
	}
}

func TestAnAnswerThatTheClientHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	query := url.Values{"query": {adaName}}
	tag := get(t, s, nobody, query).Header.Get("ETag")
	for _, header := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		r := get(t, s, nobody, query, "If-None-Match", header)
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != http.StatusNotModified || len(body) > 0 || r.Header.Get("ETag") != tag || r.Header.Get("Cache-Control") != "public, max-age=0" {
			t.Errorf("%s: %d %v", header, r.StatusCode, r.Header)
		}
	}
	for _, header := range []string{`"x"`, "", "W/", tag + "x"} {
		if r := get(t, s, nobody, query, "If-None-Match", header); r.StatusCode != http.StatusOK {
			t.Errorf("%q: %d", header, r.StatusCode)
		}
	}
	s.run(t, ada, `mutation { updateUser(input: {id: "ada", name: "Ada"}) { id } }`, "")
	r := get(t, s, nobody, query, "If-None-Match", tag)
	if body, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusOK || !strings.Contains(string(body), `"Ada"`) {
		t.Errorf("after a change: %d %s", r.StatusCode, body)
	}
}
