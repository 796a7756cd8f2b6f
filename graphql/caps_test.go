package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/quota"
	"tidings/schema"
)

// refused runs what is just within a limit and what is just beyond it, and
// checks that the second was not executed at all when before is set.
func refused(t *testing.T, s *service, code fault.Code, before bool, within, beyond string) {
	t.Helper()
	if r := decode(t, s.run(t, admin, within, "")); len(r.Errors) > 0 {
		t.Errorf("within the limit: %v", r.Errors)
	}
	body := s.run(t, admin, beyond, "")
	r := decode(t, body)
	if len(r.Errors) == 0 || r.Errors[0].Extensions.Code != code {
		t.Errorf("beyond the limit: want %s, got %.300s", code, body)
	}
	if before && strings.Contains(body, `"data"`) {
		t.Errorf("it was executed: %.300s", body)
	}
}

func TestQueryDeeperThanTenIsRefusedBeforeItRuns(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	deep := func(n int) string { return `{user(id:"ada")` + nest("{followers(limit:1)", n-2, "{id}", "}") + `}` }
	reads := graphql.CountReads(s.engine)
	refused(t, s, fault.DepthLimitExceeded, true, deep(10), deep(11))
	if n := reads.Get.Load(); n != 1 {
		t.Errorf("%d reads, want that of the first query", n)
	}
	s = newService(t, graphql.Options{Limits: graphql.Limits{Depth: 3}})
	refused(t, s, fault.DepthLimitExceeded, true, deep(3), deep(4))
	if r := decode(t, s.run(t, admin, `{ __schema { types { fields { type { ofType { ofType { name } } } } } } }`, "")); len(r.Errors) > 0 {
		t.Errorf("introspection has a limit of its own: %v", r.Errors)
	}
}

func TestDocumentOfMoreThan15000TokensIsRefused(t *testing.T) {
	t.Parallel()
	comments := func(n int) string { return strings.Repeat("#\n", n) + `{__typename}` } // three tokens
	refused(t, newService(t, graphql.Options{}), fault.ParseFailed, true, comments(14_990), comments(15_000))
	refused(t, newService(t, graphql.Options{Limits: graphql.Limits{Tokens: 50}}), fault.ParseFailed, true, comments(40), comments(51))
}

func TestMoreThan30AliasesAreRefused(t *testing.T) {
	t.Parallel()
	aliases := func(n int) string {
		return `{user(id:"ada"){` + repeat(n, func(i int) string { return fmt.Sprintf("a%d:id ", i) }) + `}}`
	}
	refused(t, newService(t, graphql.Options{}), fault.ValidationFailed, true, aliases(30), aliases(31))
	refused(t, newService(t, graphql.Options{Limits: graphql.Limits{Aliases: 2}}), fault.ValidationFailed, true, aliases(2), aliases(3))
}

func TestMoreThan20RootFieldsAreRefused(t *testing.T) {
	t.Parallel()
	roots := func(n int) string { return `{` + strings.Repeat("__typename ", n) + `}` }
	refused(t, newService(t, graphql.Options{}), fault.ValidationFailed, true, roots(20), roots(21))
	refused(t, newService(t, graphql.Options{Limits: graphql.Limits{Roots: 2}}), fault.ValidationFailed, true, roots(2), roots(3))
}

func TestBodyLargerThan1MiBIsRefused(t *testing.T) {
	t.Parallel()
	for limit, size := range map[int]int{0: 1 << 20, 100: 100} {
		e := prepared(t, graphql.Options{Limits: graphql.Limits{Body: limit}})
		for more, want := range []int{200, 413} {
			w := httptest.NewRecorder()
			body := `{"query":"{__typename}"}`
			body += strings.Repeat(" ", size-len(body)+more)
			r := httptest.NewRequest("POST", "/graphql", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			e.ServeHTTP(w, r)
			if w.Code != want || want == 413 && !strings.Contains(w.Body.String(), `"PAYLOAD_TOO_LARGE"`) {
				t.Errorf("%d bytes with the limit %d: %d %s", len(body), limit, w.Code, w.Body)
			}
		}
	}
}

func TestPageOfMoreThan100IsRefused(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`{users(first:%d){nodes{id}}}`, `{users(last:%d){nodes{id}}}`, `{user(id:"ada"){posts(limit:%d){id}}}`} {
		refused(t, newService(t, graphql.Options{}), fault.BadUserInput, false, fmt.Sprintf(list, 100), fmt.Sprintf(list, 101))
		refused(t, newService(t, graphql.Options{Limits: graphql.Limits{Page: 7}}), fault.BadUserInput, false, fmt.Sprintf(list, 7), fmt.Sprintf(list, 8))
	}
}

