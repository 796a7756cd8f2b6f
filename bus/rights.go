package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// Rights are subjects on which somebody may publish, and to which they may subscribe,
// with wildcards, as the permissions of a NATS server list them.
type Rights struct{ Publish, Subscribe []string }

// Lacking tries which of some rights a process with these options has at its external
// server, and returns those that it has not. Nobody is disturbed: in the place of a
// wildcard stands a name that nothing has, subscriptions end at once, and what is
// published reaches nobody (see probe). The server's log names what it refuses. The
// error says that it cannot be reached, or that it does not say what it refuses.
func Lacking(ctx context.Context, o Options, want Rights) (Rights, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Rights{}, err
	}
	if o.URL == "" {
		return Rights{}, nil // an embedded server permits everything
	}
	b := &Bus{opts: o, subjects: Subjects{Prefix: o.Prefix}, log: o.Logger}
	ctx, cancel := b.bound(ctx)
	defer cancel()
	var said refusals
	closed := make(chan struct{})
	nc, err := b.connect(ctx, o.Name+" rights", nats.NoReconnect(), nats.ErrorHandler(said.note), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		return Rights{}, err
	}
	err = try(ctx, nc, want)
	nc.Close()
	<-closed // which is told after all that was refused
	if err != nil {
		return Rights{}, err
	}
	lacks := func(action string) func(string) bool {
		return func(subject string) bool { return !said.has(action, tried(subject)) }
	}
	return Rights{
		Publish:   slices.DeleteFunc(slices.Clone(want.Publish), lacks("publish on")),
		Subscribe: slices.DeleteFunc(slices.Clone(want.Subscribe), lacks("subscribe to")),
	}, nil
}

// try does what needs the rights, and waits until the server has said what it refuses.
func try(ctx context.Context, nc *nats.Conn, want Rights) error {
	if err := errors.Join(nc.PublishMsg(probe(nameless)), nc.FlushWithContext(ctx)); err != nil {
		return fmt.Errorf("try a permission: %w", unavailable(err))
	}
	if nc.LastError() == nil { // it would deliver the others
		return fmt.Errorf("a server of the version %s does not say what it refuses; try each permission by `nats pub` and `nats sub`", nc.ConnectedServerVersion())
	}
	for _, subject := range want.Publish {
		if err := nc.PublishMsg(probe(tried(subject))); err != nil {
			return fmt.Errorf("try to publish: %w", unavailable(err))
		}
	}
	for _, subject := range want.Subscribe {
		sub, err := nc.SubscribeSync(tried(subject))
		if err == nil {
			err = sub.Unsubscribe()
		}
		if err != nil {
			return fmt.Errorf("try to subscribe: %w", unavailable(err))
		}
	}
	if err := nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("try the permissions: %w", unavailable(err))
	}
	return nil
}

// nameless is a name that nothing has.
const nameless = "_tried"

// tried is a subject that a right covers, on which nobody listens as a rule.
func tried(subject string) string {
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		if token == "*" || token == ">" {
			tokens[i] = nameless
		}
	}
	return strings.Join(tokens, ".")
}

// probe is a message that reaches nobody. A server looks first whether its client may
// publish on the subject, and refuses then, since it keeps these subjects for itself,
// the one that the answer is to come on: for either reason it is dropped. Should
// one deliver it all the same, no stream takes it that is not called so, and no API of
// JetStream does what it asks for, since that needs a later version than there are.
func probe(subject string) *nats.Msg {
	m := &nats.Msg{Subject: subject, Reply: "_R_." + nameless, Header: nats.Header{}, Data: []byte(`{"filter":"` + nameless + `"}`)}
	m.Header.Set("Nats-Expected-Stream", nameless)
	m.Header.Set("Nats-Required-Api-Level", "1000000")
	return m
}

// refusals are what a server has refused. The zero value is ready.
type refusals struct {
	mu   sync.Mutex
	list []string
}

func (r *refusals) note(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	action, subject := refusedSubject(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, action+" "+subject)
}

func (r *refusals) has(action, subject string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.list, action+" "+subject)
}
