package boot_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidings/cmd/internal/boot"
)

// read returns the configuration and what was printed.
func read(args, environ []string) (boot.Config, string, error) {
	var out strings.Builder
	c, err := boot.ReadConfig("api", args, environ, func(format string, a ...any) { fmt.Fprintf(&out, format, a...) })
	return c, out.String(), err
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, _, err := read(nil, []string{"HOME=/root", "TIDINGSX=1"})
	if err != nil || c.Listen != ":8080" || c.Data != "data" || c.Prefix != "tidings" || c.History != 64 || c.DrainWindow != 30*time.Second || c.Dev {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAFlagWinsOverItsVariable(t *testing.T) {
	t.Parallel()
	c, _, err := read([]string{"--listen", ":1", "--dev"}, []string{"TIDINGS_LISTEN=:2", "TIDINGS_PREFIX=p"})
	if err != nil || c.Listen != ":1" || c.Prefix != "p" || !c.Dev {
		t.Errorf("%+v, %v", c, err)
	}
}

// Whoever else is on the network has no business with a service in development, and
// less with its operators' port.
func TestInDevelopmentTheAdminPortIsForThisMachine(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{":9090": nil, "127.0.0.1:9090": {"--dev"}, ":1": {"--dev", "--admin", ":1"}} {
		if c, _, err := read(args, nil); err != nil || c.Admin != want {
			t.Errorf("%v: %q, %v", args, c.Admin, err)
		}
	}
}

func TestWhatIsSetToNothingIsNothing(t *testing.T) {
	t.Parallel()
	if c, _, err := read(nil, []string{"TIDINGS_ADMIN="}); err != nil || c.Admin != "" {
		t.Errorf("%q, %v", c.Admin, err)
	}
}

// Kubernetes sets such variables for a Service called tidings or tidings-nats.
func TestServiceLinksArePassedOver(t *testing.T) {
	t.Parallel()
	_, _, err := read(nil, []string{"TIDINGS_SERVICE_HOST=10.0.0.1", "TIDINGS_PORT=tcp://10.0.0.1:80", "TIDINGS_PORT_80_TCP_ADDR=10.0.0.1",
		"TIDINGS_NATS_SERVICE_PORT_CLIENT=4222", "TIDINGS_NATS_PORT_4222_TCP=tcp://10.0.0.1:4222"})
	if err != nil {
		t.Error(err)
	}
}

func TestASecretComesFromAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := read(nil, []string{"TIDINGS_JWT_SECRET_FILE=" + path})
	if err != nil || c.JWTSecret != "0123456789abcdef0123456789abcdef" {
		t.Errorf("%q, %v", c.JWTSecret, err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, environ []string
		want          string
	}{
		{nil, []string{"TIDINGS_LISTN=:1"}, "TIDINGS_LISTN"},
		{nil, []string{"TIDINGS_LISTEN_FILE=x"}, "TIDINGS_LISTEN_FILE"},
		{nil, []string{"TIDINGS_JWT_SECRET_FILE=/does/not/exist"}, "TIDINGS_JWT_SECRET_FILE"},
		{nil, []string{"TIDINGS_REPLICAS=many"}, `TIDINGS_REPLICAS is "many"; it takes a number, from 1 to 5`},
		{nil, []string{"TIDINGS_JWT_SECRET=a", "TIDINGS_JWT_SECRET_FILE=/dev/null"}, "both set"},
		{nil, []string{"TIDINGS_NATS_URL="}, "set to nothing"},
		{nil, []string{"TIDINGS_REPLICAS=-1"}, "TIDINGS_REPLICAS"},
		{nil, []string{"TIDINGS_HISTORY=0"}, "TIDINGS_HISTORY"},
		{nil, []string{"TIDINGS_JWT_LEEWAY=1000h"}, "TIDINGS_JWT_LEEWAY"},
		{[]string{"--drain-delay", "-5s"}, nil, "TIDINGS_DRAIN_DELAY"},
		{[]string{"--prefix", "a.b"}, nil, "TIDINGS_PREFIX"},
		{[]string{"--limits", "off"}, nil, "TIDINGS_LIMITS"},
		{[]string{"--max-depth", "0"}, nil, "TIDINGS_MAX_DEPTH"},
		{nil, []string{"TIDINGS_MAX_TIME=-1s"}, "TIDINGS_MAX_TIME"},
		{nil, []string{"TIDINGS_MAX_BODY=-1"}, "TIDINGS_MAX_BODY"},
		{nil, []string{"TIDINGS_RATE_USER=plenty"}, "TIDINGS_RATE_USER"},
		{nil, []string{"TIDINGS_TRUSTED_PROXIES=localhost"}, "TIDINGS_TRUSTED_PROXIES"},
		{[]string{"--accounts", "x"}, []string{"TIDINGS_ACCOUNTS=[]"}, "both set"},
		{[]string{"--tls-cert", "x"}, nil, "TIDINGS_TLS_KEY"},
		{[]string{"--tls-key", "x"}, nil, "TIDINGS_TLS_CERT"},
		{[]string{"--tls-client-auth", "maybe"}, nil, "none, optional or require"},
		{[]string{"--tls-client-auth", "require"}, nil, "needs TLS"},
		{[]string{"--tls-cert", "x", "--tls-key", "x", "--tls-client-ca", "x"}, nil, "no effect"},
		{[]string{"--soap-key", "x"}, nil, "TIDINGS_SOAP_CERT"},
		{[]string{"--soap-cert", "x"}, nil, "TIDINGS_SOAP_KEY"},
		{[]string{"--client-cert-header", "Client-Cert"}, nil, "TIDINGS_TRUSTED_PROXIES"},
		{[]string{"--soap-replay-bytes", "5"}, nil, "TIDINGS_SOAP_REPLAY_BYTES"},
		{[]string{"--persisted-only"}, nil, "TIDINGS_OPERATIONS"},
		{[]string{"--listn", ":1"}, nil, "listn"},
		{[]string{"serve"}, nil, "serve"},
	} {
		if _, _, err := read(c.args, c.environ); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: %v", c.args, c.environ, err)
		}
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	t.Parallel()
	_, out, err := read([]string{"--help"}, nil)
	if !errors.Is(err, boot.ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{"api schema print", "--listen", "TIDINGS_LISTEN", "\n  TIDINGS_JWT_SECRET\n", "\nTokens\n", "--print-config"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("a line of the help is too long: %q", line)
		}
	}
}

func TestPrintedSecretsAreMasked(t *testing.T) {
	t.Parallel()
	_, out, err := read([]string{"--print-config"}, []string{"TIDINGS_JWT_SECRET=hunter2", "TIDINGS_NATS_URL=nats://u:hunter2@h"})
	if !errors.Is(err, boot.ErrHelp) || strings.Contains(out, "hunter2") || !strings.Contains(out, "TIDINGS_JWT_SECRET=****") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWithoutKeysTheServiceRefusesToStart(t *testing.T) {
	t.Parallel()
	if _, err := (boot.Config{}).Credentials(nil); err == nil || !strings.Contains(err.Error(), "--dev") {
		t.Errorf("got %v", err)
	}
}

func TestDevelopmentKeepsItsKey(t *testing.T) {
	t.Parallel()
	c := boot.Config{Dev: true, Data: filepath.Join(t.TempDir(), "data")}
	first, err := c.Credentials(nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Credentials(nil)
	if err != nil || string(first.Secret) != string(second.Secret) || first.Partner.Password != second.Partner.Password || len(first.Secret) < 32 {
		t.Errorf("the key or the password changed: %v", err)
	}
	if _, err := first.Accounts.Password(first.Partner.User, first.Partner.Password, nil); err != nil {
		t.Error(err)
	}
	other, err := boot.Config{Dev: true, Data: t.TempDir()}.Credentials(nil)
	if err != nil || string(other.Secret) == string(first.Secret) {
		t.Errorf("two installations share a key: %v", err)
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s", 32)
	good := "# partners\n\nacme:$2a$04$abcdefghijklmnopqrstuuBnZ1a1rJ0yYB0cP8Nn0vVqS0n0vVqS0:SERVICE,USER:acme-inc"
	if _, err := (boot.Config{JWTSecret: secret, Accounts: good}).Credentials(nil); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"acme", "acme:plain:USER", "acme:$2a$04$abcdefghijklmnopqrstuuBnZ1a1rJ0yYB0cP8Nn0vVqS0n0vVqS0:KING"} {
		if _, err := (boot.Config{JWTSecret: secret, Accounts: bad}).Credentials(nil); err == nil || !strings.Contains(err.Error(), "TIDINGS_ACCOUNTS") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTheServiceIsNamedAfterItsSchema(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{"examples/social": "SocialService", "./my-notes/": "MynotesService", "/": "Service", "/1-2": "Service", "/9lives": "LivesService"} {
		if got := (boot.Config{Schema: dir}).ServiceName(); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
	if got := (boot.Config{Service: "Mine", Schema: "x"}).ServiceName(); got != "Mine" {
		t.Error(got)
	}
}
