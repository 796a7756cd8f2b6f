package resource_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// A command lies about on its way to a worker, is sent again to another one, and
// refused there. The caller was told so: when the first one gets it at last, and
// would have it otherwise by then, it does nothing.
func TestARefusedCommandIsNotCarriedOutLaterByWhoHadItFirst(t *testing.T) {
	t.Parallel()
	s, server := patientClient(t)
	line := newLine(t, server.URL())
	slow := resource.NewWorker(bustest.Open(t, bus.Options{URL: "nats://" + line.Addr().String(), Memory: true}), s.Model, resource.WorkerOptions{})
	running, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- slow.Run(running) }()
	<-slow.Ready()
	sent := hear(t, server, "tidings.cmd.>")
	line.held.Lock()
	refused := make(chan error, 2)
	go func() {
		_, err := s.Client.Submit(t.Context(), resource.Command{Type: "User", Verb: resource.Update, Who: admin, Input: json.RawMessage(`{"id":"alice","name":"Late"}`)})
		refused <- err
	}()
	go func() {
		_, err := s.Client.Transact(t.Context(), resource.Transaction{Who: admin, Changes: []resource.Change{
			{Type: "User", Verb: resource.Update, Input: json.RawMessage(`{"id":"alice","name":"Late"}`)}}})
		refused <- err
	}()
	<-sent
	<-sent
	var other *resource.Worker
	for range 12 { // so that what is sent again hardly ever goes to the slow one
		other = resource.NewWorker(server, s.Model, resource.WorkerOptions{})
		resourcetest.Run(t, "other", other.Run)
	}
	for range 2 {
		if err := <-refused; !fault.Is(err, fault.NotFound) {
			t.Fatalf("there is no such user, and the answer is %v", err)
		}
	}
	if _, err := other.Carry(t.Context(), createUser("alice")); err != nil {
		t.Fatal(err)
	}
	line.held.Unlock()
	stop() // it finishes what it has got
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := messagesOf(t, server, "alice"); len(got) != 1 {
		t.Errorf("alice has %d messages: a refused command was carried out", len(got))
	}
}

// hear gives what is published on a subject.
func hear(t *testing.T, b *bus.Bus, subject string) <-chan *nats.Msg {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	heard := make(chan *nats.Msg, 64)
	if _, err := nc.ChanSubscribe(subject, heard); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return heard
}
