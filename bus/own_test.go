package bus_test

import (
	"strings"
	"testing"

	"tidings/bus"
)

func TestWhatBelongsToTheServiceAndToTheServerIsKnown(t *testing.T) {
	t.Parallel()
	plain, chosen := bus.Subjects{Prefix: "tidings"}, bus.Subjects{Prefix: "acme", Inbox: "replies.api"}
	for _, test := range []struct {
		own     bus.Subjects
		subject string
		want    bool
	}{
		{plain, "tidings", true}, {plain, "tidings.log.User.x", true}, {plain, "tidings.ctl.order.X", true}, {plain, "tidings.*.>", true},
		{plain, "$JS.API.STREAM.PURGE.tidings-log", true}, {plain, "$KV.tidings-revoked.x", true}, {plain, "$SYS.REQ.SERVER.PING", true}, {plain, "$SRV.PING", true},
		{plain, "_INBOX.x", true}, {plain, "_INBOX_tidings_api.x", true}, {plain, "_R_.x", true}, {plain, "*.log.User.x", true}, {plain, ">", true},
		{plain, "tidingsx.log", false}, {plain, "Tidings.log", false}, {plain, "orders.tidings.log", false}, {plain, "orders.$JS", false}, {plain, "orders.>", false},
		{chosen, "acme.log.User.x", true}, {chosen, "tidings.log.User.x", false},
		{chosen, "replies.api.x", true}, {chosen, "replies.api.x.y", true}, {chosen, "replies.*.x", true}, {chosen, "replies.>", true}, {chosen, "replies.*.*", true},
		{chosen, "replies.api", false}, {chosen, "replies.*", false}, {chosen, "replies.worker.x", false}, {chosen, "replies", false},
	} {
		if got := test.own.Own(test.subject); got != test.want {
			t.Errorf("with the prefix %s, %s belongs to it: %t", test.own.Prefix, test.subject, got)
		}
	}
	for stream, want := range map[string]bool{
		"tidings-log": true, "tidings-jobs": true, "KV_tidings-answers": true, "OBJ_tidings-views": true,
		"tidings": false, "ORDERS": false, "KV_tidings": false, "KV_orders": false, "my-tidings-log": false, "": false,
	} {
		if got := plain.OwnStream(stream); got != want {
			t.Errorf("the stream %s belongs to it: %t", stream, got)
		}
	}
}

// What can be published on a filter that is not the service's own is not either.
func FuzzOwn(f *testing.F) {
	for _, seed := range [][2]string{{"a.b", "a.b"}, {"a.*", "a.b"}, {"replies.>", "replies.api.x"}, {"replies.*.x", "replies.api.x"}, {"*", "tidings"}, {"tidings.>", "tidings.log.a"}} {
		f.Add(seed[0], seed[1])
	}
	own := bus.Subjects{Prefix: "tidings", Inbox: "replies.api"}
	f.Fuzz(func(t *testing.T, filter, subject string) {
		if strings.ContainsAny(subject, "*>") || !within(filter, subject) {
			return
		}
		if own.Own(subject) && !own.Own(filter) {
			t.Fatalf("%q is the service's own, and matches %q, which is not", subject, filter)
		}
	})
}

// within reports whether a filter matches a subject.
func within(filter, subject string) bool {
	want, have := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, token := range want {
		switch {
		case token == ">":
			return i == len(want)-1 && len(have) > i
		case i >= len(have) || token != "*" && token != have[i]:
			return false
		}
	}
	return len(want) == len(have)
}
