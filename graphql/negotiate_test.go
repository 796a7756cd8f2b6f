package graphql_test

import (
	"strings"
	"testing"

	"tidings/graphql"
)

func TestNegotiatePrefersWhatTheClientDoes(t *testing.T) {
	t.Parallel()
	const json, typed, stream = "application/json", "application/graphql-response+json", "text/event-stream"
	for _, c := range []struct{ accept, want string }{
		{"*/*", json},
		{"application/*", json},
		{json, json},
		{typed, typed},
		{stream, stream},
		{"APPLICATION/JSON", json},
		{"application/json, application/graphql-response+json", json},
		{"application/graphql-response+json, application/json", typed},
		{"application/graphql-response+json; charset=utf-8, application/json; charset=utf-8", typed},
		{"application/json;q=0.1, application/graphql-response+json;q=0.9", typed},
		{"application/graphql-response+json, application/json;q=0.9", typed},
		{"application/graphql-response+json;q=0.5, */*;q=0.8", json},
		{"application/json;q=0, */*", typed},
		{"*/*;q=0.1, application/json;q=0.05", typed},
		{"text/event-stream, multipart/mixed", stream},
		{"application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed", typed},
		{"text/event-stream, */*", stream},
		{"text/event-stream;q=0.5, application/json", json},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", json},
		{"application/json;q=nonsense", json},
		{"application/json;q=7", json},
		{"text/html", ""},
		{"application/json;q=0", ""},
		{"application/json;q=0.000", ""},
		{"*/*;q=0", ""},
		{"text/*;q=0", ""},
		{"application/jsonp", ""},
		{";;;,,/", ""},
		{"", ""},
	} {
		if got := graphql.Negotiate([]string{c.accept}, json, typed, stream); got != c.want {
			t.Errorf("%s: got %q, want %q", c.accept, got, c.want)
		}
	}
	if got := graphql.Negotiate(nil, json, typed); got != json {
		t.Errorf("without a header: %q", got)
	}
	if got := graphql.Negotiate([]string{"application/json;q=0.5", typed}, json, typed); got != typed {
		t.Errorf("two headers: %q", got)
	}
}

func FuzzNegotiate(f *testing.F) {
	for _, seed := range []string{"*/*", "application/json;q=0.1, text/*", `a/b;q="0.5";x="\"`, "gzip;q=1.0, identity;q=0.5, *;q=0", strings.Repeat(",", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		got := graphql.Negotiate([]string{accept}, "application/json", "text/event-stream")
		if got != "" && got != "application/json" && got != "text/event-stream" {
			t.Errorf("%q was not offered", got)
		}
		graphql.AcceptsGzip([]string{accept})
	})
}

func TestGzipIsForClientsThatAcceptIt(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "deflate, gzip;q=1.0, *;q=0.5": true, "br": false, "*": true,
		"gzip;q=0": false, "gzip; q=0.0": false, "*;q=0": false, "gzip;q=0, *": false, "gzip, deflate, br, zstd": true,
		"identity": false, "identity;q=1, gzip;q=0.5": false, "gzip;q=0.5, identity;q=0.5": true, "gzip;q=x": true,
	} {
		if got := graphql.AcceptsGzip([]string{accept}); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}
