package graphql_test

import (
	"testing"

	"tidings/graphql"
	"tidings/internal/proc"
)

// What it costs that an operation is counted: the smallest there is, which reads
// nothing, and a record of six fields.
func BenchmarkCounting(b *testing.B) {
	for name, m := range map[string]*proc.Metrics{"counted": proc.NewMetrics(), "not counted": nil} {
		s := benchService(b)
		engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: functions(), Metrics: m})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(engine.Close)
		graphql.Memorize(engine)
		for what, query := range map[string]string{
			"smallest": `{ __typename }`, "six fields": `{ user(id: "user01") { id name email adminNotes avatar createdAt } }`,
		} {
			b.Run(what+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					engine.Execute(b.Context(), admin, graphql.Request{Query: query})
				}
			})
		}
	}
}
