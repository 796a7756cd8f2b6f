package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"

	"tidings/bench/gqlgen"
	"tidings/view"
)

// baseline is gqlgen's generated server behind its own executor, with the
// cache of documents that its guide sets up.
type baseline struct {
	exec    *executor.Executor
	records *gqlgen.Resolver
}

// newBaseline returns a baseline with the records of the service.
func newBaseline(t testing.TB, s *service) *baseline {
	t.Helper()
	records := &gqlgen.Resolver{
		Users:   map[string]*gqlgen.User{},
		Posts:   map[string][]*gqlgen.Post{},
		Changes: make(chan *gqlgen.UserChange, 1),
	}
	page, err := s.View.List(t.Context(), view.Query{Type: "User", First: users})
	if err != nil {
		t.Fatal(err)
	}
	relation := s.Model.Resource("User").Field("posts").Relation
	for _, raw := range page.Records {
		user := decoded[gqlgen.User](t, raw)
		lists, err := s.View.Related(t.Context(), view.Related{Relation: relation, Parents: []string{user.ID}, Limit: posts})
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range lists[0] {
			records.Posts[user.ID] = append(records.Posts[user.ID], decoded[gqlgen.Post](t, raw))
		}
		records.List = append(records.List, user)
		records.Users[user.ID] = user
	}
	b := &baseline{exec: executor.New(gqlgen.NewExecutableSchema(gqlgen.Config{Resolvers: records})), records: records}
	b.exec.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	return b
}

func decoded[T any](t testing.TB, raw []byte) *T {
	t.Helper()
	value := new(T)
	if err := json.Unmarshal(raw, value); err != nil {
		t.Fatal(err)
	}
	return value
}

// execute does what gqlgen's POST transport does between the reading of the
// request and the writing of the answer.
func (b *baseline) execute(ctx context.Context, query string, variables map[string]any) ([]byte, error) {
	responses, ctx, err := b.dispatch(ctx, query, variables)
	if err != nil {
		return nil, err
	}
	return json.Marshal(responses(ctx))
}

// dispatch starts an operation.
func (b *baseline) dispatch(ctx context.Context, query string, variables map[string]any) (graphql.ResponseHandler, context.Context, error) {
	ctx = graphql.StartOperationTrace(ctx)
	op, errs := b.exec.CreateOperationContext(ctx, &graphql.RawParams{Query: query, Variables: variables})
	if errs != nil {
		return nil, nil, errs
	}
	responses, ctx := b.exec.DispatchOperation(ctx, op)
	return responses, ctx, nil
}

// compact returns the JSON without white space.
func compact(t testing.TB, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return out.String()
}
