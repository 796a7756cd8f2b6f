package console_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"tidings/auth"
	"tidings/graphql"
	"tidings/schema"
)

// What an open console costs while 10,000 operations, on 100 sockets, are told of
// changes: deliveries a second with a console, and without.
func BenchmarkConsole(b *testing.B) {
	for _, open := range []bool{false, true} {
		b.Run(fmt.Sprintf("open=%t", open), func(b *testing.B) {
			p := pods(b, 1)[0]
			var got atomic.Int64
			for i := range 100 {
				c := connect(b, p.public, token(b, fmt.Sprint("reader-", i), schema.User))
				for n := range 100 {
					c.subscribe(fmt.Sprint(n), posts, nil)
				}
				go func() {
					for {
						if _, _, err := c.ws.ReadMessage(); err != nil {
							return
						}
						got.Add(1)
					}
				}()
			}
			await(b, func() bool { return p.engine.Stats().Sinks == 10_000 })
			if open {
				window := connect(b, p.admin+"/console/graphql", token(b, "root", schema.Admin))
				window.subscribe("1", overviewQuery, nil)
				window.subscribe("2", operationsQuery, map[string]any{"search": "reader-7"})
				go func() {
					for {
						if _, _, err := window.ws.ReadMessage(); err != nil {
							return
						}
					}
				}()
			}
			who := auth.Principal{Subject: "ada", Roles: schema.User}
			for b.Loop() {
				want := got.Load() + 10_000
				p.engine.Execute(context.Background(), who, graphql.Request{Query: `mutation { createPost(input: {title: "x"}) { id } }`})
				await(b, func() bool { return got.Load() >= want })
			}
			b.ReportMetric(10_000*float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}
