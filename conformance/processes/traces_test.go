//go:build conformance

package processes

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/internal/trace"
	"tidings/internal/trace/tracetest"
)

// The traces of the W3C that a client of the tests has begun.
const (
	writing  = "0af7651916cd43dd8448eb211c80319c"
	watching = "4bf92f3577b34da6a3ce929d0e0e4736"
	calling  = "11111111111111112222222222222222"
	clientID = "b7ad6b7169203331" // the client's span in each of them
)

func parent(trace string) string { return "00-" + trace + "-" + clientID + "-01" }

// A mutation at one api, which a worker carries out, is one trace, and what a
// subscriber at the other api hears of it refers there. The receiver is a real
// one, and so is everything on the way.
func TestATraceGoesThroughAllProcesses(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	c := startCluster(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL, "OTEL_BSP_SCHEDULE_DELAY=20", "TIDINGS_TRACE_SAMPLE=0")
	one, two := c.apis[0], c.apis[1]
	ada, bob := token(t, c.data, "ada", "USER"), token(t, c.data, "bob", "USER")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	what := userChanges
	what.Extensions = map[string]any{"traceparent": parent(watching)}
	socket, err := dialSocket(ctx, two.url, anybody, what)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.close()
	r.Wait(t, func(all []tracetest.Span) bool { return named(all, watching, "subscription") != nil })

	// What nobody asked to be recorded is not, and leaves nothing in the log.
	if _, err := post(ctx, one.url, bob, createUser("Bob", "bob@example.org")); err != nil {
		t.Fatal(err)
	}
	expect(t, socket, "CREATED", "bob", "Bob")

	tracedPost(t, one.url, ada, parent(writing), createUser("Ada", "ada@example.org"))
	expect(t, socket, "CREATED", "ada", "Ada")
	all := r.Wait(t, func(all []tracetest.Span) bool {
		return named(all, writing, "POST /graphql") != nil && delivery(all) != nil && named(all, writing, "process tidings.cmd.User.create") != nil
	})
	chain := spansOfThePage(t)
	above := clientID
	for _, want := range chain {
		s := named(all, writing, want.name)
		if s == nil || s.Parent != above || s.Kind != want.kind || s.Resource["service.name"] != want.service || s.Error {
			t.Fatalf("want %+v below %s in\n%s", want, above, tracetest.Show(all))
		}
		above = s.ID
	}
	d := delivery(all)
	begun := named(all, watching, "subscription")
	if d.Parent != "" || d.Trace == writing || d.Kind != "CONSUMER" || d.Resource["service.name"] != "tidings-api" ||
		!slices.Equal(d.Links, []tracetest.Link{{Trace: writing, ID: above}, {Trace: watching, ID: begun.ID}}) {
		t.Errorf("want links to %s and %s in\n%s", above, begun.ID, tracetest.Show(all))
	}
	if d.Attributes[trace.OperationType] != "subscription" || d.Attributes[trace.Subscribers] != "1" || d.Attributes[trace.Change] != "CREATED" {
		t.Errorf("the delivery has %v", d.Attributes)
	}
	if begun.Parent != clientID || begun.End.Sub(begun.Begin) > 30*time.Second {
		t.Errorf("the beginning of the subscription is %+v", begun)
	}
	m := named(all, writing, "mutation")
	if m.Attributes[trace.OperationType] != "mutation" || m.Attributes[trace.Document] != "" {
		t.Errorf("the mutation has %v", m.Attributes)
	}
	if h := named(all, writing, "POST /graphql"); h.Attributes[trace.Route] != "/graphql" || h.Attributes[trace.Method] != "POST" || h.Attributes[trace.Status] != "200" {
		t.Errorf("the request has %v", h.Attributes)
	}
	for _, s := range all {
		if s.Trace != writing && s.Trace != watching && s.Trace != d.Trace {
			t.Errorf("nobody asked for this: %s", tracetest.Show([]tracetest.Span{s}))
		}
		for key, value := range s.Attributes {
			if strings.Contains(value, "example.org") || strings.Contains(value, ada) {
				t.Errorf("%s tells of the caller by %s: %s", s.Name, key, value)
			}
		}
	}
	for _, m := range c.readStored(t, "tidings.log.User.*") {
		if (m.Trace != "") != strings.HasSuffix(m.Subject, ".ada") {
			t.Errorf("%s is of the trace %q", m.Subject, m.Trace)
		}
	}
}

type wantedSpan struct{ name, kind, service string }

// spansOfThePage are those of the picture in docs/telemetry.md, each below the one
// before it.
func spansOfThePage(t *testing.T) (chain []wantedSpan) {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^[ └]*(\S.*?) {2,}(SERVER|PRODUCER|CONSUMER) +(api|worker)\b`)
	for _, m := range line.FindAllStringSubmatch(string(page), -1) {
		chain = append(chain, wantedSpan{m[1], m[2], "tidings-" + m[3]})
	}
	if len(chain) != 5 {
		t.Fatalf("the picture has %v", chain)
	}
	return chain
}

// A SOAP call goes the same way, by an envelope.
func TestATraceOfSOAPGoesThroughTheWorker(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	c := startCluster(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL, "OTEL_BSP_SCHEDULE_DELAY=20", "TIDINGS_TRACE_SAMPLE=0")
	a := c.apis[0]
	p := readPartner(t, a)
	body := envelope(namespace(t, a.url), p, "CreateUser", `<t:input><t:name>Partner</t:name><t:email>partner@example.org</t:email></t:input>`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+"/v1/SocialService", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	req.Header.Set("traceparent", parent(calling))
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", resp, err)
	}
	resp.Body.Close()
	chain := []string{"POST /v1/SocialService", "request tidings.soap.v1.SocialService", "process tidings.soap.v1.SocialService", "SocialService/CreateUser", "mutation", "publish tidings.log.User.{id}"}
	all := r.Wait(t, func(all []tracetest.Span) bool {
		return !slices.ContainsFunc(chain, func(name string) bool { return named(all, calling, name) == nil })
	})
	above := clientID
	for _, name := range chain {
		s := named(all, calling, name)
		if s.Parent != above {
			t.Fatalf("want %s below %s in\n%s", name, above, tracetest.Show(all))
		}
		for key, value := range s.Attributes {
			if strings.Contains(value, p.password) || strings.Contains(value, "example.org") {
				t.Errorf("%s tells of the caller by %s: %s", s.Name, key, value)
			}
		}
		above = s.ID
	}
	if s := named(all, calling, "SocialService/CreateUser"); s.Attributes[trace.RPCSystem] != "soap" || s.Attributes[trace.RPCMethod] != "SocialService/CreateUser" {
		t.Errorf("the operation has %v", s.Attributes)
	}
	if s := named(all, calling, "POST /v1/SocialService"); s.Attributes[trace.Status] != "200" {
		t.Errorf("the request has %v", s.Attributes)
	}
}

// named is the span of a name in a trace; nil when it is not there.
func named(all []tracetest.Span, trace, name string) *tracetest.Span {
	i := slices.IndexFunc(all, func(s tracetest.Span) bool { return s.Trace == trace && s.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// delivery is the span of what a subscriber was told.
func delivery(all []tracetest.Span) *tracetest.Span {
	i := slices.IndexFunc(all, func(s tracetest.Span) bool { return s.Name == "process tidings.log.User.{id}" })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// tracedPost sends a request of which somebody has recorded the sending.
func tracedPost(t testing.TB, base, token, parent string, c call) {
	t.Helper()
	req, err := graphqlRequest(t.Context(), base, token, c)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("traceparent", parent)
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", resp, err)
	}
	resp.Body.Close()
}
