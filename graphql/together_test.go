package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tidings/fault"
	"tidings/graphql"
	"tidings/resource/resourcetest"
)

// Its changes are of several types; one field is left out by a variable, and one
// comes by a fragment.
const joined = `mutation Join($title: String!, $more: Boolean!) @transaction {
  __typename
  a: createPost(input: {title: $title}) { id title author { name posts(limit: 10) { title } } }
  b: createPost(input: {title: "dropped"}) @include(if: $more) { id }
  ...rest
}
fragment rest on Mutation {
  createFollow(input: {followeeId: "cleo"}) { followeeId }
  renamed: updateUser(input: {id: "ada", name: "Ada"}) { name }
}`

func TestTheFieldsOfATransactionHappenTogether(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	before := s.end(t)
	r := s.engine.Execute(t.Context(), ada, graphql.Request{Query: joined, Variables: json.RawMessage(`{"title":"T","more":false}`), WantPosition: true})
	got := decode(t, string(r.Body))
	if len(got.Errors) > 0 || s.end(t) != before+3 || r.Position == "" {
		t.Fatalf("%d changes: %s", s.end(t)-before, r.Body)
	}
	for _, part := range []string{`"__typename":"Mutation","a":{"id":"`, `"author":{"name":"Ada","posts":[{"title":"T"},`, `"createFollow":{"followeeId":"cleo"}`, `"renamed":{"name":"Ada"}`, `"position":"` + r.Position} {
		if !strings.Contains(string(r.Body), part) {
			t.Errorf("%s is not in %s", part, r.Body)
		}
	}
}

func TestATransactionThatFailsSaysOfEachFieldWhy(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	before := s.end(t)
	for query, want := range map[string]struct {
		path, message string
		code          fault.Code
	}{
		`a: createPost(input: {title: "A"}) { id } b: deleteUser(input: {id: "ben"}) { id }`:                           {"b", "not allowed to delete User", fault.Forbidden},
		`b: createPost(input: {title: ""}) { id } a: createPost(input: {title: "A"}) { id }`:                           {"b", "title must have at least 1 character (minLength)", fault.BadUserInput},
		`a: createPost(input: {title: "A"}) { id } b: updatePost(input: {id: "x", title: "B"}) { id }`:                 {"b", "there is no Post", fault.NotFound},
		`b: updateUser(input: {id: "ada", email: "ben@example.org"}) { id } a: createPost(input: {title: "A"}) { id }`: {"b", "another User has this email", fault.Conflict},
		`a: updateUser(input: {id: "ada", name: "A"}) { id } b: updateUser(input: {id: "ada", name: "B"}) { id }`:      {"b", "the transaction changes this User already", fault.BadUserInput},
	} {
		body := s.run(t, ada, "mutation @transaction {"+query+"}", "")
		got := decode(t, body)
		if len(got.Errors) != 2 || !strings.HasPrefix(body, `{"data":{"`) || strings.Count(body, `":null`) != 2 {
			t.Errorf("%s: %s", query, body)
			continue
		}
		first, other := got.Errors[0], got.Errors[1]
		if fmt.Sprint(first.Path) != "["+want.path+"]" || first.Extensions.Code != want.code || !strings.Contains(first.Message, want.message) {
			t.Errorf("%s: the field to blame says %+v", query, first)
		}
		if fmt.Sprint(other.Path) != "[a]" || other.Extensions.Code != fault.Conflict || other.Message != "not carried out, because b cannot be and all were to be or none" {
			t.Errorf("%s: the other one says %+v", query, other)
		}
	}
	if s.end(t) != before {
		t.Errorf("they wrote %d times", s.end(t)-before)
	}
}

