//go:build conformance

package processes

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// An api that is asked to drain sends its subscribers elsewhere, and goes on to
// answer until a signal ends it, which then waits for nothing.
func TestAnAPIIsDrainedOnRequest(t *testing.T) {
	t.Parallel()
	const delay, window = 500 * time.Millisecond, time.Second
	c := twoAPIs(t, "--drain-delay", delay.String(), "--drain-window", window.String())
	one := c.apis[0]
	m := move(t, c, c.apis, transports, 12)
	began := time.Now()
	said := one.drain(t)
	if took := time.Since(began); took < delay+window/2 {
		t.Errorf("it took %s to drain: %s", took, said)
	}
	if !strings.HasPrefix(said, "draining: 12 remain\n") || !strings.HasSuffix(said, "\ndrained\n") {
		t.Errorf("the command says %q", said)
	}
	if again := one.drain(t); again != "drained\n" {
		t.Errorf("asked again it says %q", again)
	}
	one.mustRun(t)
	if status, body := fetch(t, one.ready, anybody, ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "draining") {
		t.Errorf("/readyz says %d %s", status, body)
	}
	if status, body := fetch(t, one.adminPort()+"/livez", anybody, ""); status != http.StatusOK {
		t.Errorf("/livez says %d %s", status, body)
	}
	if _, text := fetch(t, one.adminPort()+"/metrics", anybody, ""); !strings.Contains(text, "\ntidings_draining 1\n") || !strings.Contains(text, "\ntidings_drain_remaining 0\n") {
		t.Error("the metrics do not say that it has drained")
	}
	if _, err := post(t.Context(), one.url, anybody, call{Query: `{ posts(first: 1) { nodes { id } } }`}); err != nil {
		t.Errorf("a query meanwhile: %v", err)
	}
	if st, err := dialSocket(t.Context(), one.url, anybody, postChanges); err == nil {
		st.close()
		t.Error("it takes another socket")
	}
	one.terminate(t)
	began = time.Now()
	if code := one.exit(t, 10*time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if took := time.Since(began); took > delay+window { // far less, on an idle machine
		t.Errorf("it took %s more to end", took)
	}
	m.finish(t)
}

// A worker that is asked to drain finishes what it has taken, and leaves the rest
// to the others: no write fails.
func TestAWorkerIsDrainedOnRequest(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	w := write(t, c.authors(t, 4), c.apis)
	w.progress(t, 20)
	one := c.workers[0]
	if said := one.drain(t); !strings.HasSuffix(said, "drained\n") {
		t.Errorf("the command says %q", said)
	}
	one.mustRun(t)
	if status, body := fetch(t, one.ready, anybody, ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "draining") {
		t.Errorf("/readyz says %d %s", status, body)
	}
	before := commandsOf(t, one)
	w.progress(t, 20)
	if after := commandsOf(t, one); after != before {
		t.Errorf("it has carried out commands since: %q, before %q", after, before)
	}
	one.terminate(t)
	if code := one.exit(t, 10*time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	w.progress(t, 20)
	w.end(t)
	if len(w.ledger.failures) != 0 {
		t.Errorf("writes have failed: %v", w.ledger.failures)
	}
}

// commandsOf are the lines of a worker's metrics that count commands.
func commandsOf(t testing.TB, p *process) string {
	t.Helper()
	_, text := fetch(t, p.adminPort()+"/metrics", anybody, "")
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "tidings_commands_total{") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// adminPort is the base URL of the admin port.
func (p *process) adminPort() string { return strings.TrimSuffix(p.ready, "/readyz") }

// drain asks for a drain as an operator does, and returns what the command says
// when it is over.
func (p *process) drain(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(p.ready)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program(strings.Fields(p.name)[0]), "drain", "--wait", "--admin", net.JoinHostPort(host, port))
	cmd.Env = environ(t.TempDir())
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	if err != nil {
		t.Fatalf("drain: %v", err)
	}
	return string(out)
}
