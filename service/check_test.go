package service_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/bus"
	"tidings/schema"
	"tidings/service"
)

// bound is a schema with one field of each sort, bound to a subject and a stream.
func bound(subject, stream string) (*schema.Model, error) {
	subject = strconv.QuoteToASCII(subject)
	sdl := fmt.Sprintf(`type Query { q(s: String!): Int @busRequest(subject: %[1]s) }
type Mutation { m(s: String!): Boolean @busPublish(subject: %[1]s, stream: %[2]q) }
type Subscription { e(s: String!): Int @busSubscribe(subject: %[1]s, stream: %[2]q) }`, subject, stream)
	return schema.Load(fstest.MapFS{"schema.graphql": {Data: []byte(sdl)}})
}

func TestNoFieldReachesWhatIsTheServicesOwn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		own             bus.Subjects
		subject, stream string
		refused         string // empty: it is taken
	}{
		{bus.Subjects{Prefix: "tidings"}, "tidings.log.User.x", "S", `schema.graphql:1:34: the subject "tidings.log.User.x" is one of this service's own; choose one that does not begin with tidings., or run the service with another --prefix`},
		{bus.Subjects{Prefix: "tidings"}, "tidings.ctl.order.{{ args.s }}", "S", "one of this service's own"},
		{bus.Subjects{Prefix: "tidings"}, "tidings", "S", "one of this service's own"},
		{bus.Subjects{Prefix: "acme"}, "acme.log.{{ args.s }}", "S", "begin with acme."},
		{bus.Subjects{Prefix: "acme"}, "tidings.log.{{ args.s }}", "S", ""}, // another service's, whose permissions hold
		{bus.Subjects{Prefix: "acme", Inbox: "replies.api"}, "replies.{{ args.s }}.x", "S", "(replies.api.>, --nats-inbox)"},
		{bus.Subjects{Prefix: "acme", Inbox: "replies.api"}, "replies.worker.{{ args.s }}", "S", ""},
		{bus.Subjects{Prefix: "tidings"}, "orders.{{ args.s }}", "tidings-log", "the stream tidings-log is this service's own, as are all that begin with tidings-, KV_tidings- or OBJ_tidings-; name one of yours"},
		{bus.Subjects{Prefix: "tidings"}, "orders.{{ args.s }}", "OBJ_tidings-views", "the stream OBJ_tidings-views"},
		{bus.Subjects{Prefix: "tidings"}, "orders.tidings.{{ args.s }}", "ORDERS", ""},
	} {
		m, err := bound(test.subject, test.stream)
		if err != nil {
			t.Fatal(err)
		}
		err = service.Check(m, test.own)
		if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
			t.Errorf("%s of %s: %v", test.subject, test.stream, err)
		}
	}
}

// FuzzReach: whatever an adopter writes into a schema, and whatever a caller sends
// for it, what is sent goes to nothing that is the service's or the server's.
func FuzzReach(f *testing.F) {
	for _, subject := range []string{"a.{{ args.s }}", "{{ args.s }}.log", "ti{{ args.s }}.log", "tidings.{{ args.s }}", "$JS.{{ args.s }}", "_R_.{{ args.s }}", "replies.{{ args.s }}.x", "replies.api{{ args.s }}.x", "a.*.>", "*.log"} {
		for _, value := range []string{"x", "", ".", "a.b", "*", ">", " ", "dings", "api", "\u200b", "\uff0e", "\u2024", "x\r\nPUB tidings.log.User.x 0\r\n", "\xff"} {
			f.Add(subject, value)
		}
	}
	own := bus.Subjects{Prefix: "tidings", Inbox: "replies.api"}
	f.Fuzz(func(t *testing.T, subject, value string) {
		m, err := bound(subject, "S")
		if err != nil || service.Check(m, own) != nil {
			return
		}
		got, err := service.Render(m.Binding("Query", "q").Subject, map[string]any{"s": value})
		if err != nil {
			return
		}
		if own.Own(got) || strings.ContainsAny(got, "*> \t\r\n\x00") || strings.Contains("."+got+".", "..") {
			t.Fatalf("%q with %q reaches %q", subject, value, got)
		}
	})
}
