package graphql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
)

func nest(open string, depth int, leaf, shut string) string {
	return strings.Repeat(open, depth) + leaf + strings.Repeat(shut, depth)
}

// bombs are documents that cost other servers seconds and gigabytes.
func bombs() map[string]struct {
	query string
	code  fault.Code
} {
	type bomb = struct {
		query string
		code  fault.Code
	}
	var spreads, chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&spreads, "fragment F%d on User { a: followers { ...F%d } b: followers { ...F%d } } ", i, i+1, i+1)
		fmt.Fprintf(&chain, "fragment C%d on User { ...C%d ...C%d } ", i, i+1, i+1)
	}
	return map[string]bomb{
		"depth":            {`{user(id:"a")` + nest("{followers", 10, "{id}", "}") + `}`, fault.DepthLimitExceeded},
		"depth in a chain": {`{user(id:"a"){...D0}} ` + depthChain(12), fault.DepthLimitExceeded},
		"far too deep":     {`{user(id:"a")` + nest("{followers", 3000, "{id}", "}") + `}`, fault.DepthLimitExceeded},
		"meta depth":       {`{__schema{types` + nest("{ofType", 30, "{name}", "}") + `}}`, fault.DepthLimitExceeded},
		"aliases":          {`{` + repeat(31, func(i int) string { return fmt.Sprintf("a%d:__typename ", i) }) + `}`, fault.ValidationFailed},
		"roots":            {`{` + strings.Repeat(`__typename `, 21) + `}`, fault.ValidationFailed},
		"repeated fields":  {`{user(id:"a"){` + strings.Repeat("id ", 101) + `}}`, fault.ValidationFailed},
		"repeated deep":    {`{user(id:"a"){` + strings.Repeat("followers{id}", 3000) + `}}`, fault.ValidationFailed},
		"tokens":           {`{user(id:"a"){` + strings.Repeat("id ", 15000) + `}}`, fault.ParseFailed},
		"comments":         {strings.Repeat("#\n", 20000) + `{__typename}`, fault.ParseFailed},
		"spreads":          {`{user(id:"a"){...F0}} ` + spreads.String() + `fragment F60 on User {id}`, fault.DepthLimitExceeded},
		"chain":            {`{user(id:"a"){...C0}} ` + chain.String() + `fragment C60 on User {id}`, fault.ValidationFailed},
		"cycle":            {`{user(id:"a"){...A}} fragment A on User {...B} fragment B on User {followers{...A}}`, fault.ValidationFailed},
		"operations":       {repeat(2000, func(i int) string { return fmt.Sprintf("query Q%d{...F}", i) }) + `fragment F on Query{__typename}`, fault.ValidationFailed},
		"fragments":        {`{__typename}` + repeat(1500, func(i int) string { return fmt.Sprintf("fragment F%d on User{id}", i) }), fault.ValidationFailed},
		"unknown fields": {`{` + repeat(20, func(i int) string {
			return "user(id:1){" + repeat(90, func(j int) string { return fmt.Sprintf("nam%d ", 90*i+j) }) + "}"
		}) + `}`, fault.ValidationFailed},
		"variables":  {`query(` + repeat(3000, func(i int) string { return fmt.Sprintf("$v%d:Int ", i) }) + `){__typename}`, fault.ValidationFailed},
		"directives": {`{__typename` + strings.Repeat(" @skip(if:false)", 2000) + `}`, fault.ValidationFailed},
		"lists":      {`{user(id:` + nest("[", 7000, "1", "]") + `){id}}`, fault.ValidationFailed},
	}
}

func depthChain(n int) string {
	return repeat(n, func(i int) string { return fmt.Sprintf("fragment D%d on User {followers{...D%d}} ", i, i+1) }) +
		fmt.Sprintf("fragment D%d on User {id}", n)
}

func repeat(n int, part func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(part(i))
	}
	return b.String()
}

func TestDocumentsBeyondTheLimitsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for name, b := range bombs() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			body := s.run(t, nobody, b.query, "")
			r := decode(t, body)
			if len(r.Errors) == 0 || len(r.Errors) > 20 || r.Errors[0].Extensions.Code != b.code {
				t.Errorf("want %s, got %.500s", b.code, body)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			if len(body) > 8<<10 {
				t.Errorf("the answer has %d bytes", len(body))
			}
		})
	}
}

func TestWhatIsWithinTheLimitsPasses(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for name, query := range map[string]string{
		"depth":      `{user(id:"ada")` + nest("{followers(limit:1)", 8, "{id}", "}") + `}`,
		"aliases":    `{` + repeat(20, func(i int) string { return fmt.Sprintf("a%d:__typename ", i) }) + `}`,
		"repetition": `{user(id:"ada"){` + strings.Repeat("id ", 100) + `}}`,
		"spreads":    `{user(id:"ada"){` + strings.Repeat("...F ", 1000) + `}} fragment F on User {id}`,
	} {
		if r := decode(t, s.run(t, nobody, query, "")); len(r.Errors) > 0 {
			t.Errorf("%s: %v", name, r.Errors)
		}
	}
}

func TestManyErrorsAreToldInPart(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	r := decode(t, s.run(t, nobody, `{ fractions }`, ""))
	if list := r.Data.(map[string]any)["fractions"].([]any); len(list) != 1500 || list[1499] != 1.0 {
		t.Errorf("%d items", len(list))
	}
	if n := len(r.Errors); n != 1001 || r.Errors[1000].Message != "499 more errors are not listed" {
		t.Errorf("%d errors, the last is %v", n, r.Errors[n-1])
	}
}

func TestIntrospectionCanBeClosed(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Introspection: func(who auth.Principal) bool { return who.Roles.Has(admin.Roles) }})
	const query = `{ __type(name: "User") { name } user(id: "ada") { __typename id } }`
	wantData(t, s.run(t, ada, query, ""), `{"__type":null,"user":{"__typename":"User","id":"ada"}}`, fault.IntrospectionDisabled)
	wantData(t, s.run(t, admin, query, ""), `{"__type":{"name":"User"},"user":{"__typename":"User","id":"ada"}}`)
	wantData(t, s.run(t, nobody, `{ __schema { queryType { name } } }`, ""), `null`, fault.IntrospectionDisabled)
	if body := s.run(t, nobody, `{ user(id: "ada") { nam } }`, ""); strings.Contains(body, "Did you mean") {
		t.Errorf("the schema is told by hints: %s", body)
	}
}
