package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/schema"
)

func price(t testing.TB, e *graphql.Engine, query, vars string) int {
	t.Helper()
	cost, failed := e.Price(graphql.Request{Query: query, Variables: json.RawMessage(vars)})
	if failed != nil {
		t.Fatalf("%s: %s", query, failed.Body)
	}
	return cost
}

func TestAFieldCostsItsWeightTimesTheListsAroundIt(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	for _, c := range []struct {
		query, vars string
		want        int
	}{
		{`{ __typename }`, "", 0},
		{`{ user(id: "a") { id name __typename } }`, "", 1},
		{`{ a: user(id: "a") { id } b: user(id: "a") { id } }`, "", 2},
		{`{ users { nodes { id } } }`, "", 1 + 20},
		{`{ users(first: 5) { nodes { id posts(limit: 3) { id } } totalCount pageInfo { hasNextPage } } }`, "", 1 + 5*(1+3) + 10 + 1},
		{`{ users(last: 5) { edges { cursor node { id } } } }`, "", 1 + 5*2},
		{`{ users { totalCount } }`, "", 1 + 10},
		{`{ user(id: "a") { posts { id author { id } } } }`, "", 1 + 20*2},
		{`query($n: Int) { users(first: $n) { nodes { id } } }`, `{"n":7}`, 1 + 7},
		{`query($n: Int) { users(first: $n) { nodes { id } } }`, `{}`, 1 + 20},
		{`query($n: Int = 3) { users(first: $n) { nodes { id } } }`, `{}`, 1 + 3},
		{`query($n: Int) { users(first: $n) { nodes { id } } }`, `{"n":null}`, 1 + 20},
		{`{ users(first: 2000000) { nodes { id } } }`, "", 1 + 100}, // it will be refused for that
		{`{ users(first: -5) { nodes { id } } }`, "", 1},
		{`{ users(first: 2, filter: {name: {eq: "x"}, or: [{name: {ne: "y"}}, {id: {eq: "z"}}]}) { totalCount } }`, "", 1 + 10 + 6}, // each input object 1
		{`query($f: UserFilter) { users(filter: $f) { totalCount } }`, `{"f":{"name":{"eq":"x"}}}`, 1 + 10 + 2},
		{`{ user(id: "a") { ...F ...F followers { id } } } fragment F on User { followers { id name } }`, "", 1 + 20},
		{`query($x: Boolean!) { user(id: "a") { id followers @skip(if: $x) { id } } }`, `{"x":true}`, 1},
		{`query($x: Boolean!) { user(id: "a") { id followers @skip(if: $x) { id } } }`, `{"x":false}`, 1 + 20},
		{`mutation { createUser(input: {name: "x", email: "x@example.org"}) { id followers(limit: 2) { id } } }`, "", 10 + 1 + 1 + 2},
		{`subscription { userChanged { user { id } } }`, "", 2},
		{`{ __schema { types { fields { args { name } } } } }`, "", 10},
		{`{ favourites(limit: 4) { id } greeting fractions stats { rows { label deep { label } } } }`, "", 4 + 1 + 20*2},
	} {
		for range 2 { // the second time from the plan
			if got := price(t, e, c.query, c.vars); got != c.want {
				t.Errorf("%s %s: %d, want %d", c.query, c.vars, got, c.want)
			}
		}
	}
}

const weighted = `
type Query {
  plain: [Row!]
  sliced(input: Slice, last: Int): [Row!] @listSize(slicingArguments: ["input.first", "last"], assumedSize: 50, requireOneSlicingArgument: false)
  strict(first: Int, last: Int): [Row!] @listSize(slicingArguments: ["first", "last"])
  assumed: [Row!] @listSize(assumedSize: 1000)
  page(first: Int): Page @listSize(slicingArguments: ["first"], sizedFields: ["rows"], slicingArgumentDefaultValue: 9, requireOneSlicingArgument: false)
  report(kind: Int @cost(weight: 7)): Int @cost(weight: "12.5")
}
type Page { rows: [Row!]! more: Boolean }
type Row @cost(weight: 2) { a: Int heavy: String @cost(weight: 0.5) rebate: Int @cost(weight: -1) }
input Slice @oneOf { first: Int all: Boolean }
`