func TestAPageWithoutASizeIsNotLongerThanTheGreatest(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Limits: graphql.Limits{Page: 2}})
	wantData(t, s.run(t, nobody, `{ users { nodes { id } pageInfo { hasNextPage } } }`, ""), `{"users":{"nodes":[{"id":"ada"},{"id":"ben"}],"pageInfo":{"hasNextPage":true}}}`)
	if got := price(t, s.engine, `{ users { nodes { id } } }`, ""); got != 1+2 {
		t.Errorf("it costs %d", got)
	}
}

func TestListArgumentLongerThan1000IsRefused(t *testing.T) {
	t.Parallel()
	ids := func(n int) string { return `{users(filter:{id:{in:[` + strings.Repeat(`"x",`, n) + `]}}){nodes{id}}}` }
	refused(t, newService(t, graphql.Options{}), fault.BadUserInput, false, ids(1000), ids(1001))
	s := newService(t, graphql.Options{Limits: graphql.Limits{ListItems: 3}})
	refused(t, s, fault.BadUserInput, false, ids(3), ids(4))
	tags := func(n int) string {
		return `mutation{createPost(input:{title:"t",tags:[` + strings.Repeat(`"x",`, n) + `]}){id}}`
	}
	refused(t, s, fault.BadUserInput, false, tags(3), tags(4))
}

func TestTextLongerThan64KiBIsRefused(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return `{users(filter:{name:{eq:"` + strings.Repeat("x", n) + `"}}){nodes{id}}}` }
	refused(t, newService(t, graphql.Options{}), fault.BadUserInput, false, text(64<<10), text(64<<10+1))
	s := newService(t, graphql.Options{Limits: graphql.Limits{StringBytes: 10}})
	refused(t, s, fault.BadUserInput, false, text(10), text(11))
	title := func(n int) string {
		return `mutation{createPost(input:{title:"` + strings.Repeat("x", n) + `"}){id}}`
	}
	refused(t, s, fault.BadUserInput, false, title(10), title(11))
}

