package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// What the server denies is said at once, to who asked for it, with the subject.
func TestWhatTheServerDeniesIsAnErrorAndNoTimeOut(t *testing.T) {
	t.Parallel()
	s := startServer(t, `jetstream { store_dir: STORE }
authorization { users: [
  { user: admin, password: p }
  { user: guest, password: p, permissions: {
      publish { allow: ["$JS.API.STREAM.INFO.*"] }, subscribe { allow: ["_INBOX.>", "$SRV.>"] } } }
  { user: reader, password: p, permissions: {
      publish { allow: ["$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.CREATE.>"] }, subscribe { allow: ["_INBOX.>", "tidings.live.>"] } } }
] }`)
	open := func(user string) *bus.Bus {
		return bustest.Open(t, bus.Options{URL: s.ClientURL(), CallTimeout: time.Minute, Access: bus.Access{User: user, Password: "p"}})
	}
	admin := open("admin")
	last := mustAppend(t, admin, bus.Entry{Subject: admin.Subjects().Record("User", "1"), Data: []byte("x")})
	record := admin.Subjects().Record("User", "2")
	nothing := func(bus.Message) error { return nil }
	for name, try := range map[string]func(ctx context.Context, guest *bus.Bus) error{
		"tidings.log.User.2": func(ctx context.Context, guest *bus.Bus) error {
			_, err := guest.Append(ctx, bus.Entry{Subject: record})
			return err
		},
		"tidings.log._unique": func(ctx context.Context, guest *bus.Bus) error {
			_, err := guest.Append(ctx, bus.Entry{Subject: guest.Subjects().Unique("User", "email", "h")}, bus.Entry{Subject: guest.Subjects().Unique("User", "email", "i")})
			return err
		},
		"$JS.API.DIRECT.GET.tidings-log.tidings.log": func(ctx context.Context, guest *bus.Bus) error { _, err := guest.Last(ctx, record); return err },
		"$JS.API.DIRECT.GET.tidings-log": func(ctx context.Context, guest *bus.Bus) error {
			_, err := guest.Read(ctx, guest.Subjects().Records("User"), 0, last, nothing)
			return err
		},
		"$JS.API.CONSUMER.CREATE": func(ctx context.Context, guest *bus.Bus) error {
			return guest.Latest(ctx, guest.Subjects().EveryRecord(), last, nothing)
		},
		"$JS.API.CONSUMER.MSG.NEXT": func(ctx context.Context, guest *bus.Bus) error {
			return guest.Latest(ctx, guest.Subjects().EveryRecord(), last, nothing)
		},
		"tidings.cmd.User.create": func(ctx context.Context, guest *bus.Bus) error {
			_, err := guest.Call(ctx, "tidings.cmd.User.create", nil, nil)
			return err
		},
		"tidings.live": func(ctx context.Context, guest *bus.Bus) error { return guest.Follow(ctx, 0, nothing) },
		"tidings.cmd.User.update": func(ctx context.Context, guest *bus.Bus) error {
			return guest.Serve(ctx, bus.Service{Name: "s", Endpoints: []bus.Endpoint{{Name: "e", Subject: "tidings.cmd.User.update", Handle: func(context.Context, bus.Message) ([]byte, bus.Header, error) { return nil, nil, nil }}}})
		},
		"weather": func(ctx context.Context, guest *bus.Bus) error {
			return guest.Hear(ctx, "weather", nil, func(bus.Message) {}, nil)
		},
		"$JS.API.STREAM.CREATE.KV_tidings-b": func(ctx context.Context, guest *bus.Bus) error {
			_, err := guest.Bucket(ctx, bus.BucketOptions{Name: "b"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			user := "guest"
			if strings.Contains(name, "NEXT") {
				user = "reader"
			}
			err := try(ctx, open(user))
			if !errors.Is(err, bus.ErrDenied) || !strings.Contains(err.Error(), name) || ctx.Err() != nil || !errors.Is(err, bus.ErrNotSetUp) && !fault.Is(err, fault.Unavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Who may write one key of a bucket cannot purge the others by a header.
func TestABucketTakesNoRollup(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	k, err := b.Bucket(t.Context(), bus.BucketOptions{Name: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Put(t.Context(), "a", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg("$KV.tidings-kept.b")
	m.Header.Set("Nats-Rollup", "all")
	resp, err := bus.Conn(b).RequestMsgWithContext(t.Context(), m)
	if err != nil || !strings.Contains(string(resp.Data), "rollup") {
		t.Errorf("%s, %v", resp.Data, err)
	}
	if value, _, err := k.Get(t.Context(), "a"); err != nil || string(value) != "1" {
		t.Errorf("%q, %v", value, err)
	}
}
