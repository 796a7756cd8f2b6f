//go:build conformance

package processes

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/conformance/tool"
)

// secured are three NATS servers with the files of deploy/nats as they are: a
// cluster, a stranger's account and where they listen is all that is added.
type secured struct {
	*cluster
	all      []*process
	monitors []string
}

// passwords are those of the three roles.
func passwords() (list []string) {
	for _, role := range []string{"API", "WORKER", "ADMIN"} {
		list = append(list, "TIDINGS_"+role+"_PASSWORD="+strings.ToLower(role)+"-password")
	}
	return list
}

// as brings a process to the servers in a role.
func (s *secured) as(role string) []string {
	return []string{"TIDINGS_NATS_URL=" + s.bus, "TIDINGS_NATS_USER=" + role, "TIDINGS_NATS_PASSWORD=" + role + "-password", "TIDINGS_REPLICAS=3"}
}

// leaderHears returns nil once one of the servers leads and so many others are known
// to be there: before that it finds no place for copies.
func leaderHears(monitors []string, others int) error {
	for _, monitor := range monitors {
		resp, err := client.Get(monitor + "/jsz")
		if err != nil {
			return err
		}
		var info struct {
			Meta struct {
				Replicas []struct {
					Offline bool `json:"offline"`
				} `json:"replicas"`
			} `json:"meta_cluster"`
		}
		err = json.NewDecoder(resp.Body).Decode(&info)
		resp.Body.Close()
		if err != nil {
			return err
		}
		there := 0
		for _, r := range info.Meta.Replicas { // only the leader tells of them
			if !r.Offline {
				there++
			}
		}
		if there == others {
			return nil
		}
	}
	return errors.New("no server knows of all others")
}

func startSecured(t *testing.T) *secured {
	t.Helper()
	const many = 3
	dir, s := t.TempDir(), &secured{cluster: &cluster{data: t.TempDir()}}
	files, err := filepath.Glob("../../deploy/nats/*.conf")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	shipped := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shipped[filepath.Base(file)] = string(text)
	}
	cert, key := routeCertificate(t, dir)
	var listen, routes, urls []string
	for range many {
		listen = append(listen, freePort(t))
		routes = append(routes, freePort(t))
		urls = append(urls, "nats://"+listen[len(listen)-1])
	}
	s.bus = strings.Join(urls, ",")
	for i := range many {
		at, monitor := filepath.Join(dir, fmt.Sprint("server", i+1)), freePort(t)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range shipped {
			if name == "server.conf" {
				text = changed(t, text, "listen: 127.0.0.1:4222", "listen: "+listen[i])
				text = changed(t, text, "store_dir: data/nats", fmt.Sprintf("store_dir: %q", filepath.Join(at, "store")))
				text = changed(t, text, "  TIDINGS_API {", "  OTHER { jetstream: enabled, users: [{ user: other, password: other-password }] }\n  TIDINGS_API {")
				text += fmt.Sprintf("\nserver_name: server%d\nhttp: %s\ncluster { name: bus, listen: %s, routes: [\"nats://%s\"],\n  tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true } }\n",
					i+1, monitor, routes[i], strings.Join(routes, `", "nats://`), cert, key, cert)
			}
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.all = append(s.all, start(t, &process{name: fmt.Sprint("nats-server ", i+1), env: passwords(), args: []string{"-c", filepath.Join(at, "server.conf")}}))
		s.monitors = append(s.monitors, "http://"+monitor)
	}
	for i, p := range s.all { // each is ready when the others are there
		p.ready = s.monitors[i] + "/healthz"
		p.waitReady(t)
	}
	poll(t, patience, "a server leads, and hears the others", func() error { return leaderHears(s.monitors, many-1) })
	return s
}

func changed(t *testing.T, text, from, to string) string {
	t.Helper()
	if strings.Count(text, from) != 1 {
		t.Fatalf("server.conf has not one %q", from)
	}
	return strings.Replace(text, from, to, 1)
}

// routeCertificate is one of this machine, which is its own authority.
func routeCertificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bus"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

