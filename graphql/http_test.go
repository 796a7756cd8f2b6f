package graphql_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	engine "tidings/graphql"
)

func TestHTTPFollowsItsSpecification(t *testing.T) {
	t.Parallel()
	s := newService(t, engine.Options{})
	const (
		typed  = "application/graphql-response+json"
		good   = `{"query":"{user(id:\"ada\"){id}}"}`
		answer = `{"data":{"user":{"id":"ada"}}}`
	)
	get := func(params string) string { return "/graphql?" + params }
	for _, c := range []struct {
		name, method, target, accept, content, body string
		header                                      string // one more
		status                                      int
		want, allow, kind                           string
	}{
		{name: "post", body: good, want: answer},
		{name: "post, typed", accept: typed, body: good, want: answer, kind: typed},
		{name: "charset", content: "application/json; charset=UTF-8", body: good, want: answer},
		{name: "quoted charset", content: `application/json; charset="utf8"`, body: good, want: answer},
		{name: "other charset", content: "application/json; charset=latin1", body: good, status: 415},
		{name: "form", content: "application/x-www-form-urlencoded", body: "query=%7B__typename%7D", status: 415},
		{name: "plain text", content: "text/plain", body: good, status: 415},
		{name: "multipart", content: "multipart/form-data; boundary=x", body: good, status: 415},
		{name: "no content type", content: "-", body: good, status: 415},
		{name: "plain text after a preflight", content: "text/plain", header: "GraphQL-Require-Preflight: 1", body: good, want: answer},
		{name: "form after a preflight", content: "application/x-www-form-urlencoded", header: "Apollo-Require-Preflight: 1", body: good, want: answer},
		{name: "no content type after a preflight", content: "-", header: "X-Apollo-Operation-Name: Q", body: good, want: answer},
		{name: "plain text in latin1", content: "text/plain; charset=latin1", header: "GraphQL-Require-Preflight: 1", body: good, status: 415},
		{name: "multipart after a preflight", content: "multipart/form-data; boundary=x", header: "GraphQL-Require-Preflight: 1", body: good, status: 415},
		{name: "XML after a preflight", content: "text/xml", header: "GraphQL-Require-Preflight: 1", body: good, status: 415},
		{name: "broken content type", content: "application/json; x", header: "GraphQL-Require-Preflight: 1", body: good, status: 415},
		{name: "compressed body", header: "Content-Encoding: gzip", body: good, status: 415, want: "without Content-Encoding"},
		{name: "identity body", header: "Content-Encoding: identity", body: good, want: answer},
		{name: "quality", accept: "application/json;q=0.1, " + typed + ";q=0.9", body: good, want: answer, kind: typed},
		{name: "anything", accept: "text/html, */*", body: good, want: answer},
		{name: "not acceptable", accept: "text/html", body: good, status: 406},
		{name: "refused type", accept: "application/json;q=0", body: good, status: 406},
		{name: "variables", body: `{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":"ada"},"operationName":null,"extensions":{},"more":1}`, want: answer},
		{name: "not JSON", body: `{"query"`, status: 400, want: `not valid JSON`},
		{name: "empty", body: ` `, status: 400},
		{name: "array", body: `[` + good + `]`, status: 400, want: `batches are not supported`},
		{name: "string", body: `"x"`, status: 400},
		{name: "two values", body: good + good, status: 400},
		{name: "no query", body: `{}`, status: 400},
		{name: "query of another type", body: `{"query":5}`, status: 400, want: `\"query\" must be a string`},
		{name: "variables of another type", body: `{"query":"{__typename}","variables":[1]}`, status: 400},
		{name: "parse error", body: `{"query":"{"}`, status: 200, want: `GRAPHQL_PARSE_FAILED`},
		{name: "parse error, typed", accept: typed, body: `{"query":"{"}`, status: 400, want: `GRAPHQL_PARSE_FAILED`, kind: typed},
		{name: "validation error, typed", accept: typed, body: `{"query":"{nope}"}`, status: 400, want: `GRAPHQL_VALIDATION_FAILED`, kind: typed},
		{name: "field error, typed", accept: typed, body: `{"query":"{user(id:\"x\"){id}}"}`, want: `{"data":{"user":null},"errors":[`, kind: typed},
		{name: "subscription", body: `{"query":"subscription{userChanged{id}}"}`, status: 400, want: `WebSocket`},
		{name: "too large", body: `{"query":"` + strings.Repeat(" ", engine.MaxBody) + `"}`, status: 413, want: `PAYLOAD_TOO_LARGE`},
		{name: "get", method: "GET", target: get("query=" + url.QueryEscape(`query($i:ID!){user(id:$i){id}}`) + "&variables=" + url.QueryEscape(`{"i":"ada"}`)), want: answer},
		{name: "get without query", method: "GET", target: "/graphql", status: 400},
		{name: "get with bad variables", method: "GET", target: get("query={__typename}&variables={"), status: 400},
		{name: "mutation by get", method: "GET", target: get("query=" + url.QueryEscape(`mutation{deleteUser(input:{id:"ada"}){id}}`)), status: 405, allow: "POST"},
		{name: "subscription by get", method: "GET", target: get("query=" + url.QueryEscape(`subscription{userChanged{id}}`)), status: 405, allow: "POST"},
		{name: "mutation by head", method: "HEAD", target: get("query=" + url.QueryEscape(`mutation{deleteUser(input:{id:"ada"}){id}}`)), status: 405, allow: "POST"},
		{name: "head", method: "HEAD", target: get("query={__typename}"), want: "Query"}, // net/http leaves the body out
		{name: "delete", method: "DELETE", status: 405, allow: "GET, HEAD, POST, OPTIONS"},
		{name: "put", method: "PUT", body: good, status: 405, allow: "GET, HEAD, POST, OPTIONS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			method, target, content := orElse(c.method, "POST"), orElse(c.target, "/graphql"), orElse(c.content, "application/json")
			r := httptest.NewRequestWithContext(auth.NewContext(t.Context(), admin), method, target, strings.NewReader(c.body))
			if content != "-" && method == "POST" {
				r.Header.Set("Content-Type", content)
			}
			if c.accept != "" {
				r.Header.Set("Accept", c.accept)
			}
			if name, value, more := strings.Cut(c.header, ": "); more {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			s.engine.ServeHTTP(w, r)
			resp := w.Result()
			body, _ := io.ReadAll(resp.Body)
			if want := max(c.status, 200); resp.StatusCode != want && !(c.status == 0 && resp.StatusCode == 200) {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			if !strings.Contains(string(body), c.want) {
				t.Errorf("%s is not in %s", c.want, body)
			}
			if got := resp.Header.Get("Content-Type"); got != orElse(c.kind, "application/json")+"; charset=utf-8" {
				t.Errorf("content type %s", got)
			}
			if got := resp.Header.Get("Content-Length"); got != strconv.Itoa(len(body)) {
				t.Errorf("content length %s of %d", got, len(body))
			}
			if got := resp.Header.Get("Allow"); got != c.allow {
				t.Errorf("allow %q", got)
			}
			if c.status >= 400 && strings.Contains(string(body), `"data"`) {
				t.Errorf("a refused request has data: %s", body)
			}
		})
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func TestABadBodyIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"query":"secret"x`, `{"variables":"secret"}`, `[{"secret":1}]`, `secret`} {
		if _, err := engine.DecodeRequest([]byte(body)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// around is an extension of gqlgen's kind.
type around struct {
	graphql.HandlerExtension
	operation func(context.Context, graphql.OperationHandler) graphql.ResponseHandler
	response  func(context.Context, graphql.ResponseHandler) *graphql.Response
}

func (around) ExtensionName() string                   { return "around" }
func (around) Validate(graphql.ExecutableSchema) error { return nil }
func (a around) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	return a.operation(ctx, next)
}
func (a around) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	return a.response(ctx, next)
}

func TestExtensionsOfGqlgenWork(t *testing.T) {
	t.Parallel()
	a := around{
		operation: func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
			op := graphql.GetOperationContext(ctx)
			if op.OperationName == "Refused" {
				return graphql.OneShot(&graphql.Response{Errors: gqlerror.List{gqlerror.Errorf("not today")}})
			}
			return next(ctx)
		},
		response: func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
			graphql.RegisterExtension(ctx, "seen", graphql.GetOperationContext(ctx).Variables["i"])
			return next(ctx)
		},
	}
	s := newService(t, engine.Options{Extensions: []graphql.HandlerExtension{a}})
	if got := s.run(t, nobody, `query Q($i: ID!) { user(id: $i) { id } }`, `{"i":"ada"}`); got != `{"data":{"user":{"id":"ada"}},"extensions":{"seen":"ada"}}` {
		t.Error(got)
	}
	if got := s.run(t, nobody, `query Refused { __typename }`, ""); !strings.HasPrefix(got, `{"data":null,"errors":[{"message":"not today","extensions":{"code":"INTERNAL","requestId":"`) {
		t.Error(got)
	}
	_, err := engine.New(s.Model, s.Client, s.Feed, engine.Options{Functions: functions(), Extensions: []graphql.HandlerExtension{fieldHook{}}})
	if err == nil || !strings.Contains(err.Error(), "fieldHook") {
		t.Errorf("an extension that would never be called: %v", err)
	}
}

type fieldHook struct{ graphql.FieldInterceptor }

func (fieldHook) ExtensionName() string                   { return "fieldHook" }
func (fieldHook) Validate(graphql.ExecutableSchema) error { return nil }

var _ http.Handler = (*engine.Engine)(nil)
