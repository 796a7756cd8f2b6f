//go:build conformance

// Package soap_test drives the SOAP binding of the real binary with clients that
// others wrote: zeep, suds, PHP's SoapClient, SOAP::Lite, npm's soap, gSOAP, JAX-WS and .NET's
// XmlSerializer on Mono. All load the WSDL and make every call.
package soap_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

const password = "correct <horse> & battery"

func TestPythonZeepMakesEveryCall(t *testing.T) {
	need(t, "python3-zeep", "/usr/bin/python3", "-c", "import zeep")
	drive(t, start(t), "/usr/bin/python3", "testdata/client.py")
}

func TestPHPSoapClientMakesEveryCall(t *testing.T) {
	need(t, "php-cli php-soap", "php", "-r", "new SoapHeader('a', 'b');")
	drive(t, start(t), "php", "testdata/client.php")
}

// need fails where a client is not installed: a test that skips itself is a
// test that nobody misses.
func need(t *testing.T, packages, command string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput(); err != nil {
		t.Fatalf("the client is missing: apt-get install %s (%v: %s)", packages, err, out)
	}
}

func drive(t *testing.T, url, command, script string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, command, script, url, password).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	t.Logf("%s", out)
}

// dir holds the binary while the tests run.
var dir string

func TestMain(m *testing.M) { os.Exit(tested(m)) }

func tested(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "tidings-soap-*"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// built is the path of the binary, which is built once.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(dir, "api")
	if out, err := exec.Command("go", "build", "-o", binary, "tidings/cmd/api").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

// start starts the binary in one process for the example, and returns its base URL.
func start(t *testing.T) string { return startFor(t, "../../examples/social", "SocialService") }

// startFor does so for any schema; settings are TIDINGS_NAME=value.
func startFor(t *testing.T, schema, service string, settings ...string) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "--schema", schema, "--data", t.TempDir(),
		"--listen", "127.0.0.1:0", "--admin", "", "--service", service, "--trust-transport", "--drain-delay", "0s", "--rate-anonymous", "0")
	cmd.Env = append(os.Environ(), "TIDINGS_JWT_SECRET=a secret of the tests, 32 bytes long", "TIDINGS_ACCOUNTS="+accounts(t))
	cmd.Env = append(cmd.Env, settings...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, ended := make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		read(bufio.NewScanner(log), lines)
	}()
	t.Cleanup(func() { stop(t, cmd, ended) })
	url := announced(t, lines)
	awaitWorker(t, url+"/v1/"+service)
	return url
}

// read passes on the first line that names the address and drops the others.
func read(s *bufio.Scanner, lines chan<- string) {
	defer close(lines)
	var last string
	for announced := false; s.Scan(); {
		last = s.Text()
		if !announced && strings.Contains(last, `"api runs"`) {
			announced = true
			lines <- last
		}
	}
}

func announced(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line, ok := <-lines:
		var entry struct{ URL string }
		if err := json.Unmarshal([]byte(line), &entry); !ok || err != nil || entry.URL == "" {
			t.Fatalf("the service did not say its address: %q", line)
		}
		return entry.URL
	case <-time.After(time.Minute):
		t.Fatal("the service did not start")
	}
	return ""
}

// awaitWorker returns when envelopes are answered.
func awaitWorker(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("<"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "text/xml")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.Header.Get("Retry-After") == "" {
			return
		}
	}
	t.Fatal("no worker answers")
}

// stop ends the process, and waits for it and for the reader of its log.
func stop(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(45 * time.Second):
		t.Error("the service did not end")
		_ = cmd.Process.Kill()
		<-ended
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the service ended with: %v", err)
	}
}

func accounts(t *testing.T) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for user, roles := range map[string]string{"alice": "USER", "bob": "USER", "root": "ADMIN"} {
		fmt.Fprintf(&list, "%s:%s:%s\n", user, hash, roles)
	}
	return list.String()
}
