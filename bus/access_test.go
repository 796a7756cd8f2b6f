package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/internal/proc/proctest"
)

const password = "open-sesame-of-the-tests"

func TestEachWayToSayWhoComesIsTakenAndAWrongOneRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		replaceFile(t, path, text)
		return path
	}
	op, user, other := newOperator(t), key(t, nkeys.CreateUser), key(t, nkeys.CreateUser)
	seed := func(k nkeys.KeyPair) string {
		s, err := k.Seed()
		if err != nil {
			t.Fatal(err)
		}
		return string(s)
	}
	js := "jetstream { store_dir: STORE }\n"
	users := js + fmt.Sprintf("authorization { users: [ {user: ann, password: %q}, {nkey: %s} ] }", password, public(t, user))
	token := js + fmt.Sprintf("authorization { token: %q }", password)
	strangers := newOperator(t)
	for name, c := range map[string]struct {
		config      string
		right       bus.Access
		wrong       bus.Access
		inURL, said string
	}{
		"credentials":      {op.config, bus.Access{Creds: file("a.creds", op.creds(t, 0))}, bus.Access{Creds: file("b.creds", strangers.creds(t, 0))}, "", "credentials"},
		"an NKey":          {users, bus.Access{NKey: file("a.nk", seed(user))}, bus.Access{NKey: file("b.nk", seed(other))}, "", "credentials"},
		"a password":       {users, bus.Access{User: "ann", Password: password}, bus.Access{User: "ann", Password: "wrong-" + password}, "", "credentials"},
		"a password file":  {users, bus.Access{User: "ann", PasswordFile: file("pw", password+"\n")}, bus.Access{User: "ann", PasswordFile: file("pw2", "wrong-"+password)}, "", "credentials"},
		"a token":          {token, bus.Access{Token: password}, bus.Access{Token: "wrong-" + password}, "", "credentials"},
		"a token file":     {token, bus.Access{TokenFile: file("tok", password)}, bus.Access{}, "", "credentials"},
		"a user in a URL":  {users, bus.Access{}, bus.Access{}, "ann:" + password + "@", "credentials"},
		"a token in a URL": {token, bus.Access{}, bus.Access{}, password + "@", "credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := strings.TrimPrefix(startServer(t, c.config).ClientURL(), "nats://")
			b := bustest.Open(t, bus.Options{URL: "nats://" + c.inURL + url, Access: c.right})
			mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1"), Data: []byte("x")})
			_, err := bus.Open(t.Context(), bus.Options{URL: "nats://" + url, Access: c.wrong})
			if err == nil || !strings.Contains(err.Error(), c.said) || strings.Contains(err.Error(), password) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAFileThatCannotBeUsedIsNamedWithoutWhatItHolds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		replaceFile(t, path, text)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := newOperator(t).creds(t, 0)
	ca := newAuthority(t, "one")
	cert, key := ca.issue(t, "server", "bus")
	other, otherKey := ca.issue(t, "other", "bus")
	for _, c := range []struct {
		access bus.Access
		want   string
	}{
		{bus.Access{Creds: filepath.Join(dir, "none")}, "no such file"},
		{bus.Access{Creds: dir}, "it is a directory"},
		{bus.Access{Creds: file("empty", " \n", 0o600)}, "it is empty"},
		{bus.Access{Creds: file("shared", good, 0o644)}, "mode 0644"},
		{bus.Access{Creds: file("group", good, 0o640)}, "chmod 600"},
		{bus.Access{Creds: file("text", password, 0o600)}, "nsc"},
		{bus.Access{NKey: file("creds", good, 0o644)}, "mode 0644"},
		{bus.Access{NKey: file("nk", password, 0o600)}, "seed of a user's NKey"},
		{bus.Access{User: "ann", PasswordFile: file("pw", password, 0o666)}, "mode 0666"},
		{bus.Access{CA: file("ca", password, 0o644)}, "no certificate"},
		{bus.Access{Cert: cert, Key: otherKey}, "does not match"},
		{bus.Access{Cert: file("cert", password, 0o644), Key: key}, "with the key"},
	} {
		err := c.access.Check()
		if e, ok := errors.AsType[*bus.AccessError](err); !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), e.File) || strings.Contains(err.Error(), password) {
			t.Errorf("%+v: %v", c.access, err)
		}
	}
	for _, a := range []bus.Access{{Creds: "a", Token: "b"}, {User: "ann"}, {Password: "x"}, {Cert: cert}} {
		if err := a.Check(); err == nil {
			t.Errorf("%+v is taken", a)
		}
	}
	if err := (bus.Access{Creds: file("lax", good, 0o644), Open: true, Cert: other, Key: otherKey}).Check(); err != nil {
		t.Error(err)
	}
}

// writer appends for as long as the test runs, and keeps what was acknowledged.
type writer struct {
	mu    sync.Mutex
	acked map[string]uint64
	stop  func()
}

