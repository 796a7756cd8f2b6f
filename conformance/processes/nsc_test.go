//go:build conformance

package processes

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/conformance/tool"
)

// Accounts, exports, imports and users that deploy/nats/nsc.sh has made with nsc
// serve as those of server.conf do.
func TestTheAccountsOfNSCServe(t *testing.T) {
	t.Parallel()
	buildTool(t, tool.NSC)
	home := t.TempDir()
	env := append(environ(home), "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	for i, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + filepath.Join(bin, "cli") + ":" + path
		}
	}
	script, err := filepath.Abs("../../deploy/nats/nsc.sh")
	if err != nil {
		t.Fatal(err)
	}
	creds, resolver, conf := filepath.Join(home, "creds"), filepath.Join(home, "resolver.conf"), filepath.Join(home, "server.conf")
	for _, command := range [][]string{
		{filepath.Join(bin, "cli", "nsc"), "add", "operator", "--generate-signing-key", "--sys", "--name", "operator"},
		{script, creds},
		{filepath.Join(bin, "cli", "nsc"), "generate", "config", "--mem-resolver", "--config-file", resolver},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Env, cmd.Dir = env, home
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, tail(string(out), 2000))
		}
	}
	listen, monitor := freePort(t), freePort(t)
	text := fmt.Sprintf("listen: %s\nhttp: %s\njetstream { store_dir: %q }\ninclude ./%s\n", listen, monitor, filepath.Join(home, "store"), filepath.Base(resolver))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, &process{name: "nats-server", ready: "http://" + monitor + "/healthz", args: []string{"-c", conf}})
	as := func(role string) []string {
		return []string{"TIDINGS_NATS_URL=nats://" + listen, "TIDINGS_NATS_CREDS=" + filepath.Join(creds, role+".creds")}
	}
	setUp := exec.CommandContext(t.Context(), program("api"), "bus", "setup")
	setUp.Env = slices.Concat(environ(home), as("admin"))
	if out, err := setUp.CombinedOutput(); err != nil || strings.Count(string(out), "created") != 10 {
		t.Fatalf("api bus setup: %v\n%s", err, out)
	}
	data := t.TempDir()
	worker := startWorker(t, "worker", data, as("worker"))
	one, two := startAPI(t, "api 1", data, as("api")), startAPI(t, "api 2", data, as("api"))
	watching, err := dialSocket(t.Context(), two.url, anybody, userChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer watching.close()
	if err := watching.(*socket).stands(); err != nil {
		t.Fatal(err)
	}
	var answer struct{ Done record }
	mustPost(t, one.url, token(t, data, "ada", "USER"), createUser("Ada", "ada@example.org"), &answer)
	expect(t, watching, "CREATED", "ada", "Ada")
	soapShows(t, two.url, readPartner(t, two), "GetUser", `<t:id>ada</t:id>`, ">Ada</")
	ada := token(t, data, "ada", "USER")
	revoke := exec.CommandContext(t.Context(), program("api"), "revoke", "--sub", "ada", "--admin", strings.TrimPrefix(one.adminPort(), "http://"))
	revoke.Env = environ(home)
	if out, err := revoke.CombinedOutput(); err != nil {
		t.Fatalf("api revoke: %v\n%s", err, out)
	}
	poll(t, patience, "the other api has heard of the revocation", func() error {
		if status, _ := fetch(t, two.url+"/graphql?query=%7B__typename%7D", ada, ""); status != 401 {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
	for _, p := range []*process{server, worker, one.process, two.process} {
		for line := range strings.Lines(p.output(t)) {
			if strings.Contains(line, "Violation") || strings.Contains(line, "denies") {
				t.Errorf("%s: %s", p.name, line)
			}
		}
	}
	nc, err := nats.Connect("nats://"+listen, nats.UserCredentials(filepath.Join(creds, "api.creds")), nats.CustomInboxPrefix("_INBOX_tidings_api"),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), nats.Dialer(&net.Dialer{Timeout: 10 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{"tidings.log.User.ada", "$JS.API.STREAM.PURGE.tidings-log", "$JS.API.STREAM.DELETE.tidings-log"} {
		if m, err := nc.Request(subject, []byte("{}"), 300*time.Millisecond); err == nil {
			t.Errorf("an api is answered on %s: %s", subject, m.Data)
		}
	}
}
