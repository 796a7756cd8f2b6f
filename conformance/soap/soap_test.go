//go:build conformance

// Package soap_test drives the SOAP binding of the real binary with clients that
// others wrote: zeep, suds, PHP's SoapClient, SOAP::Lite, npm's soap, gSOAP, JAX-WS and .NET's
// XmlSerializer on Mono. All load the WSDL and make every call.
package soap_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"tidings/conformance/program"
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

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// start starts the binary in one process for the example, and returns its base URL.
func start(t *testing.T) string { return startFor(t, "../../examples/social", "SocialService") }

// startFor does so for any schema, beside other tests that do; settings are
// TIDINGS_NAME=value.
func startFor(t *testing.T, schema, service string, settings ...string) string {
	t.Helper()
	t.Parallel()
	url := program.Start(t, "api", append([]string{"TIDINGS_ACCOUNTS=" + accounts(t)}, settings...), "--schema", schema, "--data", t.TempDir(),
		"--service", service, "--trust-transport", "--rate-anonymous", "0").URL
	awaitWorker(t, url+"/v1/"+service)
	return url
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
