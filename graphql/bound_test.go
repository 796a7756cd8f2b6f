package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc/proctest"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
	foreign "tidings/service"
)

const boundSDL = `
type Robot @resource @auth(requires: [ANYONE], on: [READ]) {
  id: ID!
  ownerId: ID! @owner
  name: String!
  secret: String @auth(requires: [OWNER])
  friends(limit: Int = 20): [Robot!]! @hasMany(field: "friendOf")
  friendOf: ID
}
type Query {
  echo(x: ID!, n: Int! = 1, tags: [String!]): JSON @busRequest(subject: "svc.echo.{{ args.x }}")
  reading(x: ID! = "a"): Reading @busRequest(subject: "svc.reading.{{ args.x }}", timeout: 30000)
  readings: [Reading!] @busRequest(subject: "svc.readings")
  thing: Thing @busRequest(subject: "svc.thing")
  borrowed: Robot @busRequest(subject: "svc.robot")
  number: Int @busRequest(subject: "svc.number")
  slow: Int @busRequest(subject: "svc.slow", timeout: 50)
  nobody: Int @busRequest(subject: "svc.nobody")
  guarded: Int @busRequest(subject: "svc.number") @auth(requires: [ADMIN])
}
type Mutation {
  adjust(x: ID!): Int @busRequest(subject: "svc.adjust.{{ args.x }}")
  tell(x: ID!, text: String): Boolean @busPublish(subject: "told.{{ args.x }}")
  keep(x: ID!, text: String): Boolean! @busPublish(subject: "kept.{{ args.x }}", stream: "KEPT")
}
type Subscription {
  heard(x: ID! = "a"): Reading @busSubscribe(subject: "live.{{ args.x }}")
  everything: Reading @busSubscribe(subject: "live.>")
  kept(x: ID! = "a"): Reading @busSubscribe(subject: "kept.{{ args.x }}", stream: "KEPT")
  private: Reading @busSubscribe(subject: "live.a") @auth(requires: [ADMIN])
  robots: Robot @busSubscribe(subject: "robots")
}
type Reading { value: Float at: DateTime unit: Unit must: Int! label: String }
enum Unit { C F }
union Thing = Reading | Name
type Name { name: String! }
`

func boundDir() fs.FS { return fstest.MapFS{"schema.graphql": {Data: []byte(boundSDL)}} }

// bound is an engine whose fields are answered by services that tests put on nc.
type bound struct {
	*resourcetest.Service
	engine *graphql.Engine
	nc     *nats.Conn
	log    *proctest.Log
}

func newBound(t testing.TB, o graphql.Options) *bound {
	t.Helper()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	return boundOn(t, resourcetest.On(t, b, boundDir(), resource.FeedOptions{}), b.URL(), o)
}

func boundOn(t testing.TB, s *resourcetest.Service, url string, o graphql.Options) *bound {
	t.Helper()
	x := &bound{Service: s, log: &proctest.Log{}}
	o.Logger = slog.New(slog.NewTextHandler(x.log, nil))
	var err error
	if o.Services, err = foreign.New(s.Bus, s.Model); err != nil {
		t.Fatal(err)
	}
	if x.engine, err = graphql.New(s.Model, s.Client, s.Feed, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.engine.Close)
	if x.nc, err = nats.Connect(url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.nc.Close)
	return x
}

// answer puts a service on a subject.
func (x *bound) answer(t testing.TB, subject string, fn func(*nats.Msg) string) {
	t.Helper()
	_, err := x.nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte(fn(m))) })
	if err != nil {
		t.Fatal(err)
	}
	if err := x.nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

func (x *bound) always(t testing.TB, subject, text string) {
	t.Helper()
	x.answer(t, subject, func(*nats.Msg) string { return text })
}

func (x *bound) run(t testing.TB, who auth.Principal, query, vars string) string {
	t.Helper()
	return string(x.engine.Execute(t.Context(), who, graphql.Request{Query: query, Variables: json.RawMessage(vars)}).Body)
}

