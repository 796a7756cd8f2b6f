package graphql_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/quota"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

const pricedSDL = `
type Query {
  dear: Int @busRequest(subject: "svc.dear") @cost(weight: 50)
  items: [Item!] @busRequest(subject: "svc.items") @listSize(assumedSize: 20)
  page(first: Int! = 5): [Item!] @busRequest(subject: "svc.items") @listSize(slicingArguments: ["first"])
}
type Mutation {
  act: Int @busRequest(subject: "svc.act") @cost(weight: 5)
  tell: Boolean @busPublish(subject: "told") @cost(weight: 7)
}
type Subscription { feed: [Item!] @busSubscribe(subject: "feed") @cost(weight: 3) @listSize(assumedSize: 4) }
type Item { n: Int @cost(weight: 2) }
`

// priced is an engine over pricedSDL, and how often its services were reached.
func priced(t testing.TB, o graphql.Options) (*bound, *atomic.Int64) {
	t.Helper()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	dir := fstest.MapFS{"schema.graphql": {Data: []byte(pricedSDL)}}
	x := boundOn(t, resourcetest.Reader(t, b, dir, resource.FeedOptions{}), b.URL(), o)
	var reached atomic.Int64
	x.answer(t, "svc.*", func(m *nats.Msg) string {
		reached.Add(1)
		if m.Subject == "svc.items" {
			return `[{"n":1},{"n":2}]`
		}
		return "1"
	})
	if _, err := x.nc.Subscribe("told", func(*nats.Msg) { reached.Add(1) }); err != nil {
		t.Fatal(err)
	}
	return x, &reached
}

func TestFieldsOfServicesArePriced(t *testing.T) {
	t.Parallel()
	x, _ := priced(t, graphql.Options{})
	for query, want := range map[string]int{
		`{ dear }`:                         50,
		`{ a: dear b: dear }`:              100,
		`{ items { n } }`:                  20 * (1 + 2),
		`{ page { n } }`:                   5 * (1 + 2),
		`{ page(first: 3) { n } }`:         3 * (1 + 2),
		`mutation { act }`:                 10 + 5,
		`mutation { act tell }`:            2*10 + 5 + 7,
		`subscription { feed { n } }`:      3*4 + 2*4,
		`subscription { feed { n m: n } }`: 3*4 + 2*4 + 2*4,
	} {
		cost, failed := x.engine.Price(graphql.Request{Query: query})
		if failed != nil {
			t.Fatalf("%s", failed.Body)
		}
		if cost != want {
			t.Errorf("%s is estimated to cost %d, want %d", query, cost, want)
		}
	}
	r := x.engine.Execute(t.Context(), ada, graphql.Request{Query: `{ items { n } }`, WantCost: true})
	if want := `"cost":{"actual":6,"estimated":60,"max":10000}`; !strings.Contains(string(r.Body), want) {
		t.Errorf("got %s, want %s", r.Body, want)
	}
}

// What is too dear, too often or not persisted never reaches a service.
func TestLimitsHoldForFieldsOfServices(t *testing.T) {
	t.Parallel()
	persisted := func(t *testing.T) graphql.Persisted {
		return graphql.Persisted{Only: true, Deployed: manifest(t, fstest.MapFS{"one.graphql": {Data: []byte(`{ page(first: 1) { n } }`)}})}
	}
	for name, c := range map[string]struct {
		options graphql.Options
		code    fault.Code
	}{
		"cost":      {graphql.Options{Limits: graphql.Limits{Cost: graphql.Budgets{Anonymous: 4}}}, fault.CostLimitExceeded},
		"persisted": {graphql.Options{Persisted: persisted(t)}, fault.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, reached := priced(t, c.options)
			for _, query := range []string{`{ dear }`, `{ items { n } }`, `mutation { act }`, `mutation { tell }`} {
				if r := x.engine.Execute(t.Context(), nobody, graphql.Request{Query: query}); r.Code != c.code {
					t.Errorf("%s: %s", query, r.Body)
				}
			}
			x.refused(t, nobody, `subscription { feed { n } }`, "", c.code)
			if n := reached.Load(); n != 0 {
				t.Errorf("services were reached %d times", n)
			}
			if name == "persisted" {
				id := "sha256:" + hash(`{ page(first: 1) { n } }`)
				r := x.engine.Execute(t.Context(), nobody, graphql.Request{QueryID: id})
				wantData(t, string(r.Body), `{"page":[{"n":1},{"n":2}]}`)
			}
		})
	}
	x, reached := priced(t, graphql.Options{Quota: quota.New(nil, quota.Options{Anonymous: quota.Rate{Requests: 3}})})
	var codes []fault.Code
	for range 5 {
		codes = append(codes, x.engine.Execute(t.Context(), nobody, graphql.Request{Query: `{ page { n } }`}).Code)
	}
	x.refused(t, nobody, `subscription { feed { n } }`, "", fault.RateLimited)
	if r := x.engine.Execute(t.Context(), nobody, graphql.Request{Query: `mutation { act }`}); r.Code != fault.RateLimited {
		t.Errorf("a mutation: %s", r.Body)
	}
	if got := fmt.Sprint(codes); got != "[   RATE_LIMITED RATE_LIMITED]" || reached.Load() != 3 {
		t.Errorf("%s, reached %d times", got, reached.Load())
	}
}