// connect is a client of one of the servers.
func (s *secured) connect(t *testing.T, server int, user string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(strings.Split(s.bus, ",")[server], nats.UserInfo(user, user+"-password"), nats.CustomInboxPrefix("_INBOX_tidings_"+user),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// admin runs a subcommand of api with an administrator's credentials.
func (s *secured) admin(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program("api"), args...)
	cmd.Env = append(environ(t.TempDir()), s.as("admin")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("api %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// cli runs the nats CLI with them.
func (s *secured) cli(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"--server", s.bus, "--user", "admin", "--password", "admin-password", "--inbox-prefix", "_INBOX_tidings_admin"}, args...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "cli", "nats"), args...)
	cmd.Env = environ(t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("nats %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// denied is what the servers have denied so far.
func (s *secured) denied(t *testing.T) (list []string) {
	t.Helper()
	for _, p := range s.all {
		for line := range strings.Lines(p.output(t)) {
			if strings.Contains(line, "Violation") {
				list = append(list, p.name+": "+line)
			}
		}
	}
	return list
}

// streamInfo is what the log's stream says to an administrator.
func (s *secured) streamInfo(t *testing.T, nc *nats.Conn, subjects string) (info struct {
	Config struct {
		Replicas int `json:"num_replicas"`
	} `json:"config"`
	State struct {
		Last     uint64         `json:"last_seq"`
		Messages uint64         `json:"messages"`
		Subjects map[string]int `json:"subjects"`
	} `json:"state"`
	Cluster struct {
		Leader string `json:"leader"`
	} `json:"cluster"`
}) {
	t.Helper()
	resp, err := nc.Request("$JS.API.STREAM.INFO.tidings-log", fmt.Appendf(nil, `{"subjects_filter":%q}`, subjects), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(resp.Data, &info); err != nil {
		t.Fatal(err)
	}
	return info
}

// On three servers with copies of all streams each role does its part with the
// permissions of deploy/nats, and nothing is denied on the way: processes start,
// clients are served, jobs are done, what was deleted is erased, a server is lost
// and comes back, and an administrator exports, checks, backs up and edits.
func TestEachRoleDoesItsPartOnThreeServers(t *testing.T) {
	t.Parallel()
	buildTool(t, tool.NATS)
	s := startSecured(t)
	if out := s.admin(t, "bus", "setup"); strings.Count(out, "created") != 10 {
		t.Fatalf("api bus setup:\n%s", out)
	}
	workerAdmin := freePort(t)
	s.workers = []*process{start(t, &process{name: "worker", env: s.as("worker"), ready: "http://" + workerAdmin + "/readyz",
		args: []string{"--dev", "--schema", social(t), "--data", s.data, "--admin", workerAdmin, "--erase-after", "1s"}})}
	s.apis = []*api{startAPI(t, "api 1", s.data, s.as("api")), startAPI(t, "api 2", s.data, s.as("api"))}
	ada := token(t, s.data, "ada", "USER")
	watching, err := dialSocket(t.Context(), s.apis[1].url, anybody, userChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer watching.close()
	if err := watching.(*socket).stands(); err != nil {
		t.Fatal(err)
	}
	var answer struct{ Done record }
	mustPost(t, s.apis[0].url, ada, createUser("Ada", "ada@example.org"), &answer)
	expect(t, watching, "CREATED", "ada", "Ada")
	soapShows(t, s.apis[1].url, readPartner(t, s.apis[1]), "GetUser", `<t:id>ada</t:id>`, ">Ada</")
	s.job(t, ada)
	mustPost(t, s.apis[0].url, token(t, s.data, "root", "ADMIN"), call{Query: `mutation { done: deleteUser(input: {id: "ada"}) { id } }`}, &answer)
	admin := s.connect(t, 0, "admin")
	poll(t, patience, "the history of the deleted user is erased", func() error {
		if n := s.streamInfo(t, admin, "tidings.log.User.ada").State.Subjects["tidings.log.User.ada"]; n != 1 {
			return fmt.Errorf("%d messages", n)
		}
		return nil
	})
	s.administrate(t)
	if list := s.denied(t); len(list) > 0 {
		t.Errorf("the servers denied:\n%s", strings.Join(list, ""))
	}
	s.loseLeader(t, admin, ada)
	if list := s.denied(t); len(list) > 0 {
		t.Errorf("after the loss of a server they denied:\n%s", strings.Join(list, ""))
	}
	for _, p := range append(s.workers, s.apis[0].process, s.apis[1].process) {
		if strings.Contains(p.output(t), "denies") {
			t.Errorf("%s was denied something", p.name)
		}
	}
	s.stolen(t)
}

// job submits one and waits until it is done.
func (s *secured) job(t *testing.T, bearer string) {
	t.Helper()
	id := jobField(t, mustCallJobs(t, s.apis[0].url, bearer, `<t:SubmitCreatePosts><t:inputs><t:item><t:title>T</t:title></t:item></t:inputs></t:SubmitCreatePosts>`), "jobId")
	poll(t, patience, "the job is done", func() error {
		if state := jobField(t, mustCallJobs(t, s.apis[0].url, bearer, `<t:GetJob><t:jobId>`+id+`</t:jobId></t:GetJob>`), "state"); state != "DONE" {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
}

// administrate does what the documentation says that administrators do.
func (s *secured) administrate(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "all.ndjson")
	if out := s.admin(t, "export", "--schema", social(t), "--out", file); !strings.Contains(out, "exported ") {
		t.Errorf("api export: %s", out)
	}
	s.admin(t, "import", "--schema", social(t), file)
	s.admin(t, "log", "check", "--schema", social(t))
	s.admin(t, "schema", "check", "--against-log", "--schema", social(t))
	if out := s.admin(t, "bus", "setup", "--edit", "--jobs-bytes", "536870912", "--revoked-age", "800h", "--apq-bytes", "1048576"); strings.Count(out, "max bytes 268435456 to 536870912") != 1 || !strings.Contains(out, "max age 720h0m0s to 800h0m0s") || !strings.Contains(out, "max bytes 33554432 to 1048576") {
		t.Errorf("api bus setup --edit: %s", out)
	}
	for _, stream := range []string{"tidings-log", "KV_tidings-answers", "KV_tidings-revoked", "KV_tidings-jobs", "tidings-jobs", "KV_tidings-operations"} {
		s.cli(t, "stream", "backup", stream, filepath.Join(dir, stream))
	}
	s.cli(t, "stream", "edit", "--force", "--max-msgs", "1000000", "tidings-log")
	s.cli(t, "stream", "edit", "--force", "--max-msgs=-1", "tidings-log")
	for _, watch := range [][]string{
		{"stream", "ls"}, {"stream", "subjects", "tidings-log", "tidings.log.User.*"}, {"consumer", "info", "tidings-jobs", "workers"},
		{"kv", "rm", "--force", "tidings-erased", "progress"},
		{"stream", "rm", "--force", "KV_tidings-operations"}, {"stream", "restore", filepath.Join(dir, "KV_tidings-operations")},
		{"micro", "list"}, {"object", "ls", "tidings-views"}, {"stream", "purge", "tidings-log", "--force", "--subject", "tidings.log.User.ada", "--keep=1"},
	} {
		s.cli(t, watch...)
	}
	if out := s.cli(t, "stream", "get", "tidings-log", "--last-for", "tidings.log.User.ada"); !strings.Contains(out, "DELETED") {
		t.Errorf("nats stream get: %s", out)
	}
}

// loseLeader kills the server that leads the log: it goes on, and the server comes back.
func (s *secured) loseLeader(t *testing.T, admin *nats.Conn, bearer string) {
	t.Helper()
	info := s.streamInfo(t, admin, "none")
	if info.Config.Replicas != 3 {
		t.Errorf("the log has %d copies", info.Config.Replicas)
	}
	var lost *process
	for i, p := range s.all {
		if info.Cluster.Leader == fmt.Sprint("server", i+1) {
			lost = p
		}
	}
	if lost == nil {
		t.Fatalf("%q leads the log", info.Cluster.Leader)
	}
	lost.kill(t)
	poll(t, patience, "somebody else leads the log", func() error {
		_, err := post(t.Context(), s.apis[0].url, bearer, call{Query: `mutation { createPost(input: {title: "after"}) { id } }`})
		return err
	})
	lost.run(t)
	lost.waitReady(t)
	for _, a := range s.apis {
		a.waitReady(t)
		poll(t, patience, a.name+" answers", func() error {
			_, err := post(t.Context(), a.url, bearer, call{Query: `{ posts(first: 1) { nodes { id } } }`})
			return err
		})
	}
}

// stolen tries with the credentials of an api, at each server, what they must not
// do: append, purge, change, look at others.
func (s *secured) stolen(t *testing.T) {
	t.Helper()
	for _, p := range append(s.workers, s.apis[0].process, s.apis[1].process) {
		p.kill(t) // nobody writes from now on
	}
	admin := s.connect(t, 0, "admin")
	other := s.connect(t, 1, "other")
	if _, err := other.Request("$JS.API.STREAM.CREATE.theirs", []byte(`{"name":"theirs","subjects":["theirs.>"],"storage":"file","num_replicas":3}`), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	poll(t, patience, "the new stream takes messages", func() error { // its leader is elected first
		_, err := other.Request("theirs.secret", []byte("secret"), 20*time.Second)
		return err
	})
	before := s.streamInfo(t, admin, ">")
	const record = `{"id":"ada","name":"forged"}`
	for server := range s.all {
		nc := s.connect(t, server, "api")
		for subject, body := range map[string]string{
			"tidings.log.User.ada": record, "$JS.API.STREAM.PURGE.tidings-log": "", "$JS.API.STREAM.DELETE.tidings-log": "", "$JS.API.STREAM.UPDATE.tidings-log": `{"name":"tidings-log","max_msgs":1}`,
			"$JS.API.STREAM.MSG.GET.theirs": `{"seq":1}`, "$JS.API.DIRECT.GET.theirs": `{"seq":1}`, "$JS.API.STREAM.INFO.theirs": "", "theirs.secret": "forged", "tidings.live.User.ada": record,
		} {
			if m, err := nc.Request(subject, []byte(body), 300*time.Millisecond); err == nil {
				t.Errorf("server %d answers an api on %s: %s", server+1, subject, m.Data)
			}
		}
		// What it may ask is answered where nobody stores it, whatever it names.
		for _, answer := range []string{"tidings.log.User.ada", "$JS.API.STREAM.PURGE.tidings-log", "$JS.API.STREAM.DELETE.tidings-log", "theirs.secret"} {
			for _, subject := range []string{"$JS.API.STREAM.INFO.tidings-log", "$JS.API.DIRECT.GET.tidings-log.tidings.log.User.ada", "$JS.API.INFO"} {
				_ = nc.PublishRequest(subject, answer, nil) // it is denied, or comes to nothing
			}
			_ = nc.PublishRequest("$JS.API.DIRECT.GET.tidings-log", answer, []byte(`{"seq":1,"batch":10,"next_by_subj":">"}`))
		}
		heard := make(chan *nats.Msg, 64)
		for _, subject := range []string{"theirs.>", ">", "_INBOX_tidings_worker.>", "tidings.log.>"} {
			if _, err := nc.ChanSubscribe(subject, heard); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		poll(t, patience, "it still does", func() error {
			_, err := other.Request("theirs.secret", []byte("secret"), 20*time.Second)
			return err
		})
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		for len(heard) > 0 {
			m := <-heard
			t.Errorf("server %d lets an api hear %s: %s", server+1, m.Subject, m.Data)
		}
	}
	after := s.streamInfo(t, admin, ">")
	if after.State.Last != before.State.Last || after.State.Messages != before.State.Messages {
		t.Errorf("the log was at %d with %d messages, and is at %d with %d", before.State.Last, before.State.Messages, after.State.Last, after.State.Messages)
	}
	resp, err := other.Request("$JS.API.STREAM.INFO.theirs", nil, 10*time.Second)
	if err != nil || !bytes.Contains(resp.Data, fmt.Appendf(nil, `"messages":%d`, 1+len(s.all))) {
		t.Errorf("the stranger's stream: %s, %v", resp.Data, err)
	}
}