func TestExecutionLongerThanItMayIsEndedAndItsSQLWithIt(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Timeout: 5 * time.Millisecond, Limits: graphql.Limits{Cost: graphql.Budgets{User: -1}}})
	title := strings.Repeat("x", 200)
	for i := range 300 {
		s.submit(t, "Post", fmt.Sprintf(`{"authorId":"ada","title":"%s%d","tags":[]}`, title[:190], i))
	}
	last := s.submit(t, "Post", `{"authorId":"ada","title":"the last"}`)
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	var slow strings.Builder
	for i := range 490 {
		fmt.Fprintf(&slow, `{title:{contains:"%d%s"}},`, i, strings.Repeat("x", 100))
	}
	query := `{ posts(first: 1, filter: {or: [` + slow.String() + `]}) { totalCount nodes { id } } }`
	start := time.Now()
	body := s.run(t, ada, query, "")
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it went on for %v", took)
	}
	r := decode(t, body)
	if len(r.Errors) == 0 || r.Errors[0].Extensions.Code != fault.Timeout || !strings.Contains(body, `"code":"TIMEOUT"`) {
		t.Errorf("%.300s", body)
	}
	for range 8 { // no reader is left busy
		if _, err := s.Client.Get(t.Context(), ada, "User", []string{"ada"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilterNestedDeeperThanFiveIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for _, around := range []string{"{not: ", "{and: ", "{or: [{}, "} {
		filter := func(levels int) string {
			end := "}"
			if strings.Contains(around, "[") {
				end = "]}"
			}
			return "(filter: " + nest(around, levels, `{name: {eq: "x"}}`, end) + ")"
		}
		refused(t, s, fault.BadUserInput, false, `{ users`+filter(5)+` { totalCount } }`, `{ users`+filter(6)+` { totalCount } }`)
		refused(t, s, fault.BadUserInput, false, `{ userChanges`+filter(5)+` { hasMore } }`, `{ userChanges`+filter(6)+` { hasMore } }`)
		for levels, code := range map[int]fault.Code{5: "", 6: fault.BadUserInput} {
			stop, failed := s.engine.Subscribe(t.Context(), admin, graphql.Request{Query: `subscription { userChanged` + filter(levels) + ` { id } }`}, "", newInbox())
			switch {
			case failed != nil && failed.Code != code, failed == nil && code != "":
				t.Errorf("%d levels of %s: %+v", levels, around, failed)
			case stop != nil:
				stop()
			}
		}
	}
}

func TestExecutionLongerThanItMayEndsTheCallsThatItMakes(t *testing.T) {
	t.Parallel()
	list := functions()
	list["Query.explode"] = graphql.Function{Resolve: func(ctx context.Context, _ graphql.Call) (any, error) {
		<-ctx.Done() // as a call over the bus does
		return nil, ctx.Err()
	}}
	s := newService(t, graphql.Options{Timeout: 5 * time.Millisecond, Functions: list})
	wantData(t, s.run(t, nobody, `{ explode }`, ""), `{"explode":null}`, fault.Timeout)
}

func TestRequestsBeyondTheRateAreRefusedBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Quota: quota.New(nil, quota.Options{User: quota.Rate{Requests: 3, Cost: 100}})})
	for range 3 {
		s.run(t, ada, `{ __typename`, "") // what is wrong counts too
	}
	resp := s.engine.Execute(t.Context(), ada, graphql.Request{Query: `{ __typename }`})
	if _, err := s.engine.Kind(auth.NewContext(t.Context(), ada), graphql.Request{Query: `{ __typename }`}); !fault.Is(err, fault.RateLimited) || fault.Of(err).RetryAfter != 20 {
		t.Errorf("the document is read all the same: %v", err)
	}
	if resp.Code != fault.RateLimited || !resp.Failed || resp.RetryAfter <= 0 || !strings.Contains(string(resp.Body), `"retryAfter":20`) {
		t.Errorf("%+v %s", resp, resp.Body)
	}
	wantData(t, s.run(t, ben, `{ users(first: 90) { nodes { id } } }`, ""), `{"users":{"nodes":[{"id":"ada"},{"id":"ben"},{"id":"cleo"}]}}`)
	wantData(t, s.run(t, ben, `{ users(first: 90) { nodes { id } } }`, ""), `null`, fault.RateLimited)
}

func TestASubscriptionCountsOnceAndItsEventsDoNot(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Quota: quota.New(nil, quota.Options{User: quota.Rate{Requests: 1}})})
	got := make(chan struct{}, 64)
	sink := sinkFunc(func() { got <- struct{}{} })
	request := graphql.Request{Query: `subscription { count(target: 50) }`}
	if _, ok := functions()["Subscription.count"]; !ok {
		request.Query = `subscription { userChanged { id } }`
	}
	stop, failed := s.engine.Subscribe(t.Context(), ada, graphql.Request{Query: `subscription { postChanged { id } }`}, "", sink)
	if failed != nil {
		t.Fatalf("%s", failed.Body)
	}
	defer stop()
	for range 20 {
		s.create(t, "Post", `{"authorId":"ada","title":"t"}`)
	}
	for range 20 {
		select {
		case <-got:
		case <-time.After(10 * time.Second):
			t.Fatal("an event is missing")
		}
	}
	if _, failed := s.engine.Subscribe(t.Context(), ada, request, "", sink); failed == nil || failed.Code != fault.RateLimited {
		t.Errorf("a second subscription: %+v", failed)
	}
}

type sinkFunc func()

func (f sinkFunc) Next([]byte, string) bool { f(); return true }
func (f sinkFunc) End([]byte)               {}

func TestCostIsToldByAHeader(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	w := httptest.NewRecorder()
	body, _ := json.Marshal(graphql.Request{Query: `{ greeting }`})
	r := httptest.NewRequest("POST", "/graphql", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(graphql.HeaderCost, "1")
	e.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), auth.Principal{Subject: "crm", Roles: schema.Service})))
	if got := w.Body.String(); !strings.HasSuffix(got, `"extensions":{"cost":{"actual":0,"estimated":0,"max":100000}}}`) {
		t.Error(got)
	}
}
