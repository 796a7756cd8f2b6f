//go:build conformance

package processes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// renewable is a service beside a NATS server with the files of deploy/nats, to which
// apis and workers come with NKeys from files.
type renewable struct {
	*cluster
	dir, monitor string
	text         string              // of server.conf, with the name of a role in the place of its user
	admitted     map[string][]string // the public keys of each role
	held         map[string]nkeys.KeyPair
}

// The lines that a credential of the bus brings about in the log of a process.
const (
	takenLine    = `msg="the credentials of the bus are read again"`
	notTakenLine = `msg="the credentials of the bus are not read again; those in force stay"`
)

func startRenewable(t *testing.T) *renewable {
	t.Helper()
	k := &renewable{cluster: &cluster{data: t.TempDir()}, dir: t.TempDir(), admitted: map[string][]string{}, held: map[string]nkeys.KeyPair{}}
	listen, monitor := freePort(t), freePort(t)
	k.monitor, k.bus = "http://"+monitor, "nats://"+listen
	k.auditor = []nats.Option{nats.UserInfo("admin", "admin-password"), nats.CustomInboxPrefix("_INBOX_tidings_admin")}
	files, err := filepath.Glob("../../deploy/nats/*.conf")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) != "server.conf" {
			k.write(t, filepath.Base(file), string(text))
			continue
		}
		k.text = changed(t, string(text), "listen: 127.0.0.1:4222", "listen: "+listen+"\nhttp: "+monitor)
		k.text = changed(t, k.text, "store_dir: data/nats", fmt.Sprintf("store_dir: %q", t.TempDir()))
		k.text = changed(t, k.text, "password: $TIDINGS_ADMIN_PASSWORD", "password: admin-password")
		for _, role := range []string{"worker", "api"} {
			k.text = changed(t, k.text, fmt.Sprintf("{ user: %s, password: $TIDINGS_%s_PASSWORD, permissions: { include ./%[1]s.conf } }", role, strings.ToUpper(role)), role+"_USERS")
		}
	}
	for _, role := range []string{"worker", "api"} {
		k.put(t, role, k.admit(t, role))
	}
	k.nats = start(t, &process{name: "nats-server", ready: k.monitor + "/healthz", args: []string{"-c", filepath.Join(k.dir, "server.conf")}})
	k.setUp(t)
	k.workers = []*process{startWorker(t, "worker 1", k.data, k.as("worker")), startWorker(t, "worker 2", k.data, k.as("worker"))}
	k.apis = []*api{startAPI(t, "api 1", k.data, k.as("api")), startAPI(t, "api 2", k.data, k.as("api"))}
	return k
}

// setUp makes the streams as an administrator.
func (k *renewable) setUp(t *testing.T) {
	t.Helper()
	p := &process{name: "api bus setup", args: []string{"bus", "setup"}, env: []string{"TIDINGS_NATS_URL=" + k.bus, "TIDINGS_NATS_USER=admin", "TIDINGS_NATS_PASSWORD=admin-password"}}
	if status := start(t, p).exit(t, patience); status != 0 {
		t.Fatalf("status %d: %s", status, p.output(t))
	}
}

// as brings a process to the server in a role.
func (k *renewable) as(role string) []string {
	return []string{"TIDINGS_NATS_URL=" + k.bus, "TIDINGS_NATS_NKEY=" + k.file(role)}
}

// processes are those that come in a role.
func (k *renewable) processes(role string) (list []*process) {
	if role == "worker" {
		return k.workers
	}
	for _, a := range k.apis {
		list = append(list, a.process)
	}
	return list
}

func (k *renewable) file(role string) string { return filepath.Join(k.dir, role+".nk") }

// write replaces a file in one step.
func (k *renewable) write(t *testing.T, name, text string) {
	t.Helper()
	beside := filepath.Join(k.dir, "."+name)
	if err := errors.Join(os.WriteFile(beside, []byte(text), 0o600), os.Rename(beside, filepath.Join(k.dir, name))); err != nil {
		t.Fatal(err)
	}
}

// put gives the processes of a role another credential.
func (k *renewable) put(t *testing.T, role string, key nkeys.KeyPair) {
	t.Helper()
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	k.write(t, role+".nk", string(seed)+"\n")
	k.held[role] = key
}

// admit lets the server take another key for a role, beside those that it takes.
func (k *renewable) admit(t *testing.T, role string) nkeys.KeyPair {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	k.admitted[role] = append(k.admitted[role], public(t, key))
	k.configure(t)
	return key
}