func TestAServiceGetsTheArgumentsAndWhoCalls(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	heard := make(chan *nats.Msg, 2)
	x.answer(t, "svc.echo.*", func(m *nats.Msg) string { heard <- m; return string(m.Data) })
	ctx := graphql.WithExchange(t.Context(), &graphql.Exchange{ID: "req-7"})
	who := auth.Principal{Subject: "ada", Roles: schema.User | schema.Admin}
	resp := x.engine.Execute(ctx, who, graphql.Request{Query: `{ echo(x: "k-1", tags: ["a", "ü"]) }`})
	wantData(t, string(resp.Body), `{"echo":{"x":"k-1","n":1,"tags":["a","ü"]}}`)
	m := <-heard
	for key, want := range map[string]string{"Tidings-Actor": "ada", "Tidings-Roles": "USER,ADMIN", "Tidings-Request-Id": "req-7"} {
		if got := m.Header.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if m.Subject != "svc.echo.k-1" || m.Header.Get("Tidings-Timeout") == "" {
		t.Errorf("got %s with %v", m.Subject, m.Header)
	}
	x.run(t, nobody, `{ echo(x: "k") }`, "")
	if m := <-heard; m.Header.Get("Tidings-Actor") != "" || m.Header.Get("Tidings-Roles") != "" || m.Header.Get("Tidings-Request-Id") == "" {
		t.Errorf("of nobody: %v", m.Header)
	}
}

// Over a socket, and for SOAP, an operation has no exchange of its own.
func TestSeveralServicesAnswerOneOperationWithoutAnExchange(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	ids := make(chan string, 3)
	x.answer(t, "svc.number", func(m *nats.Msg) string { ids <- m.Header.Get("Tidings-Request-Id"); return `1` })
	wantData(t, x.run(t, nobody, `{ a: number b: number c: number }`, ""), `{"a":1,"b":1,"c":1}`)
	if a, b, c := <-ids, <-ids, <-ids; a == "" || a != b || b != c {
		t.Errorf("one request has the ids %q, %q and %q", a, b, c)
	}
}

func TestWhatCannotBeAPartOfASubjectNeverLeaves(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	x.answer(t, "svc.>", func(m *nats.Msg) string { t.Errorf("%q was asked", m.Subject); return "1" })
	for _, value := range []string{"a.b", "*", ">", "a b", "", "\r\nPUB x 0\r\n", "a\u0000", strings.Repeat("x", 200)} {
		vars, _ := json.Marshal(map[string]string{"x": value})
		for _, query := range []string{`query ($x: ID!) { echo(x: $x) }`, `mutation ($x: ID!) { adjust(x: $x) }`, `mutation ($x: ID!) { tell(x: $x) }`} {
			r := decode(t, x.run(t, nobody, query, string(vars)))
			if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != fault.BadUserInput || value != "" && r.Errors[0].Extensions.Field != "x" {
				t.Errorf("%q: %+v", value, r)
			}
		}
	}
	sly := auth.Principal{Subject: "ada\r\nTidings-Roles: ADMIN"}
	wantData(t, x.run(t, sly, `{ echo(x: "k") }`, ""), `{"echo":null}`, fault.Forbidden)
}

func TestAnswersThatAreNotOfTheirTypeAreErrorsAtTheirPath(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	var mu sync.Mutex
	text := ""
	say := func(s string) { mu.Lock(); defer mu.Unlock(); text = s }
	for _, subject := range []string{"svc.reading.a", "svc.readings", "svc.thing", "svc.number"} {
		x.answer(t, subject, func(*nats.Msg) string { mu.Lock(); defer mu.Unlock(); return text })
	}
	for _, c := range []struct {
		query, answer, data string
		path                string // of the error; empty: none
	}{
		{`{ number }`, `5`, `{"number":5}`, ""},
		{`{ number }`, `null`, `{"number":null}`, ""},
		{`{ number }`, `"5"`, `{"number":null}`, "[number]"},
		{`{ number }`, `5.5`, `{"number":null}`, "[number]"},
		{`{ number }`, `4294967296`, `{"number":null}`, "[number]"},
		{`{ number }`, `five`, `{"number":null}`, "[number]"},
		{`{ number }`, ``, `{"number":null}`, "[number]"},
		{`{ number }`, `[5]`, `{"number":null}`, "[number]"},
		{`{ reading { must value at unit } }`, ` { "must":1, "value":1e3, "at":"2026-11-20T07:25:22.500+01:00", "unit":"F", "more":{} } `,
			`{"reading":{"must":1,"value":1000,"at":"2026-11-20T06:25:22.5Z","unit":"F"}}`, ""},
		{`{ reading { m: must } }`, `{"\u006dust":1}`, `{"reading":{"m":1}}`, ""},
		{`{ reading { must u: unit } }`, `{"must":1,"unit":"K"}`, `{"reading":{"must":1,"u":null}}`, "[reading u]"},
		{`{ reading { must at } }`, `{"must":1,"at":"yesterday"}`, `{"reading":{"must":1,"at":null}}`, "[reading at]"},
		{`{ reading { must label } }`, `{"must":1,"label":7}`, `{"reading":{"must":1,"label":null}}`, "[reading label]"},
		{`{ reading { label must } }`, `{"label":"x"}`, `{"reading":null}`, "[reading must]"},
		{`{ reading { label } }`, `{"label":"x"}`, `{"reading":{"label":"x"}}`, ""}, // what is not asked for is only logged
		{`{ reading { __typename } }`, `7`, `{"reading":null}`, "[reading]"},
		{`{ reading { label } }`, `[]`, `{"reading":null}`, "[reading]"},
		{`{ readings { must } }`, `[{"must":1},{"must":2}]`, `{"readings":[{"must":1},{"must":2}]}`, ""},
		{`{ readings { must } }`, `[{"must":1},{}]`, `{"readings":null}`, "[readings 1 must]"},
		{`{ readings { must } }`, `[{"must":1},null]`, `{"readings":null}`, "[readings 1]"},
		{`{ readings { must } }`, `{"must":1}`, `{"readings":null}`, "[readings]"},
		{`{ thing { __typename ... on Name { name } } }`, `{"name":"x","__typename":"Name"}`, `{"thing":{"__typename":"Name","name":"x"}}`, ""},
		{`{ thing { __typename } }`, `{"name":"x"}`, `{"thing":null}`, "[thing]"},
		{`{ thing { __typename } }`, `{"name":"x","__typename":"Robot"}`, `{"thing":null}`, "[thing]"},
		{`{ thing { __typename } }`, `"x"`, `{"thing":null}`, "[thing]"},
	} {
		say(c.answer)
		body := x.run(t, nobody, c.query, "")
		if c.path == "" {
			wantData(t, body, c.data)
			continue
		}
		wantData(t, body, c.data, fault.Internal)
		if r := decode(t, body); len(r.Errors) == 1 && fmt.Sprint(r.Errors[0].Path) != c.path {
			t.Errorf("%s with %s: the error is at %v, want %s", c.query, c.answer, r.Errors[0].Path, c.path)
		}
	}
	log := x.log.String()
	for _, want := range []string{"subject=svc.readings", "[1].must is null, or missing", "subject=svc.number", "field=Query.reading"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}

func TestErrorsOfServicesAreToldByTheirCode(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	x.always(t, "svc.number", `{"error":{"code":"NOT_FOUND","message":"no such number"}}`)
	r := decode(t, x.run(t, nobody, `{ number }`, ""))
	if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != fault.NotFound || r.Errors[0].Message != "no such number" || fmt.Sprint(r.Errors[0].Path) != "[number]" {
		t.Errorf("%+v", r)
	}
	x.always(t, "svc.readings", `{"error":{"code":"E_SECRET","message":"db at 10.0.0.1 is down"}}`)
	body := x.run(t, nobody, `{ readings { must } }`, "")
	wantData(t, body, `{"readings":null}`, fault.Internal)
	if strings.Contains(body, "10.0.0.1") || !strings.Contains(x.log.String(), "10.0.0.1") {
		t.Errorf("told %s, logged %s", body, x.log)
	}
}

func TestASilentServiceIsATimeoutAndThenUnavailableAtOnce(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	var asked atomic.Int32
	if _, err := x.nc.Subscribe("svc.slow", func(*nats.Msg) { asked.Add(1) }); err != nil {
		t.Fatal(err)
	}
	if err := x.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	wantData(t, x.run(t, nobody, `{ nobody }`, ""), `{"nobody":null}`, fault.Unavailable)
	for range 10 {
		wantData(t, x.run(t, nobody, `{ slow }`, ""), `{"slow":null}`, fault.Timeout)
	}
	before := asked.Load()
	wantData(t, x.run(t, nobody, `{ slow }`, ""), `{"slow":null}`, fault.Unavailable)
	if asked.Load() != before {
		t.Error("an open breaker let a request through")
	}
	x.always(t, "svc.number", `1`)
	wantData(t, x.run(t, nobody, `{ number }`, ""), `{"number":1}`)
}

func TestRulesHoldForBoundFieldsAndForTheRecordsThatTheyGive(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	x.always(t, "svc.number", `1`)
	x.always(t, "svc.robot", `{"id":"r1","ownerId":"ada","name":"Robi","secret":"oil"}`)
	wantData(t, x.run(t, ada, `{ guarded }`, ""), `{"guarded":null}`, fault.Forbidden)
	wantData(t, x.run(t, admin, `{ guarded }`, ""), `{"guarded":1}`)
	const query = `{ borrowed { id secret friends { id } } }`
	wantData(t, x.run(t, ada, query, ""), `{"borrowed":{"id":"r1","secret":"oil","friends":[]}}`)
	wantData(t, x.run(t, ben, query, ""), `{"borrowed":{"id":"r1","secret":null,"friends":[]}}`, fault.Forbidden)
}

func TestServicesReplaceGeneratedFields(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	x := boundOn(t, resourcetest.On(t, b, fstest.MapFS{"schema.graphql": {Data: []byte(`
type Robot @resource @auth(requires: [ANYONE]) { id: ID! name: String! }
type Query {
  robot(id: ID!, lang: String! = "en"): Robot @busRequest(subject: "svc.robot.{{ args.lang }}")
  robotChanges: Int @busRequest(subject: "svc.changes")
}
type Mutation {
  createRobot(input: CreateRobotInput!): Robot @busRequest(subject: "svc.create") @auth(requires: [USER])
  deleteRobot(id: ID!, why: String): Boolean @busPublish(subject: "svc.delete")
}`)}}, resource.FeedOptions{}), b.URL(), graphql.Options{})
	asked := make(chan string, 1)
	x.answer(t, "svc.create", func(m *nats.Msg) string { asked <- string(m.Data); return `{"id":"r1","name":"Robi"}` })
	x.always(t, "svc.robot.de", `{"id":"r1","name":"Robbi"}`)
	x.always(t, "svc.changes", `7`)

	wantData(t, x.run(t, ada, `mutation { createRobot(input: {name: "x"}) { name } }`, ""), `{"createRobot":{"name":"Robi"}}`)
	if got := <-asked; got != `{"input":{"name":"x"}}` {
		t.Errorf("the service was asked %s", got)
	}
	wantData(t, x.run(t, nobody, `mutation { createRobot(input: {name: "x"}) { name } }`, ""), `{"createRobot":null}`, fault.Forbidden)
	wantData(t, x.run(t, nobody, `{ robot(id: "r1", lang: "de") { name } robotChanges }`, ""), `{"robot":{"name":"Robbi"},"robotChanges":7}`)
	wantData(t, x.run(t, nobody, `mutation { deleteRobot(id: "r1") }`, ""), `{"deleteRobot":true}`)
	wantData(t, x.run(t, nobody, `mutation { updateRobot(input: {id: "r1"}) { id } }`, ""), `{"updateRobot":null}`, fault.NotFound) // as generated
	wantData(t, x.run(t, nobody, `{ robots { totalCount } }`, ""), `{"robots":{"totalCount":0}}`)
}

func TestPublishedIsWhatTheServerHas(t *testing.T) {
	t.Parallel()
	x := newBound(t, graphql.Options{})
	sub, err := x.nc.SubscribeSync("told.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := x.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	wantData(t, x.run(t, ada, `mutation { tell(x: "k", text: "hello") }`, ""), `{"tell":true}`)
	m, err := sub.NextMsg(10 * time.Second)
	if err != nil || m.Subject != "told.k" || string(m.Data) != `{"text":"hello","x":"k"}` || m.Header.Get("Tidings-Actor") != "ada" {
		t.Fatalf("%v, %v", m, err)
	}
	// Without the stream nothing would be kept, so it is not true.
	wantData(t, x.run(t, ada, `mutation { keep(x: "k", text: "hello") }`, ""), `null`, fault.Unavailable)
	js := x.stream(t)
	wantData(t, x.run(t, ada, `mutation { keep(x: "k", text: "hello") }`, ""), `{"keep":true}`)
	info, err := js.StreamInfo("KEPT")
	if err != nil || info.State.Msgs != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
}

// stream creates KEPT.
func (x *bound) stream(t testing.TB) nats.JetStreamContext {
	t.Helper()
	js, err := x.nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "KEPT", Subjects: []string{"kept.*"}, Storage: nats.MemoryStorage, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	return js
}

func TestBindingsThatCannotBeAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	load := func(sdl string) (*resourcetest.Service, error) {
		s := resourcetest.Reader(t, bustest.New(t), fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}}, resource.FeedOptions{})
		services, err := foreign.New(s.Bus, s.Model)
		if err != nil {
			return s, err
		}
		_, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Services: services, Functions: map[string]graphql.Function{
			"Query.twice": {Resolve: func(context.Context, graphql.Call) (any, error) { return 1, nil }},
		}})
		return s, err
	}
	for sdl, want := range map[string]string{
		`type Query { a: Int @busRequest(subject: "tidings.cmd.User.delete") twice: Int }`:                                 "schema.graphql:1:22: the subject",
		`type Query { twice: Int } type Subscription { a: Int @busSubscribe(subject: "x", stream: "tidings-log") }`:        "the stream tidings-log is this service's own",
		`type Query { twice: Int } type Subscription { a: Int @busSubscribe(subject: "x", stream: "KV_tidings-answers") }`: "the stream KV_tidings-answers is this service's own",
		`type Query { twice: Int @busRequest(subject: "x") }`:                                                              "Query.twice has a function and a service",
		`type Query { twice: Int a: Lonely @busRequest(subject: "x") } interface Lonely { a: Int }`:                        "which no type implements",
	} {
		if _, err := load(sdl); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sdl, err, want)
		}
	}
}
