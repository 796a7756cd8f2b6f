package soap_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	adopters "tidings/service"
	"tidings/soap"
)

const boundSDL = `
type Robot @resource @auth(requires: [ANYONE], on: [READ]) { id: ID! ownerId: ID! @owner name: String! secret: String @auth(requires: [OWNER]) }
type Query {
  reading(x: ID! = "a"): Reading @busRequest(subject: "svc.reading.{{ args.x }}")
  thing: Thing! @busRequest(subject: "svc.thing")
  lent: Robot @busRequest(subject: "svc.robot")
  wrong: Int @busRequest(subject: "svc.wrong")
  nobody: Int @busRequest(subject: "svc.nobody")
}
type Mutation { tell(x: ID!, text: String): Boolean @busPublish(subject: "told.{{ args.x }}") }
type Reading { value: Float at: DateTime unit: Unit }
enum Unit { C F }
union Thing = Reading | Name
type Name { name: String! }
`

// Services in any language take part in SOAP, too, and know nothing of it.
func TestServicesOnTheBusAnswerPartners(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	s := resourcetest.On(t, b, fstest.MapFS{"s.graphql": {Data: []byte(boundSDL)}}, resource.FeedOptions{})
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	for subject, answer := range map[string]string{
		"svc.reading.a": `{"value":21.5,"at":"2026-11-20T09:00:00+01:00","unit":"C"}`,
		"svc.reading.b": `null`,
		"svc.thing":     `{"__typename":"Name","name":"Ada"}`,
		"svc.robot":     `{"id":"r1","ownerId":"alice","name":"R","secret":"s"}`,
		"svc.wrong":     `"many"`,
	} {
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte(answer)) }); err != nil {
			t.Fatal(err)
		}
	}
	told, err := nc.SubscribeSync("told.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	services, err := adopters.New(s.Bus, s.Model)
	if err != nil {
		t.Fatal(err)
	}
	o := soap.Options{TrustTransport: true, Address: "http://localhost"}
	serveWith(t, s, o, accounts(t), graphql.Options{Services: services})
	await(t, s)
	text, err := soap.WSDL(s.Model, o, false)
	if err != nil {
		t.Fatal(err)
	}
	w, xsd := &world{Service: s, url: edge(t, s, o)}, schemaOf(t, text)
	for body, want := range map[string]string{
		`<GetReading/>`:                            `<result><value>21.5</value><at>2026-11-20T08:00:00Z</at><unit>C</unit></result>`,
		`<GetReading><x>b</x></GetReading>`:        `<GetReadingResponse></GetReadingResponse>`,
		`<GetReading><x>a.b</x></GetReading>`:      `<code>BAD_USER_INPUT</code>`,
		`<GetThing/>`:                              `<result><name><name>Ada</name></name></result>`,
		`<GetLent/>`:                               `<id>r1</id><ownerId>alice</ownerId><name>R</name><secret xsi:nil="true"/>`,
		`<GetWrong/>`:                              `<code>INTERNAL</code>`,
		`<GetNobody/>`:                             `<code>UNAVAILABLE</code>`,
		`<Tell><x>me</x><text>hello</text></Tell>`: `<result>true</result>`,
	} {
		if got := w.told(t, xsd, body); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	m, err := told.NextMsgWithContext(t.Context())
	if err != nil || m.Subject != "told.me" || string(m.Data) != `{"text":"hello","x":"me"}` {
		t.Errorf("%+v, %v", m, err)
	}
}