func weightedEngine(t testing.TB, o graphql.Options) *graphql.Engine {
	t.Helper()
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(weighted)}})
	if err != nil {
		t.Fatal(err)
	}
	o.Functions = map[string]graphql.Function{}
	for _, name := range []string{"plain", "sliced", "strict", "assumed", "page", "report"} {
		o.Functions["Query."+name] = graphql.Function{Resolve: func(context.Context, graphql.Call) (any, error) { return nil, nil }}
	}
	e, err := graphql.New(m, nil, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestCostAndListSizeAreHonoured(t *testing.T) {
	t.Parallel()
	e := weightedEngine(t, graphql.Options{})
	for query, want := range map[string]int{
		`{ plain { a } }`:                                      20 * 2,
		`{ plain { heavy } }`:                                  20 * 5 / 2,
		`{ plain { rebate heavy } }`:                           20 * 3 / 2,
		`{ sliced { a } }`:                                     50 * 2,
		`{ sliced(last: 3) { a } }`:                            3 * 2,
		`{ sliced(input: {first: 4}) { a } }`:                  4*2 + 1,
		`{ sliced(input: {first: 4}, last: 6) { a } }`:         6*2 + 1,
		`query($n: Int!) { sliced(input: {first: $n}) { a } }`: 8*2 + 1,
		`{ strict(first: 3) { a } }`:                           3 * 2,
		`{ assumed { a } }`:                                    2000,
		`{ page(first: 3) { rows { a } more } }`:               1 + 3*2,
		`{ page { rows { a } } }`:                              1 + 9*2,
		`{ report }`:                                           13,
		`{ report(kind: 1) }`:                                  20,
		`{ a: report b: report }`:                              25,
	} {
		if got := price(t, e, query, `{"n":8}`); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	for _, query := range []string{`{ strict { a } }`, `{ strict(first: 1, last: 1) { a } }`} {
		_, failed := e.Price(graphql.Request{Query: query})
		if failed == nil || failed.Code != fault.ValidationFailed || !strings.Contains(string(failed.Body), "exactly one of first, last") {
			t.Errorf("%s: %+v", query, failed)
		}
	}
}

// Every fragment is priced once for each place of the expanded operation, of
// which the survey allows 5,000.
func TestPricingTakesLinearTime(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	var b strings.Builder
	for i := range 9 {
		fmt.Fprintf(&b, "fragment F%d on User { name ...F%d ...F%d } ", i, i+1, i+1)
	}
	got := price(t, e, `{user(id:"a"){...F0}} `+b.String()+`fragment F9 on User {id followers{id}}`, "")
	if got != 1+20 {
		t.Errorf("%d", got)
	}
}

func TestAnOperationBeyondItsBudgetIsRefusedBeforeItRuns(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	reads := graphql.CountReads(s.engine)
	service := auth.Principal{Subject: "crm", Roles: schema.Service}
	query := func(first, limit int) string {
		return fmt.Sprintf(`{ users(first: %d) { nodes { posts(limit: %d) { id } } } }`, first, limit)
	}
	for _, c := range []struct {
		who      auth.Principal
		query    string
		max      int
		estimate int
	}{
		{nobody, query(50, 19), 1_000, 1001},
		{ada, query(100, 99), 10_000, 10_001},
		{admin, query(100, 99), 10_000, 10_001},
		{service, `{ users(first: 100) { nodes { followers(limit: 100) { posts(limit: 10) { id } } } } }`, 100_000, 110_101},
	} {
		body := s.run(t, c.who, c.query, "")
		want := fmt.Sprintf(`"extensions":{"code":"COST_LIMIT_EXCEEDED","cost":{"estimated":%d,"max":%d}}`, c.estimate, c.max)
		if !strings.Contains(body, want) || !strings.Contains(body, fmt.Sprintf("estimated to cost %d; at most %d", c.estimate, c.max)) || strings.Contains(body, `"data"`) {
			t.Errorf("%q: %s", c.who.Subject, body)
		}
	}
	if n := reads.List.Load() + reads.Related.Load(); n > 0 {
		t.Errorf("%d reads were made for operations that are refused", n)
	}
	for _, who := range []auth.Principal{ada, service} {
		if r := decode(t, s.run(t, who, query(50, 19), "")); len(r.Errors) > 0 {
			t.Errorf("%q: %v", who.Subject, r.Errors)
		}
	}
	sink := &inbox{}
	if _, failed := s.engine.Subscribe(t.Context(), nobody, graphql.Request{Query: `subscription { userChanged { user { followers(limit: 100) { posts(limit: 100) { id } } } } }`}, "", sink); failed == nil || failed.Code != fault.CostLimitExceeded {
		t.Errorf("a subscription beyond the budget: %+v", failed)
	}
}

func TestBudgetsCanBeChosen(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Limits: graphql.Limits{Cost: graphql.Budgets{Anonymous: 5, User: -1}}})
	wantData(t, s.run(t, nobody, `{ users(first: 5) { nodes { id } } }`, ""), `null`, fault.CostLimitExceeded)
	wantData(t, s.run(t, nobody, `{ users(first: 1) { nodes { id } } }`, ""), `{"users":{"nodes":[{"id":"ada"}]}}`)
	if r := decode(t, s.run(t, ada, `{ users(first: 100) { nodes { followers(limit: 100) { posts(limit: 100) { id } } } } }`, "")); len(r.Errors) > 0 {
		t.Error(r.Errors)
	}
}

func TestTheCostIsToldWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	run := func(query string) string {
		r := s.engine.Execute(t.Context(), ada, graphql.Request{Query: query, Extensions: json.RawMessage(`{"cost":true}`)})
		return string(r.Body)
	}
	for query, want := range map[string]string{
		// three users, of whom ada has three posts and ben one
		`{ users { nodes { id posts { id author { id } } } totalCount } }`:       `{"actual":22,"estimated":831,"max":10000}`,
		`{ users(first: 2) { edges { node { id } } pageInfo { hasNextPage } } }`: `{"actual":6,"estimated":6,"max":10000}`,
		`{ user(id: "ada") { followers { id } } greeting }`:                      `{"actual":3,"estimated":21,"max":10000}`,
		`{ user(id: "nobody") { followers { id } } }`:                            `{"actual":1,"estimated":21,"max":10000}`,
		`{ __typename }`: `{"actual":0,"estimated":0,"max":10000}`,
		`mutation { deletePost(input: {id: "none"}) { id } }`: `{"actual":11,"estimated":12,"max":10000}`,
	} {
		if body := run(query); !strings.HasSuffix(body, `"extensions":{"cost":`+want+`}}`) {
			t.Errorf("%s: %s", query, body)
		}
	}
	if body := s.run(t, ada, `{ __typename }`, ""); strings.Contains(body, "cost") {
		t.Errorf("nobody asked: %s", body)
	}
}

func TestMeasuringLimitsRefusesNothingAndTellsTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := newService(t, graphql.Options{
		Limits: graphql.Limits{Measure: true, Depth: 3, Cost: graphql.Budgets{Anonymous: 10}},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	body := s.run(t, nobody, `query Deep { user(id: "ada") { followers { followers { id } } } }`, "")
	if r := decode(t, body); len(r.Errors) > 0 {
		t.Error(body)
	}
	for _, want := range []string{"depth=4 max=3", "op_name=Deep estimated=421 max=10"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, log.String())
		}
	}
}
