package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
)

// A question that went to a leader which has crashed has no answer. Whoever
// leads then is asked, long before the caller's time is over.
func TestAQuestionWithoutAnAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{})
	asked := 0
	if _, err := bus.Conn(b).Subscribe("who.leads", func(m *nats.Msg) {
		if asked++; asked > 2 {
			_ = m.Respond([]byte("I do")) // else the test fails
		}
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if m, err := bus.Question(ctx, b, "who.leads"); err != nil || string(m.Data) != "I do" {
		t.Errorf("the answer is %v (%v)", m, err)
	}
}

// A leader that takes longer than the pause between questions is heard.
func TestASlowLeaderIsHeard(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{})
	questions := make(chan *nats.Msg, 100)
	if _, err := bus.Conn(b).Subscribe("who.leads", func(m *nats.Msg) { questions <- m }); err != nil {
		t.Fatal(err)
	}
	go func() {
		<-questions
		second := <-questions
		<-questions
		_ = second.Respond([]byte("I do")) // else the test fails
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if m, err := bus.Question(ctx, b, "who.leads"); err != nil || string(m.Data) != "I do" {
		t.Errorf("the answer is %v (%v)", m, err)
	}
}

func TestAQuestionEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{})
	if _, err := bus.Conn(b).Subscribe("who.leads", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if _, err := bus.Question(ctx, b, "who.leads"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a question that nobody answers ends with %v", err)
	}
	if _, err := bus.Question(t.Context(), b, "nobody.there"); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a question that nobody hears ends with %v", err)
	}
}