// dismiss lets the server take the newest key of a role alone.
func (k *renewable) dismiss(t *testing.T, role string) {
	t.Helper()
	all := k.admitted[role]
	k.admitted[role] = all[len(all)-1:]
	k.configure(t)
}

// configure has the server take the keys, when it runs.
func (k *renewable) configure(t *testing.T) {
	t.Helper()
	text := k.text
	for role, keys := range k.admitted {
		var users strings.Builder
		for _, key := range keys {
			fmt.Fprintf(&users, "{ nkey: %s, permissions: { include ./%s.conf } }\n      ", key, role)
		}
		text = changed(t, text, role+"_USERS", users.String())
	}
	k.write(t, "server.conf", text)
	if k.nats != nil {
		k.nats.hangup(t, "Reloaded server configuration")
	}
}

func public(t *testing.T, key nkeys.KeyPair) string {
	t.Helper()
	text, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// come counts the connections that show a key.
func (k *renewable) come(t *testing.T, key nkeys.KeyPair) int {
	t.Helper()
	_, text := fetch(t, k.monitor+"/connz?auth=true&limit=1000", anybody, "")
	return strings.Count(text, `"`+public(t, key)+`"`)
}

// connect tries a key.
func (k *renewable) connect(key nkeys.KeyPair) error {
	text, err := key.PublicKey()
	if err != nil {
		return err
	}
	nc, err := nats.Connect(k.bus, nats.Nkey(text, key.Sign))
	if err == nil {
		nc.Close()
	}
	return err
}

// refused puts something into the file of a role that cannot be used: each process
// says so, with the reason, and goes on with the connections that it has.
func (k *renewable) refused(t *testing.T, role, text, reason string) {
	t.Helper()
	k.write(t, role+".nk", text)
	for _, p := range k.processes(role) {
		before := len(p.output(t))
		p.hangup(t, notTakenLine)
		has(t, p.output(t)[before:], reason, k.file(role))
	}
	if k.come(t, k.held[role]) == 0 {
		t.Errorf("no %s has its connections any more", role)
	}
}

// While clients write and listen, each role is given another credential, by the
// file that it has: nothing is lost and nothing comes twice, what cannot be used
// changes nothing, and the old one is good for nothing afterwards.
func TestTheCredentialsOfTheBusAreReplacedUnderLoad(t *testing.T) {
	k := startRenewable(t)
	l := startLoad(t, k.cluster)
	stranger, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := stranger.Seed()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"worker", "api"} {
		old := k.held[role]
		for text, reason := range map[string]string{"no seed at all": "there is no seed of a user's NKey in it", string(unknown): "the server refuses the credentials"} {
			k.refused(t, role, text, reason)
			l.writers.progress(t, 30)
		}
		next := k.admit(t, role)
		k.put(t, role, next)
		for _, p := range k.processes(role) {
			p.hangup(t, takenLine)
		}
		poll(t, patience, "all of the role have come with the new credential", func() error {
			if before, now := k.come(t, old), k.come(t, next); before > 0 || now < len(k.processes(role)) {
				return fmt.Errorf("%d connections show the old one, %d the new one", before, now)
			}
			return nil
		})
		l.writers.progress(t, 50)
		k.dismiss(t, role)
		if err := k.connect(old); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("the old credential of a %s: %v", role, err)
		}
		if err := k.connect(next); err != nil {
			t.Errorf("the new credential of a %s: %v", role, err)
		}
		l.writers.progress(t, 50)
	}
	l.finish(t)
	t.Logf("%d connections of subscribers were lost; writes that failed and were tried again: %v", l.audience.resumed(), l.writers.ledger.failures)
	for _, role := range []string{"worker", "api"} {
		for _, p := range k.processes(role) {
			has(t, p.output(t), "the bus connections come back with new credentials")
		}
	}
}

// A server that goes away while the file of a credential cannot be used finds its
// clients with what they had before.
func TestABrokenFileOfACredentialOutlivesARestartOfTheBus(t *testing.T) {
	t.Parallel()
	k := startRenewable(t)
	l := startLoad(t, k.cluster)
	for _, role := range []string{"worker", "api"} {
		k.refused(t, role, "no seed at all", "there is no seed of a user's NKey in it")
	}
	k.nats.kill(t)
	k.nats.restart(t)
	l.writers.progress(t, 50)
	for _, role := range []string{"worker", "api"} {
		for _, p := range k.processes(role) {
			has(t, p.output(t), "bus connection lost", "mend the file")
		}
	}
	l.finish(t)
}
