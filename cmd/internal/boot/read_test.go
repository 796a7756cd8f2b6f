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

func TestARefusalSaysWhatWasGivenAndWhatIsGood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, environ []string
		want          string
	}{
		{nil, []string{"TIDINGS_LISTN=:1"}, "did you mean TIDINGS_LISTEN?"},
		{nil, []string{"TIDINGS_JWT_SECRET_FIL=x"}, "did you mean TIDINGS_JWT_SECRET_FILE?"},
		{nil, []string{"TIDINGS_COLOUR_OF_THE_SKY=blue"}, "unknown variable TIDINGS_COLOUR_OF_THE_SKY; see --help"},
		{[]string{"--lisen", ":1"}, nil, "unknown flag --lisen; did you mean --listen?"},
		{[]string{"--verson"}, nil, "did you mean --version?"},
		{[]string{"--listen"}, nil, "--listen wants a value"},
		{[]string{"--replicas", "9"}, nil, `--replicas (TIDINGS_REPLICAS) is "9"; it takes a number, from 1 to 5`},
		{[]string{"--replicas", ""}, nil, `--replicas (TIDINGS_REPLICAS) is ""`},
		{nil, []string{"TIDINGS_MAX_TIME=10"}, `TIDINGS_MAX_TIME is "10"; it takes a duration such as 500ms, 90s or 1h30m, at least 1ms`},
		{nil, []string{"TIDINGS_ERASE_AFTER=1ms"}, `1h30m, 0 or at least 1s`},
		{nil, []string{"TIDINGS_DEV=perhaps"}, `TIDINGS_DEV is "perhaps"; it takes true or false`},
		{[]string{"--apq=maybe"}, nil, `--apq (TIDINGS_APQ) is "maybe"; it takes true or false`},
		{[]string{"--limits", "off"}, nil, `it takes enforce or measure`},
		{nil, []string{"TIDINGS_LOG_LEVEL=loud"}, `it takes debug, info, warn or error`},
		{nil, []string{"TIDINGS_MAX_BODY=9EiB"}, `TIDINGS_MAX_BODY is "9EiB"; it takes a number of bytes such as 4096, 64KiB or 1GiB, at least 1`},
		{nil, []string{"TIDINGS_JOBS_BYTES=99999999999GiB"}, `TIDINGS_JOBS_BYTES`},
		{nil, []string{"TIDINGS_RATE_USER="}, "TIDINGS_RATE_USER is set to nothing"},
	} {
		_, _, err := read(c.args, c.environ)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v: got %v, want %s", c.args, c.environ, err, c.want)
		}
	}
}

func TestBytesMayHaveAUnit(t *testing.T) {
	t.Parallel()
	c, _, err := read([]string{"--log-max-bytes", "3GiB"}, []string{"TIDINGS_MAX_BODY=64KiB", "TIDINGS_APQ_BYTES=2MiB", "TIDINGS_MAX_QUEUE=4096"})
	if err != nil || c.LogMaxBytes != 3<<30 || c.MaxBody != 64<<10 || c.APQBytes != 2<<20 || c.MaxQueue != 4096 {
		t.Errorf("%d %d %d %d, %v", c.LogMaxBytes, c.MaxBody, c.APQBytes, c.MaxQueue, err)
	}
}

func TestDevelopmentHasDefaultsOfItsOwn(t *testing.T) {
	t.Parallel()
	c, _, err := read([]string{"--dev", "--max-sockets", "7"}, []string{"TIDINGS_DRAIN_WINDOW=30s"})
	if err != nil || c.DrainDelay != 0 || c.RateUser != "0" || c.MaxAddress != -1 {
		t.Errorf("%s %s %d, %v", c.DrainDelay, c.RateUser, c.MaxAddress, err)
	}
	if c.DrainWindow != 30*time.Second || c.MaxSockets != 7 {
		t.Errorf("what is set does not count: %s, %d", c.DrainWindow, c.MaxSockets)
	}
}

func TestWhatIsInForceIsPrintedWithItsSource(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, err := read([]string{"--print-config", "--dev", "--listen", ":1"}, []string{
		"TIDINGS_LISTEN=:2", "TIDINGS_PREFIX=p", "TIDINGS_JWT_SECRET_FILE=" + file,
		"TIDINGS_NATS_URL=nats://user:hunter2@a:4222,tls://hunter2@b", "TIDINGS_VIEW_URL=postgres://o:hunter2@db/t?sslmode=verify-full&password=hunter2&application_name=a@b",
		"TIDINGS_PUBLIC_URL=https://user:hunter2@example.org/x"})
	if !errors.Is(err, boot.ErrHelp) {
		t.Fatal(err)
	}
	if strings.Contains(out, "hunter2") {
		t.Errorf("a secret is shown:\n%s", out)
	}
	lines := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"TIDINGS_LISTEN=:1 # --listen", "TIDINGS_PREFIX=p # TIDINGS_PREFIX", "TIDINGS_JWT_SECRET=**** # TIDINGS_JWT_SECRET_FILE",
		"TIDINGS_DRAIN_DELAY=0s # default in development", "TIDINGS_REPLICAS=1 # default", "TIDINGS_NATS_URL=nats://****@a:4222,tls://****@b # TIDINGS_NATS_URL",
		"TIDINGS_VIEW_URL=postgres://****@db/t?sslmode=verify-full&password=****&application_name=a@b #", "TIDINGS_PUBLIC_URL=https://****@example.org/x",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for _, url := range []string{"nats://u:hunter2@h:port", "nats://u:a/hunter2@h", "nats://u:a,hunter2@h", "nats://u:a@hunter2@h", "u:hunter2@h", "postgres://h,h2:hunter2@x"} {
		if _, out, _ := read([]string{"--print-config"}, []string{"TIDINGS_NATS_URL=" + url}); strings.Contains(out, "hunter2") {
			t.Errorf("%s: a secret is shown:\n%s", url, out)
		}
	}
}

func TestWhatIsInForceIsPrintedAndThenRefused(t *testing.T) {
	t.Parallel()
	_, out, err := read([]string{"--print-config", "--tls-cert", "x"}, nil)
	if err == nil || errors.Is(err, boot.ErrHelp) || !strings.Contains(out, "TIDINGS_TLS_CERT=x") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAWorkerTakesTheSettingsOfAnAPIAndDoesNotListThem(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	print := func(format string, a ...any) { fmt.Fprintf(&out, format, a...) }
	if c, err := boot.ReadConfig("worker", []string{"--listen", ":1"}, []string{"TIDINGS_MAX_SOCKETS=3"}, print); err != nil || c.MaxSockets != 3 {
		t.Errorf("%d, %v", c.MaxSockets, err)
	}
	if _, err := boot.ReadConfig("worker", []string{"--help"}, nil, print); !errors.Is(err, boot.ErrHelp) {
		t.Fatal(err)
	}
	for _, not := range []string{"TIDINGS_LISTEN", "TIDINGS_TLS_CERT", "TIDINGS_DRAIN_DELAY", "Sockets and event streams"} {
		if strings.Contains(out.String(), not) {
			t.Errorf("%s is in the help of the worker", not)
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("a line of the help is too long: %q", line)
		}
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	t.Parallel()
	_, out, err := read([]string{"--version"}, nil)
	if !errors.Is(err, boot.ErrHelp) || !strings.HasPrefix(out, "api ") || !strings.Contains(out, "revision ") || !strings.Contains(out, "go1.") {
		t.Errorf("%q, %v", out, err)
	}
}
