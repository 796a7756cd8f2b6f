package schema_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/schema"
)

const boundFields = `
type Note @resource {
  id: ID!
  text: String
}
type Query {
  quote(symbol: String!, at: Where!): Float @busRequest(subject: "prices.{{ args.symbol }}.{{args.at.zone}}-x", timeout: 250)
}
type Mutation {
  move(by: Int! = 1): Boolean @busPublish(subject: "robots.move.{{ args.by }}", stream: "MOVES") @auth(requires: [ADMIN])
}
type Subscription {
  moved: Int @busSubscribe(subject: "robots.*.>")
}
input Where {
  zone: ID!
}
`

func TestBoundFieldsAreInTheModelAndTheirDirectivesNotInTheContract(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(boundFields)}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range m.Bindings() {
		names = append(names, b.String())
	}
	if got := strings.Join(names, " "); got != "Query.quote Mutation.move Subscription.moved" {
		t.Errorf("bound are %s", got)
	}
	quote := m.Binding("Query", "quote")
	if quote.Kind != schema.BusRequest || quote.Timeout != 250*time.Millisecond || quote.Stream != "" || quote.Place() != "schema.graphql:7:46" {
		t.Errorf("quote is %+v at %s", quote, quote.Place())
	}
	var parts []string
	for _, p := range quote.Subject.Parts {
		parts = append(parts, p.Literal+"<"+strings.Join(p.Argument, ".")+">")
	}
	if got := strings.Join(parts, " "); got != "prices.<> <symbol> .<> <at.zone> -x<>" {
		t.Errorf("the parts are %s", got)
	}
	if move := m.Binding("Mutation", "move"); move.Kind != schema.BusPublish || move.Stream != "MOVES" {
		t.Errorf("move is %+v", move)
	}
	if moved := m.Binding("Subscription", "moved"); moved.Kind != schema.BusSubscribe || m.Binding("Query", "note") != nil {
		t.Errorf("moved is %+v", moved)
	}
	if strings.Contains(m.SDL, "bus") {
		t.Errorf("the contract tells of the bus:\n%s", m.SDL)
	}
}

func TestABindingChangesNeitherTheContractNorTheStore(t *testing.T) {
	t.Parallel()
	load := func(text string) *schema.Model {
		m, err := schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a := load(boundFields)
	b := load(strings.NewReplacer("robots.", "machines.", "prices.", "quotes.", ", timeout: 250", "").Replace(boundFields))
	if a.SDL != b.SDL || a.Fingerprint != b.Fingerprint {
		t.Error("another subject makes another contract, or another store")
	}
}

// FuzzSubject: what is taken for a template can be rendered to one subject, or
// to one with wildcards, whatever tokens stand in it.
func FuzzSubject(f *testing.F) {
	for _, text := range []string{
		"a.b", "a.{{ args.x }}.b", "a.{{args.x}}-{{args.y.z}}", "a.*.>", ">", "", ".", "a.", "$SYS.a", "{{ args.x }}", "a.{{", "a.}}", "a b", "a.{{ args.x }", "a.\x00", "a.{{ args.x }}}}",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, wildcards bool) {
		s, ok := schema.ParseSubject(text, wildcards)
		if !ok {
			return
		}
		var rendered strings.Builder
		for _, p := range s.Parts {
			if (p.Literal == "") == (p.Argument == nil) {
				t.Fatalf("%q has a part that is nothing or both", text)
			}
			rendered.WriteString(p.Literal)
			if p.Argument != nil {
				rendered.WriteString("v")
			}
		}
		tokens := strings.Split(rendered.String(), ".")
		for i, token := range tokens {
			wild := strings.ContainsAny(token, "*>")
			switch {
			case token == "", strings.ContainsAny(token, " \t\r\n{}\x00"):
				t.Fatalf("%q gives the token %q", text, token)
			case wild && (!wildcards || i == 0 || len(token) > 1 || token == ">" && i < len(tokens)-1):
				t.Fatalf("%q gives the wildcard %q", text, token)
			}
		}
		if tokens[0][0] == '$' || tokens[0][0] == '_' || !strings.HasPrefix(text, tokens[0]) {
			t.Fatalf("%q begins with %q", text, tokens[0])
		}
	})
}