func startWriter(t *testing.T, b *bus.Bus) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{acked: map[string]uint64{}}
	var wg sync.WaitGroup
	w.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(w.stop)
	wg.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			<-tick.C
			subject := b.Subjects().Record("User", fmt.Sprint(n))
			if seq, err := b.Append(ctx, bus.Entry{Subject: subject, Data: []byte("x")}); err == nil {
				w.mu.Lock()
				w.acked[subject] = seq
				w.mu.Unlock()
			}
		}
	})
	return w
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

// more waits until something was acknowledged after this moment.
func (w *writer) more(t *testing.T) {
	t.Helper()
	had := w.count()
	until(t, "appends are acknowledged again", func() bool { return w.count() > had+3 })
}

// check makes sure that the log has what was acknowledged.
func (w *writer) check(t *testing.T, b *bus.Bus) {
	t.Helper()
	w.stop()
	for subject, seq := range w.acked {
		if m, err := b.Last(t.Context(), subject); err != nil || m == nil || m.Seq != seq {
			t.Fatalf("%s was acknowledged at %d; the log has %v, %v", subject, seq, m, err)
		}
	}
}

func TestExpiredCredentialsAreNamedAndThoseThatReplaceThemTaken(t *testing.T) {
	t.Parallel()
	op, file, log := newOperator(t), filepath.Join(t.TempDir(), "api.creds"), &proctest.Log{}
	replaceFile(t, file, op.creds(t, 3*time.Second))
	s := startServer(t, op.config)
	var refusals atomic.Int32
	s.SetLoggerV2(refusing{&refusals}, false, false, false)
	b := bustest.Open(t, bus.Options{URL: s.ClientURL(), Access: bus.Access{Creds: file}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	w := startWriter(t, b)
	until(t, "the log names the remedy", func() bool {
		return strings.Contains(log.String(), "which expired at") && strings.Contains(log.String(), "put new ones into the file")
	})
	until(t, "it is refused more often than the library bears by itself", func() bool { return refusals.Load() > 4 && b.Ready() != nil })
	if err := b.Ready(); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "expired at") || fault.Of(err).Message != "the bus is not connected" {
		t.Errorf("ready: %v", err)
	}
	replaceFile(t, file, op.creds(t, 0))
	until(t, "the new credentials are taken", func() bool { return b.Ready() == nil })
	w.more(t)
	w.check(t, b)
}

// refusing counts what a server says of those whom it refuses.
type refusing struct{ count *atomic.Int32 }

func (refusing) Noticef(string, ...any) {}
func (refusing) Warnf(string, ...any)   {}
func (refusing) Fatalf(string, ...any)  {}
func (r refusing) Errorf(format string, v ...any) {
	if strings.Contains(fmt.Sprintf(format, v...), "authentication error") {
		r.count.Add(1)
	}
}
func (refusing) Debugf(string, ...any) {}
func (refusing) Tracef(string, ...any) {}

func TestReplacedCredentialsAreTakenWithoutTheLossOfAnAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	op, file, log := newOperator(t), filepath.Join(t.TempDir(), "api.creds"), &proctest.Log{}
	replaceFile(t, file, op.creds(t, 0))
	s := startServer(t, op.config)
	b := bustest.Open(t, bus.Options{URL: s.ClientURL(), Access: bus.Access{Creds: file}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	w := startWriter(t, b)
	for range 3 {
		w.more(t)
		before := who(t, s)
		if err := b.Renew(t.Context()); err != nil || who(t, s) != before {
			t.Fatalf("files that say the same: %v", err)
		}
		replaceFile(t, file, newOperator(t).creds(t, 0))
		if err := b.Renew(t.Context()); err == nil || !strings.Contains(err.Error(), "refuses the credentials") || who(t, s) != before {
			t.Fatalf("a stranger's credentials: %v", err)
		}
		replaceFile(t, file, op.creds(t, 0))
		if err := b.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "the connection has the new credentials", func() bool { now := who(t, s); return now != "" && now != before })
	}
	w.more(t)
	w.check(t, b)
	for _, secret := range []string{"SU", "eyJ"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("a secret is in the log:\n%s", log)
		}
	}
}

