package bench_test

import (
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

func newBaseline(r *gqlgen.Resolver) *baseline {
	r.Changes = make(chan *gqlgen.UserChange, 1)
	b := &baseline{exec: executor.New(gqlgen.NewExecutableSchema(gqlgen.Config{Resolvers: r})), records: r}
	b.exec.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	return b
}

// inMemory is the baseline for the ratios: the service's records are decoded
// beforehand, and found in a map.
func inMemory(t testing.TB, s *service) *baseline {
	t.Helper()
	list, err := source{s, posts}.list(t.Context(), users)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*gqlgen.User{}
	for _, user := range list {
		byID[user.ID] = user
	}
	return newBaseline(&gqlgen.Resolver{
		Get:  func(_ context.Context, id string) (*gqlgen.User, error) { return byID[id], nil },
		List: func(_ context.Context, first int) ([]*gqlgen.User, error) { return list[:min(first, len(list))], nil },
	})
}

// onView is gqlgen with the same view to read as Tidings has.
func onView(s *service) *baseline {
	from := source{s, 5}
	return newBaseline(&gqlgen.Resolver{Get: from.get, List: from.list})
}

// source reads users from the service's view, and so many posts of each, in one
// read for all: what a well made data loader comes to.
type source struct {
	*service
	posts int
}

func (s source) get(ctx context.Context, id string) (*gqlgen.User, error) {
	raw, err := s.View.Get(ctx, "User", []string{id})
	if err != nil || raw[0] == nil {
		return nil, err
	}
	return decoded[gqlgen.User](raw[0])
}

func (s source) list(ctx context.Context, first int) ([]*gqlgen.User, error) {
	page, err := s.View.List(ctx, view.Query{Type: "User", First: first})
	if err != nil {
		return nil, err
	}
	list, err := all[gqlgen.User](page.Records)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list))
	for i, user := range list {
		ids[i] = user.ID
	}
	written, err := s.View.Related(ctx, view.Related{Relation: s.Model.Resource("User").Field("posts").Relation, Parents: ids, Limit: s.posts})
	if err != nil {
		return nil, err
	}
	for i, user := range list {
		if user.Posts, err = all[gqlgen.Post](written[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func all[T any](records [][]byte) ([]*T, error) {
	list := make([]*T, len(records))
	for i, raw := range records {
		var err error
		if list[i], err = decoded[T](raw); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func decoded[T any](raw []byte) (*T, error) {
	value := new(T)
	return value, json.Unmarshal(raw, value)
}

// execute does what gqlgen's POST transport does between the reading of the
// request and the writing of the answer.
func (base *baseline) execute(ctx context.Context, query string, variables map[string]any) ([]byte, error) {
	responses, ctx, err := base.dispatch(ctx, query, variables)
	if err != nil {
		return nil, err
	}
	return json.Marshal(responses(ctx))
}

// dispatch starts an operation.
func (base *baseline) dispatch(ctx context.Context, query string, variables map[string]any) (graphql.ResponseHandler, context.Context, error) {
	ctx = graphql.StartOperationTrace(ctx)
	op, errs := base.exec.CreateOperationContext(ctx, &graphql.RawParams{Query: query, Variables: variables})
	if errs != nil {
		return nil, nil, errs
	}
	responses, ctx := base.exec.DispatchOperation(ctx, op)
	return responses, ctx, nil
}
