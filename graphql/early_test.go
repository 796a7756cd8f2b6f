package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// fedBy is an engine whose Query.f and Mutation.f are fn.
func fedBy(t testing.TB, o graphql.Options, fn func(ctx context.Context, n int64) (any, error)) *graphql.Engine {
	t.Helper()
	s := resourcetest.Reader(t, bustest.New(t), fstest.MapFS{"schema.graphql": {Data: []byte(
		`type Query { f(n: Int!): Int must(n: Int!): Int! } type Mutation { f(n: Int!): Int }`)}}, resource.FeedOptions{})
	f := graphql.Function{Resolve: func(ctx context.Context, c graphql.Call) (any, error) { return fn(ctx, c.Args["n"].(int64)) }}
	o.Functions = map[string]graphql.Function{"Query.f": f, "Query.must": f, "Mutation.f": f}
	e, err := graphql.New(s.Model, s.Client, s.Feed, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func fields(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " f%d: %s(n: %d)", i, name, i)
	}
	return "{" + b.String() + " }"
}

func executed(t testing.TB, e *graphql.Engine, query string) string {
	t.Helper()
	return string(e.Execute(t.Context(), nobody, graphql.Request{Query: query}).Body)
}

func TestTheFunctionsOfAQueryRunSideBySideAndAnswerInOrder(t *testing.T) {
	t.Parallel()
	var here atomic.Int64
	all := make(chan struct{})
	e := fedBy(t, graphql.Options{}, func(ctx context.Context, n int64) (any, error) {
		if here.Add(1) == 10 {
			close(all)
		}
		select {
		case <-all: // no one answers before all are asked
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch n {
		case 3:
			panic("of one alone")
		case 7:
			return nil, fault.New(fault.NotFound, "not there")
		}
		return n, nil
	})
	wantData(t, executed(t, e, fields("f", 10)), `{"f0":0,"f1":1,"f2":2,"f3":null,"f4":4,"f5":5,"f6":6,"f7":null,"f8":8,"f9":9}`, fault.Internal, fault.NotFound)
}

func TestFewFunctionsOfAQueryRunAtATime(t *testing.T) {
	t.Parallel()
	const limit = 16
	var now, most atomic.Int64
	full := make(chan struct{}) // closed when as many run as may
	e := fedBy(t, graphql.Options{Limits: graphql.Limits{Aliases: -1, Roots: -1}}, func(ctx context.Context, n int64) (any, error) {
		defer now.Add(-1)
		for here := now.Add(1); ; {
			if m := most.Load(); here <= m || most.CompareAndSwap(m, here) {
				if here == limit && m < limit {
					close(full)
				}
				break
			}
		}
		select {
		case <-full:
			runtime.Gosched() // any more would come in now
			return n, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	var r struct{ Data map[string]int }
	if err := json.Unmarshal([]byte(executed(t, e, fields("f", 30))), &r); err != nil || len(r.Data) != 30 || r.Data["f29"] != 29 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := most.Load(); n != limit {
		t.Errorf("%d at a time, want %d", n, limit)
	}
}

func TestMutationsRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	e := fedBy(t, graphql.Options{}, func(_ context.Context, n int64) (any, error) {
		defer now.Add(-1)
		if now.Add(1) > 1 {
			t.Error("two at a time")
		}
		for range 100 {
			runtime.Gosched() // to whoever would run beside it
		}
		return n, nil
	})
	wantData(t, executed(t, e, "mutation "+fields("f", 4)), `{"f0":0,"f1":1,"f2":2,"f3":3}`)
}

// Nothing runs any more when the answer is given.
func TestTheFunctionsOfAQueryEndWithIt(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"what must be there is not": time.Minute, "time is up": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running sync.WaitGroup
			var now atomic.Int64
			running.Add(3)
			e := fedBy(t, graphql.Options{Timeout: timeout}, func(ctx context.Context, n int64) (any, error) {
				now.Add(1)
				defer now.Add(-1)
				if n == 9 && timeout == time.Minute {
					running.Wait()
					return nil, nil
				}
				running.Done()
				<-ctx.Done()
				return nil, ctx.Err()
			})
			query, want := `{ must(n: 9) a: f(n: 0) b: f(n: 1) c: f(n: 2) }`, []fault.Code{fault.Internal}
			data := `null`
			if timeout < time.Minute {
				query, data, want = `{ a: f(n: 0) b: f(n: 1) c: f(n: 2) }`, `{"a":null,"b":null,"c":null}`, []fault.Code{fault.Timeout, fault.Timeout, fault.Timeout}
			}
			wantData(t, executed(t, e, query), data, want...)
			if n := now.Load(); n != 0 {
				t.Errorf("%d still run", n)
			}
		})
	}
}

// What comes over a socket has no id of its own until something fails.
func TestAServiceIsAskedAfterAnotherFieldHasFailed(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	x.always(t, "svc.number", `1`)
	wantData(t, x.run(t, nobody, `{ nobody number }`, ""), `{"nobody":null,"number":1}`, fault.Unavailable)
	wantData(t, x.run(t, nobody, `mutation { adjust(x: "a") tell(x: "b") }`, ""), `{"adjust":null,"tell":true}`, fault.Unavailable)
}

// The answers of services are held against the bound of an answer, one by one.
func TestLargeAnswersOfServicesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{MaxAnswer: 100 << 10, Limits: graphql.Limits{Aliases: -1, Roots: -1}})
	var asked atomic.Int64
	large := `"` + strings.Repeat("x", 60<<10) + `"`
	x.answer(t, "svc.echo.*", func(*nats.Msg) string { asked.Add(1); return large })
	var query strings.Builder
	for i := range 30 {
		fmt.Fprintf(&query, "e%d: echo(x: \"%d\") ", i, i)
	}
	wantData(t, x.run(t, nobody, "{ e: echo(x: \"k\") }", ""), `{"e":`+large+`}`)
	wantData(t, x.run(t, nobody, "{ "+query.String()+" }", ""), `null`, fault.PayloadTooLarge)
	if n := asked.Load(); n > 20 {
		t.Errorf("asked %d times for an answer that was too large after two", n)
	}
}
