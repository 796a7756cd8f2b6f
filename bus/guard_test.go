package bus_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestAnEmbeddedServerForOtherMachinesAsksWhoTheyAre(t *testing.T) {
	t.Parallel()
	refused(t, bus.Options{Listen: "0.0.0.0:0"}, "ask nobody who they are", "127.0.0.1")
	refused(t, bus.Options{Listen: ":0"}, "ask nobody who they are")
	refused(t, bus.Options{Listen: "127.0.0.1:0", Access: bus.Access{Creds: "x"}}, "external server")
	bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	bustest.Open(t, bus.Options{Listen: "0.0.0.0:0", Unguarded: true})
}

func TestAnEmbeddedServerTakesThoseWhoShowWhatItAsksFor(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	replaceFile(t, file, password)
	for name, c := range map[string]struct {
		access       bus.Access
		right, wrong nats.Option
	}{
		"a password":   {bus.Access{User: "ann", Password: password}, nats.UserInfo("ann", password), nats.UserInfo("ann", "wrong")},
		"a token":      {bus.Access{Token: password}, nats.Token(password), nats.Token("wrong")},
		"a token file": {bus.Access{TokenFile: file}, nats.Token(password), nats.Name("nobody")},
	} {
		b := bustest.Open(t, bus.Options{Listen: "0.0.0.0:0", Access: c.access})
		mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1"), Data: []byte("x")})
		nc, err := nats.Connect(b.URL(), c.right)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		nc.Close()
		if nc, err := nats.Connect(b.URL(), c.wrong); err == nil {
			nc.Close()
			t.Errorf("%s: a stranger is let in", name)
		}
	}
}

func TestTheCertificatesOfAnEmbeddedServerMayBeReplaced(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ours")
	cert, key := ca.issue(t, "server", "first")
	own, ownKey := ca.issue(t, "client", "a client")
	b := bustest.Open(t, bus.Options{Listen: "0.0.0.0:0", Access: bus.Access{CA: ca.ca(), Cert: cert, Key: key}})
	url := strings.Replace(b.URL(), "0.0.0.0", "127.0.0.1", 1)
	name := func() string {
		t.Helper()
		nc, err := nats.Connect(url, nats.ClientCert(own, ownKey), nats.RootCAs(ca.ca()))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		state, err := nc.TLSConnectionState()
		if err != nil {
			t.Fatal(err)
		}
		return state.PeerCertificates[0].Subject.CommonName
	}
	if got := name(); got != "first" {
		t.Errorf("the server is %q", got)
	}
	if nc, err := nats.Connect(url, nats.RootCAs(ca.ca()), nats.NoReconnect()); err == nil {
		if nc.Flush() == nil {
			t.Error("a client without a certificate is let in")
		}
		nc.Close()
	}
	ca.issue(t, "server", "second")
	if err := b.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "second" {
		t.Errorf("the server is still %q", got)
	}
	mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1"), Data: []byte("x")})
}