// who is the user of the one connection.
func who(t *testing.T, s *server.Server) string {
	t.Helper()
	z, err := s.Connz(&server.ConnzOptions{Username: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(z.Conns) == 0 {
		return ""
	}
	return z.Conns[len(z.Conns)-1].AuthorizedUser
}

func TestAnNKeyThatIsReplacedIsTakenAtTheNextReconnect(t *testing.T) {
	t.Parallel()
	first, second := key(t, nkeys.CreateUser), key(t, nkeys.CreateUser)
	file := filepath.Join(t.TempDir(), "api.nk")
	take := func(k nkeys.KeyPair) {
		seed, err := k.Seed()
		if err != nil {
			t.Fatal(err)
		}
		replaceFile(t, file, string(seed))
	}
	take(first)
	s := startServer(t, fmt.Sprintf("jetstream { store_dir: STORE }\nauthorization { users: [ {nkey: %s}, {nkey: %s} ] }", public(t, first), public(t, second)))
	b := bustest.Open(t, bus.Options{URL: s.ClientURL(), Access: bus.Access{NKey: file}})
	w := startWriter(t, b)
	w.more(t)
	take(second)
	for _, c := range connections(t, s) {
		if err := s.DisconnectClientByID(c.Cid); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the second key comes", func() bool { return who(t, s) == public(t, second) })
	w.more(t)
	w.check(t, b)
}

// Whoever writes the file in two steps, or spoils it, cuts nobody off.
func TestAFileThatBreaksCountsAsNotReplaced(t *testing.T) {
	t.Parallel()
	op, nkey := newOperator(t), key(t, nkeys.CreateUser)
	seed, err := nkey.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "api")
	for name, c := range map[string]struct {
		config, text string
		access       bus.Access
	}{
		"credentials": {op.config, op.creds(t, 0), bus.Access{Creds: file + ".creds"}},
		"an NKey":     {fmt.Sprintf("jetstream { store_dir: STORE }\nauthorization { users: [ {nkey: %s} ] }", public(t, nkey)), string(seed), bus.Access{NKey: file + ".nk"}},
	} {
		file, log := c.access.Files()[0], &proctest.Log{}
		replaceFile(t, file, c.text)
		s := startServer(t, c.config)
		b := bustest.Open(t, bus.Options{URL: s.ClientURL(), Access: c.access, Logger: slog.New(slog.NewTextHandler(log, nil))})
		w := startWriter(t, b)
		w.more(t)
		before := who(t, s)
		replaceFile(t, file, "nothing that could be used")
		for _, c := range connections(t, s) {
			if err := s.DisconnectClientByID(c.Cid); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "the connection is back with "+name, func() bool { return who(t, s) == before && strings.Contains(log.String(), "bus connection is back") })
		w.more(t)
		w.check(t, b)
		if !strings.Contains(log.String(), file) || !strings.Contains(log.String(), "mend the file") || strings.Contains(log.String(), "nothing that could be used") {
			t.Errorf("%s: the log says\n%s", name, log)
		}
	}
}

func connections(t *testing.T, s *server.Server) []*server.ConnInfo {
	t.Helper()
	z, err := s.Connz(&server.ConnzOptions{Username: true})
	if err != nil {
		t.Fatal(err)
	}
	return z.Conns
}

func TestCertificatesOfBothSidesAreAskedForAndMayBeReplaced(t *testing.T) {
	t.Parallel()
	ca, strangers := newAuthority(t, "ours"), newAuthority(t, "theirs")
	cert, key := ca.issue(t, "server", "bus.internal")
	s := startServer(t, fmt.Sprintf(`jetstream { store_dir: STORE }
tls { cert_file: %q, key_file: %q, ca_file: %q, verify_and_map: true }
authorization { users: [ {user: "CN=one"}, {user: "CN=two"}, {user: one}, {user: two} ] }`, cert, key, ca.ca()))
	own, ownKey := ca.issue(t, "client", "one")
	right := bus.Access{CA: ca.ca(), Cert: own, Key: ownKey, ServerName: "bus.internal"}
	b := bustest.Open(t, bus.Options{URL: s.ClientURL(), Access: right})
	w := startWriter(t, b)
	w.more(t)
	if got := who(t, s); !strings.Contains(got, "one") {
		t.Fatalf("the server takes it for %q", got)
	}

	foreign, foreignKey := strangers.issue(t, "client", "one")
	for what, c := range map[string]struct {
		access bus.Access
		want   string
	}{
		"no certificate":         {bus.Access{CA: ca.ca()}, "certificate"},
		"a stranger's":           {bus.Access{CA: ca.ca(), Cert: foreign, Key: foreignKey}, "refuses the certificate"},
		"another authority":      {bus.Access{CA: strangers.ca(), Cert: own, Key: ownKey}, "certificate is not trusted"},
		"another server's name":  {bus.Access{CA: ca.ca(), Cert: own, Key: ownKey, ServerName: "elsewhere"}, "certificate is not trusted"},
		"the authorities of all": {bus.Access{Cert: own, Key: ownKey}, "certificate is not trusted"},
	} {
		if _, err := bus.Open(t.Context(), bus.Options{URL: s.ClientURL(), Access: c.access}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}

	ca.issue(t, "client", "two")
	if err := b.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the new certificate is shown", func() bool { return strings.Contains(who(t, s), "two") })
	w.more(t)
	w.check(t, b)
}

func TestWithAuthoritiesAServerWithoutTLSIsRefused(t *testing.T) {
	t.Parallel()
	s := startServer(t, "jetstream { store_dir: STORE }")
	_, err := bus.Open(t.Context(), bus.Options{URL: s.ClientURL(), Access: bus.Access{CA: newAuthority(t, "ours").ca()}})
	if err == nil || !strings.Contains(err.Error(), "no TLS") {
		t.Errorf("got %v", err)
	}
}
