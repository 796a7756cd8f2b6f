package main

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A look reaches the processes of both accounts, and the reports reach those who
// look; an order reaches one api.
func TestWhatConsolesSayReachesWhomItIsFor(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	looks, asked := g.connect(t, "api"), g.connect(t, "api")
	worker := g.connect(t, "worker")
	reports := listenTo(t, looks, "tidings.ctl.report")
	for i, nc := range []*nats.Conn{asked, worker} {
		heard := listenTo(t, nc, "tidings.ctl.look")
		publish(t, looks, &nats.Msg{Subject: "tidings.ctl.look", Data: fmt.Append(nil, i)})
		if m, err := heard.NextMsg(10 * time.Second); err != nil || string(m.Data) != fmt.Sprint(i) {
			t.Fatalf("process %d does not hear who looks: %v", i, err)
		}
		if m, err := heard.NextMsg(50 * time.Millisecond); err == nil {
			t.Errorf("process %d heard %s too", i, m.Data)
		}
		publish(t, nc, &nats.Msg{Subject: "tidings.ctl.report", Data: fmt.Append(nil, i)})
		if m, err := reports.NextMsg(10 * time.Second); err != nil || string(m.Data) != fmt.Sprint(i) {
			t.Errorf("the report of process %d does not arrive: %v", i, err)
		}
	}
	obeys := listenTo(t, asked, "tidings.ctl.order.X")
	publish(t, looks, &nats.Msg{Subject: "tidings.ctl.order.X", Reply: looks.NewInbox()})
	if _, err := obeys.NextMsg(10 * time.Second); err != nil {
		t.Error("an order does not arrive:", err)
	}
}
