package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
)

const permissions = "../../deploy/nats"

// guarded is a NATS server with the accounts of deploy/nats.
type guarded struct {
	*server.Server
	mu     sync.Mutex
	denied []string // what it has denied
}

// oneAccount is a configuration with all three roles in one account, which is
// less safe (docs/nats.md).
const oneAccount = `jetstream { store_dir: data/nats }
accounts { ALL { jetstream: enabled, users: [
  { user: worker, password: $TIDINGS_WORKER_PASSWORD, permissions: { include ./worker.conf } }
  { user: admin, password: $TIDINGS_ADMIN_PASSWORD, permissions: { include ./admin.conf } }
  { user: api, password: $TIDINGS_API_PASSWORD, permissions: { include ./api.conf } }
] } }
`

// startGuarded runs a server with the example configuration, or another one. The
// password of each role is its name and "-password".
func startGuarded(t *testing.T, another ...string) *guarded {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(permissions, "*.conf"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) == "server.conf" && len(another) > 0 {
			text = []byte(another[0])
		}
		text = regexp.MustCompile(`\$TIDINGS_(API|WORKER|ADMIN)_PASSWORD`).ReplaceAllFunc(text, func(name []byte) []byte {
			role, _, _ := bytes.Cut(bytes.TrimPrefix(name, []byte("$TIDINGS_")), []byte("_"))
			return append(bytes.ToLower(role), "-password"...)
		})
		text = bytes.ReplaceAll(text, []byte("data/nats"), fmt.Appendf(nil, "%q", filepath.Join(dir, "store")))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := server.ProcessConfigFile(filepath.Join(dir, "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	o.Port, o.NoSigs = server.RANDOM_PORT, true
	g := &guarded{}
	if g.Server, err = server.NewServer(o); err != nil {
		t.Fatal(err)
	}
	g.SetLoggerV2(g, false, false, false)
	g.Start()
	t.Cleanup(func() {
		g.Shutdown()
		g.WaitForShutdown()
	})
	if !g.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server did not start")
	}
	return g
}

func (g *guarded) note(format string, v []any) {
	if text := fmt.Sprintf(format, v...); strings.Contains(text, "Violation") {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.denied = append(g.denied, text)
	}
}

func (g *guarded) Noticef(string, ...any)         {}
func (g *guarded) Warnf(format string, v ...any)  { g.note(format, v) }
func (g *guarded) Fatalf(format string, v ...any) { g.note(format, v) }
func (g *guarded) Errorf(format string, v ...any) { g.note(format, v) }
func (g *guarded) Debugf(string, ...any)          {}
func (g *guarded) Tracef(string, ...any)          {}

// environ brings a process to the server in a role.
func (g *guarded) environ(role string) []string {
	return []string{"TIDINGS_NATS_URL=" + g.ClientURL(), "TIDINGS_NATS_USER=" + role, "TIDINGS_NATS_PASSWORD=" + role + "-password"}
}

// worker runs a worker until the test ends.
func (g *guarded) worker(t *testing.T, data string, settings ...string) {
	t.Helper()
	args := append([]string{"--dev", "--schema", social, "--data", data, "--admin", ""}, settings...)
	c, err := boot.ReadConfig("worker", args, g.environ("worker"), func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	log := new(bytes.Buffer)
	logger := slog.New(slog.NewTextHandler(log, nil))
	rooms, err := boot.Open(t.Context(), c, boot.Role{Writes: true}, logger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proc.Run(ctx, logger, rooms.Parts()...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := rooms.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "denies") || strings.Contains(log.String(), "permission") || t.Failed() {
			t.Errorf("the worker wrote:\n%s", log)
		}
	})
	if err := rooms.Started(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Everything that clients can do goes with the permissions of deploy/nats, and the
// server denies nothing on the way. What fails here names the subject that a
// role needs and its file does not give.
func TestThePermissionsAreEnoughForEverything(t *testing.T) {
	t.Parallel()
	g, data := startGuarded(t), filepath.Join(t.TempDir(), "data")
	setUp := func() string {
		t.Helper()
		var out strings.Builder
		if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := setUp(); strings.Count(out, "created") != 10 {
		t.Fatalf("set up:\n%s", out)
	}
	if out := setUp(); strings.Contains(out, "created") || strings.Count(out, "there") != 10 {
		t.Fatalf("set up again:\n%s", out)
	}
	g.worker(t, data, "--erase-after", "1s")
	settings := []string{"--rate-user", "1000/1000000"}
	admin := freeAddress(t)
	one, two := startWith(t, g.environ("api"), data, append(settings, "--admin", admin)...), startWith(t, g.environ("api"), data, settings...)

	scenario(t, one, two, admin)

	jobs := envelopeOf(t, one, "<t:SubmitCreatePosts><t:inputs><t:item><t:title>T</t:title></t:item></t:inputs></t:SubmitCreatePosts>")
	_, answer := two.post(t, "/v1/SocialService", "text/xml; charset=utf-8", "", jobs)
	id := find(t, answer, "jobId>([^<]+)<")
	wait(t, "the job is done", func() bool {
		_, answer := one.post(t, "/v1/SocialService", "text/xml; charset=utf-8", "", envelopeOf(t, one, "<t:GetJob><t:jobId>"+id+"</t:jobId></t:GetJob>"))
		return strings.Contains(answer, ">DONE<")
	})
	wait(t, "the worker has erased the history of what was deleted", func() bool {
		return g.messagesOf(t, "tidings.log.User.alice") == 1
	})
	for _, p := range []*program{one, two} {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
		if text := p.log.String(); strings.Contains(text, "denies") {
			t.Errorf("an api wrote:\n%s", text)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.denied) > 0 {
		t.Errorf("the server denied:\n%s", strings.Join(g.denied, "\n"))
	}
}

// Without an account of their own apis are served just so.
func TestThePermissionsAreEnoughInOneAccount(t *testing.T) {
	t.Parallel()
	g, data := startGuarded(t, oneAccount), filepath.Join(t.TempDir(), "data")
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	g.worker(t, data)
	admin := freeAddress(t)
	one, two := startWith(t, g.environ("api"), data, "--admin", admin), startWith(t, g.environ("api"), data)
	scenario(t, one, two, admin)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.denied) > 0 {
		t.Errorf("the server denied:\n%s", strings.Join(g.denied, "\n"))
	}
}

// forOperators finds what api.conf gives to apis that operators use.
var forOperators = regexp.MustCompile(`(?m)^ *"([^"]*)" *# operators:.*\n`)

// An api that operators do not use serves clients without what api.conf marks as
// theirs, and cannot give their orders then.
func TestAnAPICanDoWithoutWhatIsForOperators(t *testing.T) {
	t.Parallel()
	const user = "{ user: api, password: $TIDINGS_API_PASSWORD, permissions: { include ./api.conf } }"
	conf, all := read(t, "server.conf"), read(t, "api.conf")
	less := forOperators.ReplaceAllString(all, "")
	if !strings.Contains(conf, user) || strings.Count(all, "\n")-strings.Count(less, "\n") != 4 {
		t.Fatalf("%s\n%s", conf, less)
	}
	g, data := startGuarded(t, strings.Replace(conf, user, strings.Replace(user, "include ./api.conf", less, 1)+"\n      "+strings.ReplaceAll(strings.ReplaceAll(user, "user: api", "user: operator"), "$TIDINGS_API_PASSWORD", "operator-password"), 1)),
		filepath.Join(t.TempDir(), "data")
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("admin"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	g.worker(t, data)
	admin := freeAddress(t)
	startWith(t, g.environ("operator"), data, "--admin", admin) // at whose admin port tokens are taken back
	one, two := startWith(t, g.environ("api"), data), startWith(t, g.environ("api"), data)
	scenario(t, one, two, admin)
	g.mu.Lock()
	if len(g.denied) > 0 {
		t.Errorf("the server denied:\n%s", strings.Join(g.denied, "\n"))
	}
	g.mu.Unlock()
	nc := g.connect(t, "api")
	for _, subject := range []string{"tidings.ctl.look", "tidings.ctl.order.X", "$KV.tidings-revoked.x"} {
		g.mayNot(t, nc, subject, nc.Publish(subject, nil))
	}
	_, err := nc.SubscribeSync("tidings.ctl.report")
	g.mayNot(t, nc, "tidings.ctl.report", err)
}

// mayNot fails the test unless the server refuses a subject, which was just used.
func (g *guarded) mayNot(t *testing.T, nc *nats.Conn, subject string, err error) {
	t.Helper()
	if err := errors.Join(err, nc.Flush()); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); err == nil || !strings.Contains(err.Error(), `to "`+subject+`"`) {
		t.Errorf("it may use %s: %v", subject, err)
	}
}

// read is a file of deploy/nats.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(permissions, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// scenario does what clients do, at two apis.
func scenario(t *testing.T, one, two *program, admin string) {
	t.Helper()
	const watch = `subscription { userChanged { kind user { id name } } }`
	events := one.subscribe(t, watch, "")
	one.graphql(t, one.user, `mutation { createUser(input: {name: "Alice", email: "alice@example.com"}) { id } }`)
	cursor, event := next(t, events)
	if !strings.Contains(event, "CREATED") {
		t.Fatal(event)
	}
	two.graphql(t, two.user, `mutation { updateUser(input: {id: "alice", name: "Al"}) { id } }`)
	if _, event := next(t, two.subscribe(t, watch, cursor)); !strings.Contains(event, `"name":"Al"`) {
		t.Errorf("resumed at another api with %s", event)
	}

	status, answer := one.post(t, "/v1/SocialService", "text/xml; charset=utf-8", "", digested(t, one))
	if status != http.StatusOK || !strings.Contains(answer, "CreateUserResponse") {
		t.Errorf("SOAP: %d %s", status, answer)
	}

	const document = "{ users { totalCount } }"
	sum := sha256.Sum256([]byte(document))
	extension := `"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hex.EncodeToString(sum[:]) + `"}}`
	one.post(t, "/graphql", "application/json", one.user, `{"query":"`+document+`",`+extension+`}`)
	if _, answer := two.post(t, "/graphql", "application/json", two.user, `{`+extension+`}`); !strings.Contains(answer, "totalCount") {
		t.Errorf("a document that was registered at the other api: %s", answer)
	}

	key := `"extensions":{"idempotencyKey":"a key of the tests"}`
	for _, p := range []*program{one, two} {
		if _, answer := p.post(t, "/graphql", "application/json", p.user, `{"query":"mutation { createPost(input: {title: \"Once\"}) { id } }",`+key+`}`); !strings.Contains(answer, `"id"`) {
			t.Errorf("a mutation with a key: %s", answer)
		}
	}
	if answer := one.graphql(t, "", `{ posts { totalCount } }`); !strings.Contains(answer, `"totalCount":1`) {
		t.Errorf("twice: %s", answer)
	}
	singleStream(t, one, two)

	if answer := one.graphql(t, one.admin, `mutation { deleteUser(input: {id: "alice"}) { id } }`); !strings.Contains(answer, `"alice"`) {
		t.Errorf("a deletion: %s", answer)
	}
	token := strings.TrimSpace(must(subcommand(t, "token", "--sub", "bob", "--data", one.data)))
	if err := run(t.Context(), []string{"revoke", "--sub", "bob", "--admin", admin}, nil, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	wait(t, "the other api has heard of the revocation", func() bool {
		status, _ := two.post(t, "/graphql", "application/json", token, `{"query":"{__typename}"}`)
		return status == http.StatusUnauthorized
	})
}

// singleStream asks at one api for what comes on an event stream at the other.
func singleStream(t *testing.T, one, two *program) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, one.url+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := one.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, two.url+"/graphql", strings.NewReader(`{"query":"{ users { totalCount } }","extensions":{"operationId":"q"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GraphQL-Event-Stream-Token", string(ticket))
	if resp, err = two.client.Do(r); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Errorf("an operation for a stream at the other api: %s", resp.Status)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// envelopeOf is the envelope of the banner with another body.
func envelopeOf(t *testing.T, p *program, body string) string {
	t.Helper()
	return regexp.MustCompile(`(?s)<soap:Body>.*</soap:Body>`).ReplaceAllString(p.soap, "<soap:Body>"+body+"</soap:Body>")
}

// digested is the envelope of the banner with a digest, which must not come twice.
func digested(t *testing.T, p *program) string {
	t.Helper()
	password := find(t, p.soap, "<wsse:Password>([^<]+)<")
	nonce, created := make([]byte, 16), time.Now().UTC().Format("2006-01-02T15:04:05Z")
	_, _ = rand.Read(nonce)
	sum := sha1.Sum(slices.Concat(nonce, []byte(created), []byte(password)))
	return regexp.MustCompile(`<wsse:Password>[^<]*</wsse:Password>`).ReplaceAllString(p.soap,
		`<wsse:Password Type="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest">`+base64.StdEncoding.EncodeToString(sum[:])+`</wsse:Password>`+
			`<wsse:Nonce>`+base64.StdEncoding.EncodeToString(nonce)+`</wsse:Nonce>`+
			`<wsu:Created xmlns:wsu="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd">`+created+`</wsu:Created>`)
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// messagesOf counts what the log holds of a subject.
func (g *guarded) messagesOf(t *testing.T, subject string) int {
	t.Helper()
	nc := g.connect(t, "admin")
	resp, err := nc.Request("$JS.API.STREAM.INFO.tidings-log", fmt.Appendf(nil, `{"subjects_filter":%q}`, subject), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		State struct {
			Subjects map[string]int `json:"subjects"`
		} `json:"state"`
	}
	if err := json.Unmarshal(resp.Data, &info); err != nil {
		t.Fatal(err)
	}
	return info.State.Subjects[subject]
}

// connect is a client of the server in a role, until the test ends.
func (g *guarded) connect(t *testing.T, role string, o ...nats.Option) *nats.Conn {
	t.Helper()
	o = append(o, nats.UserInfo(role, role+"-password"), nats.CustomInboxPrefix("_INBOX_tidings_"+role), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	nc, err := nats.Connect(g.ClientURL(), o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// What a role must not be able to do, whatever its process is made to try.
func TestEachRoleIsRefusedWhatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	everybody := struct{ publish, subscribe []string }{
		[]string{"tidings.live.User.x", "tidings.ctl.other", "other.log.User.x", "other.cmd.User.create", "$JS.API.STREAM.INFO.other-log", "$JS.API.STREAM.DELETE.other-log", "$JS.API.STREAM.CREATE.mine",
			"$KV.other-answers.x", "_INBOX_other_api.x", "_INBOX.x", "$SYS.REQ.SERVER.PING", "$JS.API.ACCOUNT.PURGE.TIDINGS"},
		[]string{">", "tidings.>", "tidings.log.>", "other.live.>", "_INBOX.>", "_INBOX_other_api.>", "$KV.>", "$JS.API.>", "$SYS.>"},
	}
	change := []string{"$JS.API.STREAM.CREATE.tidings-log", "$JS.API.STREAM.UPDATE.tidings-log", "$JS.API.STREAM.DELETE.tidings-log", "$JS.API.STREAM.MSG.DELETE.tidings-log", "$JS.API.STREAM.RESTORE.tidings-log",
		"$JS.API.STREAM.SNAPSHOT.tidings-log", "$JS.API.STREAM.DELETE.KV_tidings-answers", "$JS.API.STREAM.PURGE.KV_tidings-answers", "$JS.API.STREAM.UPDATE.KV_tidings-revoked", "$JS.API.STREAM.PURGE.KV_tidings-revoked",
		"$JS.API.STREAM.PURGE.tidings-jobs", "$JS.API.STREAM.DELETE.tidings-jobs", "$JS.API.CONSUMER.DELETE.tidings-jobs.workers", "$JS.API.CONSUMER.DURABLE.CREATE.tidings-log.mine", "$JS.API.CONSUMER.CREATE.tidings-log.mine",
		"$JS.API.STREAM.LEADER.STEPDOWN.tidings-log", "$JS.API.STREAM.NAMES"}
	for role, refused := range map[string]struct{ publish, subscribe []string }{
		"api": {
			slices.Concat(change, []string{"tidings.log.User.x", "tidings.log._unique.User.email.x", "tidings.jobs.x", "$JS.API.STREAM.PURGE.tidings-log", "$KV.tidings-soap-seen.x", "$KV.tidings-jobs.x", "$KV.tidings-erased.progress", "$KV.tidings-snapshots.x", "$O.tidings-views.C.x", "$JS.API.STREAM.PURGE.OBJ_tidings-views",
				"$JS.API.CONSUMER.MSG.NEXT.tidings-jobs.workers", "$JS.ACK.tidings-jobs.workers.1.1.1.1.1", "_INBOX_tidings_worker.x", "_R_.x"}),
			[]string{"tidings.cmd.>", "tidings.soap.>", "$SRV.>", "_INBOX_tidings_worker.>", "_INBOX_tidings_admin.>", "$KV.tidings-answers.>", "$KV.tidings-jobs.>"},
		},
		"worker": {
			slices.Concat(change, []string{"tidings.soap.v1.Service", "tidings.ctl.events.x", "$KV.tidings-operations.x", "tidings.ctl.usage.x", "tidings.ctl.look", "tidings.ctl.order.x"}),
			[]string{"_INBOX_tidings_api.>", "_INBOX_tidings_admin.>", "$KV.tidings-answers.>", "$KV.tidings-jobs.>", "tidings.ctl.events.*", "tidings.ctl.report", "tidings.ctl.order.*"},
		},
		"admin": {
			[]string{"tidings.cmd.User.create", "tidings.soap.v1.Service", "tidings.jobs.x", "$KV.tidings-answers.x", "$KV.tidings-jobs.x", "$KV.tidings-revoked.x", "_INBOX_tidings_api.x"},
			[]string{"tidings.cmd.>", "_INBOX_tidings_api.>", "_INBOX_tidings_worker.>", "$KV.tidings-answers.>"},
		},
	} {
		nc := g.connect(t, role)
		for _, subject := range slices.Concat(everybody.publish, refused.publish) {
			if err := errors.Join(nc.PublishRequest(subject, nc.NewInbox(), nil), nc.Flush()); err != nil {
				t.Fatal(err)
			}
			if err := nc.LastError(); err == nil || !strings.Contains(err.Error(), `Publish to "`+subject+`"`) {
				t.Errorf("%s may publish on %s", role, subject)
			}
		}
		for _, subject := range slices.Concat(everybody.subscribe, refused.subscribe) {
			if _, err := nc.SubscribeSync(subject); err != nil {
				t.Fatal(err)
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := nc.LastError(); err == nil || !strings.Contains(err.Error(), `Subscription to "`+subject+`"`) {
				t.Errorf("%s may subscribe to %s", role, subject)
			}
		}
	}
}

// On an empty server, a process that may not create streams says what to do.
func TestAnEmptyServerIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	for _, role := range []string{"api", "worker"} {
		err := run(t.Context(), []string{"--dev", "--schema", social, "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin", "", "--nats-inbox", "_INBOX_tidings_" + role}, g.environ(role), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "api bus setup") || !strings.Contains(err.Error(), "tidings-log") {
			t.Errorf("%s: %v", role, err)
		}
	}
}

func TestTheBusIsSetUpByCommand(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	setUp := func(settings ...string) (string, error) {
		var out strings.Builder
		err := run(t.Context(), append([]string{"bus", "setup"}, settings...), g.environ("admin"), &out, io.Discard)
		return out.String(), err
	}
	if out, err := setUp("--help"); err != nil || !strings.Contains(out, "--edit") {
		t.Errorf("%v %s", err, out)
	}
	if _, err := setUp("--history", "8", "--jobs-age", "1h"); err != nil {
		t.Fatal(err)
	}
	if _, err := setUp(); err == nil || !strings.Contains(err.Error(), "max messages per subject: have 8, want 64") {
		t.Errorf("another history: %v", err)
	}
	out, err := setUp("--edit", "--history", "16")
	if err != nil || !strings.Contains(out, "messages of a subject 8 to 16") || !strings.Contains(out, "max age 1h0m0s to 24h0m0s") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := setUp("--history", "16"); err != nil || strings.Contains(out, "changed") || strings.Contains(out, "created") {
		t.Errorf("again: %v\n%s", err, out)
	}
	start := time.Now()
	if err := run(t.Context(), []string{"bus", "setup"}, g.environ("api"), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "lack a permission") || !strings.Contains(err.Error(), "_INBOX_tidings_admin.") {
		t.Error("with the credentials of an api: ", err)
	} else if took := time.Since(start); took > 4*time.Second {
		t.Errorf("it took %s, as a time-out does", took)
	}
	if err := run(t.Context(), []string{"bus", "tear-down"}, nil, io.Discard, io.Discard); err == nil {
		t.Error("an unknown command is taken")
	}
	if err := run(t.Context(), []string{"bus", "setup"}, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "TIDINGS_NATS_URL") {
		t.Error("without a URL: ", err)
	}
}
