package main

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Who asks somebody for something names the subject of the answer, and no
// permission of NATS holds for it. So whoever answers an api must not be made to
// write into the log, to tell others of changes, or to purge and delete.
func TestNobodyWritesForAnAPIWhatItMayNot(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	g.worker(t, t.TempDir())
	api, victim, worker := g.connect(t, "api"), g.connect(t, "api"), g.connect(t, "worker")
	before := g.logState(t)
	live := listenTo(t, victim, "tidings.live.>")
	inner := listenTo(t, worker, "tidings.live.>")

	// What the api may store, and others may read to where the api says.
	m := &nats.Msg{Subject: "$KV.tidings-revoked.evil", Data: []byte(`{"id":"evil","name":"Evil","email":"evil@example.org"}`), Header: nats.Header{
		"Tidings-Kind": {"CREATED"}, "Nats-Stream": {"tidings-log"}, "Nats-Subject": {"tidings.log.User.evil"}, "Nats-Sequence": {fmt.Sprint(before.Last + 1)}}}
	ask(t, api, m)
	ask(t, api, &nats.Msg{Subject: "$KV.tidings-revoked.empty"})
	creation := `{"stream_name":"KV_tidings-revoked","action":"create","config":{"name":%q,"deliver_policy":"all","ack_policy":"none","filter_subject":"$KV.tidings-revoked.>"%s}}`
	create := func(name, more string) {
		ask(t, api, &nats.Msg{Subject: "$JS.API.CONSUMER.CREATE.KV_tidings-revoked." + name + ".$KV.tidings-revoked.>", Data: fmt.Appendf(nil, creation, name, more)})
	}
	create("pulled", "")
	own := listenTo(t, api, "tidings.ctl.events.mine")
	for i, target := range []string{"tidings.log.User.evil", "tidings.live.User.evil", "$JS.API.STREAM.PURGE.tidings-log", "$JS.API.STREAM.DELETE.tidings-log", "$JS.API.STREAM.DELETE.KV_tidings-revoked",
		"$O.tidings-views.M.evil", "$KV.tidings-erased.progress", "tidings.jobs.evil"} {
		for _, key := range []string{"evil", "empty"} {
			publish(t, api, &nats.Msg{Subject: "$JS.API.DIRECT.GET.KV_tidings-revoked.$KV.tidings-revoked." + key, Reply: target})
		}
		publish(t, api, &nats.Msg{Subject: "$JS.API.CONSUMER.MSG.NEXT.KV_tidings-revoked.pulled", Reply: target, Data: []byte("1")})
		publish(t, api, &nats.Msg{Subject: "$JS.API.STREAM.INFO.tidings-log", Reply: target})
		publish(t, api, &nats.Msg{Subject: "tidings.cmd.User.create", Reply: target, Data: []byte("{}")})
		create(fmt.Sprint("pushed", i), fmt.Sprintf(`,"deliver_subject":%q`, target))
		// Its own question, which allow_responses would let it answer anywhere.
		publish(t, api, &nats.Msg{Subject: "tidings.ctl.events.mine", Reply: target})
		if _, err := own.NextMsg(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		publish(t, api, &nats.Msg{Subject: target, Header: m.Header, Data: m.Data})
	}
	// Whatever those have brought about was there before the answers to these.
	ask(t, api, &nats.Msg{Subject: "tidings.cmd.User.create", Data: []byte("{}")})
	ask(t, api, &nats.Msg{Subject: "$JS.API.DIRECT.GET.KV_tidings-revoked.$KV.tidings-revoked.evil"})
	if after := g.logState(t); after != before {
		t.Errorf("the log was %+v and is %+v", before, after)
	}
	for name, sub := range map[string]*nats.Subscription{"an api": live, "a worker": inner} {
		for {
			m, err := sub.NextMsg(100 * time.Millisecond)
			if err != nil {
				break
			}
			// Of what reaches an api nothing passes for a change: it is on another
			// subject than that of the change, or says that it comes from a bucket.
			if from := m.Header["Nats-Stream"]; m.Subject == "tidings.live.User.evil" && len(from) > 0 && from[len(from)-1] == "tidings-log" {
				t.Errorf("%s was told of a change: %s %v", name, m.Subject, m.Header)
			}
		}
	}
}

// What processes tell one another comes once, to those of their own account and
// of the other one.
func TestWhatProcessesTellOneAnotherComesOnce(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	roles := []string{"api", "api", "worker", "worker"}
	conns, usage, revoked := make([]*nats.Conn, len(roles)), make([]*nats.Subscription, len(roles)), make([]*nats.Subscription, len(roles))
	for i, role := range roles {
		conns[i] = g.connect(t, role)
		usage[i], revoked[i] = listenTo(t, conns[i], "tidings.ctl.usage"), listenTo(t, conns[i], "$KV.tidings-revoked.>")
	}
	for i, nc := range conns {
		publish(t, nc, &nats.Msg{Subject: "tidings.ctl.usage", Data: fmt.Append(nil, i)})
		ask(t, nc, &nats.Msg{Subject: fmt.Sprint("$KV.tidings-revoked.", i), Data: fmt.Append(nil, i)})
	}
	for i := range roles {
		for what, sub := range map[string]*nats.Subscription{"usage": usage[i], "revocations": revoked[i]} {
			heard := map[string]int{}
			for range roles {
				m, err := sub.NextMsg(10 * time.Second)
				if err != nil {
					t.Fatalf("%s %d of %s: %v after %v", roles[i], i, what, err, heard)
				}
				heard[string(m.Data)]++
			}
			if m, err := sub.NextMsg(50 * time.Millisecond); err == nil || len(heard) != len(roles) {
				t.Errorf("%s %d heard of %s %v, and %v", roles[i], i, what, heard, m)
			}
		}
	}
}

// A command that nobody takes is said to be so at once, across the accounts, too.
func TestAnAPIIsToldThatThereAreNoWorkers(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	if _, err := g.connect(t, "api").Request("tidings.cmd.User.create", nil, 10*time.Second); err != nats.ErrNoResponders {
		t.Error(err)
	}
}

type logState struct {
	Messages uint64 `json:"messages"`
	Last     uint64 `json:"last_seq"`
}

func (g *guarded) logState(t *testing.T) logState {
	t.Helper()
	resp, err := g.connect(t, "admin").Request("$JS.API.STREAM.INFO.tidings-log", nil, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		State logState `json:"state"`
	}
	if err := json.Unmarshal(resp.Data, &info); err != nil {
		t.Fatal(err)
	}
	return info.State
}

func listenTo(t *testing.T, nc *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func ask(t *testing.T, nc *nats.Conn, m *nats.Msg) {
	t.Helper()
	if _, err := nc.RequestMsg(m, 10*time.Second); err != nil {
		t.Fatal(m.Subject, err)
	}
}

func publish(t *testing.T, nc *nats.Conn, m *nats.Msg) {
	t.Helper()
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}
