package graphql_test

import (
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

func TestAServiceIsAskedOnceUnderAKey(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	x := boundOn(t, resourcetest.On(t, b, boundDir(), resource.FeedOptions{}), b.URL(), graphql.Options{Answers: answers(t, b)})
	var asked atomic.Int64
	commands := make(chan string, 10)
	x.answer(t, "svc.adjust.*", func(m *nats.Msg) string {
		commands <- m.Header.Get("Tidings-Command")
		return string('0' + rune(asked.Add(1)))
	})
	js := x.stream(t)
	run := func(query, key string) graphql.Response {
		return x.engine.Execute(t.Context(), ada, graphql.Request{Query: query, IdempotencyKey: key})
	}
	const adjust = `mutation { adjust(x: "a") }`
	for range 3 {
		wantData(t, string(run(adjust, "k").Body), `{"adjust":1}`)
	}
	wantData(t, string(run(adjust, "").Body), `{"adjust":2}`)
	if first, second := <-commands, <-commands; first == "" || second != "" || asked.Load() != 2 {
		t.Errorf("asked %d times, as %q and %q", asked.Load(), first, second)
	}
	wantData(t, string(run(`mutation { keep(x: "a", text: "1") }`, "k2").Body), `{"keep":true}`)
	wantData(t, string(run(`mutation { keep(x: "a", text: "1") }`, "k2").Body), `{"keep":true}`)
	m, err := js.GetLastMsg("KEPT", "kept.a")
	if err != nil || m.Sequence != 1 || m.Header.Get("Nats-Msg-Id") == "" || m.Header.Get("Nats-Msg-Id") != m.Header.Get("Tidings-Command") {
		t.Errorf("%+v, %v", m, err)
	}
}