func TestATransactionHoldsChangesOfRecordsAlone(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for query, ok := range map[string]bool{
		`mutation @transaction { createPost(input: {title: "A"}) { id } __typename }`:   true,
		`mutation @transaction { __typename }`:                                          true,
		`query @transaction { greeting }`:                                               false,
		`subscription @transaction { postChanged { id } }`:                              false,
		`mutation { createPost(input: {title: "A"}) @transaction { id } }`:              false,
		`mutation @transaction @transaction { createPost(input: {title: "A"}) { id } }`: false,
	} {
		got := decode(t, s.run(t, ada, query, ""))
		if ok != (len(got.Errors) == 0) || !ok && got.Errors[0].Extensions.Code != fault.ValidationFailed {
			t.Errorf("%s: %+v", query, got)
		}
	}
	many := `mutation @transaction { ` + strings.Repeat(`createFollow(input: {followeeId: "ben"}) { id } `, 1)
	for i := range 20 {
		many += fmt.Sprintf(`p%d: createPost(input: {title: "A"}) { id } `, i)
	}
	if got := decode(t, s.run(t, ada, many+"}", "")); len(got.Errors) != 1 || !strings.Contains(got.Errors[0].Message, "21 root fields; at most 20") {
		t.Errorf("%+v", got)
	}
}

func TestWhatCannotBeTakenBackIsNoPartOfATransaction(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(letterbox + `
		type Mutation {
			shout(text: String!): Boolean
			deleteLetter(input: DeleteLetterInput!): Letter
		}`)}})
	shouted := 0
	e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: map[string]graphql.Function{
		"Mutation.shout": {Resolve: func(context.Context, graphql.Call) (any, error) { shouted++; return true, nil }}}})
	if err != nil {
		t.Fatal(err)
	}
	for query, ok := range map[string]bool{
		`mutation($no: Boolean = false) @transaction { createLetter(input: {text: "t"}) { id } shout(text: "x") @include(if: $no) }`: false,
		`mutation @transaction { ...f } fragment f on Mutation { shout(text: "x") }`:                                                 false,
		`mutation @transaction { deleteLetter(input: {id: "x"}) { id } }`:                                                            true, // declared by hand
	} {
		r := e.Execute(t.Context(), ada, graphql.Request{Query: query})
		if r.Failed == ok || !ok && !strings.Contains(string(r.Body), "shout cannot be a part of a @transaction") {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
	if shouted > 0 {
		t.Error("the function was called")
	}
}

func TestATransactionUnderOneKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	s := keeping(t, graphql.Options{Timeout: time.Second})
	store := &dying{Store: answers(t, s.Bus)}
	store.writes.Store(1) // the claim is kept, and the answer is not
	dies := s.with(t, graphql.Options{Timeout: time.Second, Answers: store})
	before := s.end(t)
	r := graphql.Request{Query: joined, Variables: json.RawMessage(`{"title":"T","more":true}`), IdempotencyKey: "k"}
	first := dies.engine.Execute(t.Context(), ada, r)
	if got := decode(t, string(first.Body)); len(got.Errors) > 0 {
		t.Fatalf("%s", first.Body)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			again := s.engine.Execute(context.WithoutCancel(t.Context()), ada, r)
			if string(again.Body) != string(first.Body) {
				t.Errorf("again %s\nfirst %s", again.Body, first.Body)
			}
		})
	}
	wg.Wait()
	if s.end(t) != before+4 {
		t.Errorf("%d changes", s.end(t)-before)
	}
	r.Variables = json.RawMessage(`{"title":"other","more":true}`)
	if other := s.engine.Execute(t.Context(), ada, r); other.Code != fault.Conflict || !strings.Contains(string(other.Body), graphql.KeyConflict) {
		t.Errorf("%s", other.Body)
	}
}

func TestATransactionIsRefusedByTheLimitsOfEveryMutation(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{}).with(t, graphql.Options{Limits: graphql.Limits{Cost: graphql.Budgets{User: 15}}})
	before := s.end(t)
	got := decode(t, s.run(t, ada, joined, `{"title":"T","more":true}`))
	if len(got.Errors) != 1 || got.Errors[0].Extensions.Code != fault.CostLimitExceeded || s.end(t) != before {
		t.Errorf("%+v", got)
	}
}
