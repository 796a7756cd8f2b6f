//go:build conformance

package processes

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/internal/trace"
	"tidings/internal/trace/tracetest"
)

const (
	asking  = "44444444444444445555555555555555"
	raising = "66666666666666667777777777777777"
	hearing = "88888888888888889999999999999999"
	readsOf = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb"
)

// A service of the adopter's is a part of the trace of who asked it, and what is
// published, by a mutation or by the service, is what a delivery at another api
// refers to. Callers' ids are in no span.
func TestATraceGoesThroughAServiceOfTheAdopters(t *testing.T) {
	t.Parallel()
	r := tracetest.New(t)
	dir, err := filepath.Abs("../../examples/telemetry")
	if err != nil {
		t.Fatal(err)
	}
	_, url := startNATS(t)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ALARMS", Subjects: []string{"alarms.*"}}); err != nil {
		t.Fatal(err)
	}
	asked := make(chan nats.Header, 8)
	_, err = nc.Subscribe("telemetry.*.status", func(m *nats.Msg) {
		asked <- m.Header
		_ = m.Respond([]byte(`{"id":"device1","running":true,"celsius":20.5,"threshold":30}`))
	})
	if err != nil || nc.Flush() != nil {
		t.Fatal("the service does not hear", err)
	}
	data := t.TempDir()
	env := []string{"TIDINGS_NATS_URL=" + url, "OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_BSP_SCHEDULE_DELAY=20", "TIDINGS_TRACE_SAMPLE=0"}
	startOn(t, "worker", data, dir, env)
	one, two := startOn(t, "api 1", data, dir, env), startOn(t, "api 2", data, dir, env)
	ada := token(t, data, "ada", "USER")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	tracedPost(t, one.url, ada, parent(asking), call{Query: `{ deviceStatus(id: "device1") { celsius } }`})
	header := <-asked
	const request = "request telemetry.{{ args.id }}.status"
	all := r.Wait(t, func(all []tracetest.Span) bool {
		return named(all, asking, "query") != nil && named(all, asking, request) != nil
	})
	s := named(all, asking, request)
	if want := "00-" + asking + "-" + s.ID + "-01"; !slices.Equal(header[trace.HeaderParent], []string{want}) {
		t.Errorf("the service got %v, want %s", header, want)
	}
	if s.Parent != named(all, asking, "query").ID || s.Kind != "PRODUCER" || s.Error {
		t.Errorf("want the request below the query in\n%s", tracetest.Show(all))
	}

	alarms, readings := follow(t, ctx, two, ada, hearing, `subscription { alarm { device } }`), follow(t, ctx, two, ada, readsOf, `subscription { reading(device: "device1") { celsius } }`)
	r.Wait(t, func(all []tracetest.Span) bool {
		return named(all, hearing, "subscription") != nil && named(all, readsOf, "subscription") != nil
	})
	tracedPost(t, one.url, ada, parent(raising), call{Query: `mutation { raiseAlarm(device: "device1", text: "hot") }`})
	if _, err := alarms.next(); err != nil {
		t.Fatal(err)
	}
	publish := func(flags string) {
		m := &nats.Msg{Subject: "telemetry.device1.reading", Data: []byte(`{"device":"device1","celsius":21,"at":"2026-01-01T00:00:00Z"}`),
			Header: nats.Header{trace.HeaderParent: {"00-" + asking + "-" + clientID + "-" + flags}}}
		if err := nc.PublishMsg(m); err != nil || nc.Flush() != nil {
			t.Fatal("publish", err)
		}
		if _, err := readings.next(); err != nil {
			t.Fatal(err)
		}
	}
	publish("00") // which is not recorded
	publish("01")

	const publishing, told, read = "publish alarms.{{ args.device }}", "process alarms.*", "process telemetry.{{ args.device }}.reading"
	all = r.Wait(t, func(all []tracetest.Span) bool {
		return named(all, raising, publishing) != nil && named(all, raising, "mutation") != nil && len(called(all, told)) > 0 && len(called(all, read)) > 0
	})
	p := named(all, raising, publishing)
	if p.Parent != named(all, raising, "mutation").ID {
		t.Errorf("want %s below the mutation in\n%s", publishing, tracetest.Show(all))
	}
	for name, want := range map[string][]tracetest.Link{
		told: {{Trace: raising, ID: p.ID}, {Trace: hearing, ID: named(all, hearing, "subscription").ID}},
		read: {{Trace: asking, ID: clientID}, {Trace: readsOf, ID: named(all, readsOf, "subscription").ID}},
	} {
		list := called(all, name)
		if len(list) != 1 || list[0].Parent != "" || list[0].Kind != "CONSUMER" || list[0].Attributes[trace.Subscribers] != "1" || !slices.Equal(list[0].Links, want) {
			t.Errorf("want one %s with %v in\n%s", name, want, tracetest.Show(all))
		}
	}
	if text := tracetest.Show(all); strings.Contains(text, "device1") {
		t.Errorf("the spans tell what callers chose:\n%s", text)
	}
}

// startOn starts a program with a schema of its own.
func startOn(t testing.TB, name, data, schema string, env []string) *api {
	t.Helper()
	admin := freePort(t)
	a := &api{}
	args := []string{"--dev", "--schema", schema, "--data", data, "--admin", admin}
	if !strings.HasPrefix(name, "worker") {
		listen := freePort(t)
		a.url = "http://" + listen
		args = append(args, "--listen", listen)
	}
	a.process = start(t, &process{name: name, ready: "http://" + admin + "/readyz", args: args, env: env})
	return a
}

// follow subscribes in a trace that is recorded.
func follow(t testing.TB, ctx context.Context, a *api, token, in, query string) stream {
	t.Helper()
	s, err := dialSocket(ctx, a.url, token, call{Query: query, Extensions: map[string]any{"traceparent": parent(in)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	if err := s.(*socket).stands(); err != nil {
		t.Fatal(err)
	}
	return s
}

// called are the spans of a name, of all traces.
func called(all []tracetest.Span, name string) []tracetest.Span {
	return slices.DeleteFunc(slices.Clone(all), func(s tracetest.Span) bool { return s.Name != name })
}
