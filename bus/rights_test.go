package bus_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
)

const restricted = `
jetstream { store_dir: "STORE" }
authorization { users: [
  { user: all, password: pass }
  { user: some, password: pass, permissions: {
      publish { allow: ["tidings.cmd.>", "$JS.API.STREAM.PURGE.tidings-log", "$KV.a.*", "$JS.ACK.tidings-jobs.workers.>"] }
      subscribe { allow: ["tidings.live.>", "_INBOX_x.>"] } } }
  { user: barred, password: pass, permissions: { publish { deny: ["tidings.log.>"] }, subscribe { deny: [">"] } } }
] }`

// What somebody may not do is told by its subject, and nothing comes of the trying.
func TestTheRightsThatAreLackingAreFoundWithoutATrace(t *testing.T) {
	t.Parallel()
	s := startServer(t, restricted)
	as := func(user string) bus.Options {
		return bus.Options{URL: s.ClientURL(), Access: bus.Access{User: user, Password: "pass"}}
	}
	b := bustest.Open(t, as("all"))
	if _, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("User", "a"), Data: []byte(`{"id":"a"}`)}); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(s.ClientURL(), nats.UserInfo("all", "pass"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	heard, err := nc.SubscribeSync(">")
	if err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	want := bus.Rights{
		Publish:   []string{"tidings.log.>", "tidings.cmd.>", "$JS.API.STREAM.PURGE.tidings-log", "$KV.a.*", "$KV.b.*", "$JS.ACK.tidings-jobs.workers.>", "tidings.ctl.usage"},
		Subscribe: []string{"tidings.live.>", "tidings.ctl.*", "_INBOX_x.>"},
	}
	for user, lacks := range map[string]bus.Rights{
		"all":    {},
		"some":   {Publish: []string{"tidings.log.>", "$KV.b.*", "tidings.ctl.usage"}, Subscribe: []string{"tidings.ctl.*"}},
		"barred": {Publish: []string{"tidings.log.>"}, Subscribe: want.Subscribe},
	} {
		got, err := bus.Lacking(t.Context(), as(user), want)
		if err != nil || !slices.Equal(got.Publish, lacks.Publish) || !slices.Equal(got.Subscribe, lacks.Subscribe) {
			t.Errorf("%s lacks %v, want %v, %v", user, got, lacks, err)
		}
	}
	if _, last, err := b.State(t.Context()); err != nil || last != 1 {
		t.Errorf("the log ends at %d, %v", last, err)
	}
	if u, err := b.Usage(t.Context()); err != nil || u.Messages != 1 {
		t.Errorf("the log holds %d messages, %v", u.Messages, err)
	}
	if err := nc.Publish("the.end", nil); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := heard.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject == "the.end" {
			break
		}
		if m.Header.Get("Nats-Expected-Stream") != "" {
			t.Errorf("somebody got %s", m.Subject)
		}
	}
	if _, err := bus.Lacking(t.Context(), as("nobody"), want); err == nil {
		t.Error("a user that there is not")
	}
	if got, err := bus.Lacking(t.Context(), bus.Options{}, want); err != nil || got.Publish != nil {
		t.Error(got, err)
	}
}
