package resource_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// patientClient is a client in a process of its own, which waits for workers.
func patientClient(t *testing.T) (s *resourcetest.Service, server *bus.Bus) {
	t.Helper()
	server = bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	s = resourcetest.Reader(t, bustest.Open(t, bus.Options{URL: server.URL(), Memory: true}), socialDir, resource.FeedOptions{})
	s.Client.Persist(&bus.Patience{For: 30 * time.Second})
	return s, server
}

func TestCommandsWaitForAWorker(t *testing.T) {
	t.Parallel()
	s, server := patientClient(t)
	var wg sync.WaitGroup
	wg.Go(func() { submit(t, s, createUser("alice")) })
	wg.Go(func() {
		_, err := s.Client.Transact(t.Context(), resource.Transaction{Who: admin, Changes: []resource.Change{
			{Type: "User", Verb: resource.Create, Input: json.RawMessage(`{"id":"bob","name":"Bob","email":"bob@example.com"}`)}}})
		if err != nil {
			t.Error(err)
		}
	})
	resourcetest.Run(t, "worker", resource.NewWorker(server, s.Model, resource.WorkerOptions{}).Run)
	wg.Wait()
	if got := len(messagesOf(t, server, "alice")) + len(messagesOf(t, server, "bob")); got != 2 {
		t.Errorf("%d messages in the log", got)
	}
}

// A worker carries a command out and dies before it answers. The next one finds it
// in the log, whatever the command is.
func TestWhatAWorkerDidBeforeItDiedIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	s, server := patientClient(t)
	w := resource.NewWorker(server, s.Model, resource.WorkerOptions{})
	dying, die := context.WithCancel(t.Context())
	defer die()
	carried, over := make(chan struct{}), make(chan struct{})
	served := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		served <- server.Serve(dying, bus.Service{Name: "dying", Started: func() { close(started) }, Endpoints: []bus.Endpoint{{
			Name: "create", Subject: server.Subjects().Command("Post", "create"),
			Handle: func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
				var q struct {
					ID    string
					Input json.RawMessage
					Once  *resource.Once
				}
				if err := json.Unmarshal(m.Data, &q); err != nil {
					return nil, nil, err
				}
				if _, err := w.Carry(ctx, resource.Command{Type: "Post", Verb: resource.Create, Who: alice, ID: q.ID, Input: q.Input, Once: q.Once}); err != nil {
					t.Error(err)
				}
				close(carried)
				<-over
				return nil, nil, nil
			},
		}}})
	}()
	<-started
	var wg sync.WaitGroup
	wg.Go(func() {
		r := submit(t, s, resource.Command{Type: "Post", Verb: resource.Create, Who: alice, Input: json.RawMessage(`{"title":"once"}`)})
		if r.Seq == 0 {
			t.Error("no answer")
		}
	})
	<-carried
	die()
	resourcetest.Run(t, "worker", w.Run)
	wg.Wait()
	close(over)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got := len(messages(t, server)); got != 1 {
		t.Errorf("%d messages in the log", got)
	}
}
