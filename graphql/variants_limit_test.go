package graphql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/fault"
	"tidings/graphql"
	"tidings/schema"
)

// Types of an interface inside of each other would multiply with each level.
func TestAPlanOfTooManyTypesIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	sdl := "type Query { node: Node }\ninterface Node { child: Node n: Int }\n"
	for i := range 6 {
		sdl += fmt.Sprintf("type T%d implements Node { child: Node n: Int }\n", i)
	}
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(sdl)}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := graphql.New(m, nil, nil, graphql.Options{Functions: map[string]graphql.Function{
		"Query.node": {Resolve: func(context.Context, graphql.Call) (any, error) { return nil, nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	nested := func(levels int) graphql.Request {
		return graphql.Request{Query: "{ node {" + strings.Repeat(" child {", levels) + " n " + strings.Repeat("}", levels) + "} }"}
	}
	if cost, failed := e.Price(nested(2)); failed != nil || cost != 3 {
		t.Errorf("%d, %+v", cost, failed)
	}
	start := time.Now()
	_, failed := e.Price(nested(8))
	if failed == nil || failed.Code != fault.ValidationFailed {
		t.Errorf("%+v", failed)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
