package main

import (
	"context"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidings/cmd/internal/tool"
	"tidings/internal/proc/proctest"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write what is made from the commands anew")

// asProgram makes this test's binary the program itself.
const asProgram = "RUN_AS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// calls runs a command to its end, and returns what it printed, and its status.
func calls(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs proctest.Log
	p := program{args: args, stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	err := p.run(t.Context())
	if err != nil {
		status = tool.StatusOf(err)
		errs.Write([]byte("tidings: " + err.Error() + "\n"))
	}
	return out.String(), errs.String(), status
}

// process is the program in a process of its own.
type process struct {
	cmd *exec.Cmd
	out proctest.Log
}

// launch starts the program. It is killed when the test ends.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// says waits until the process has printed a text.
func (p *process) says(t *testing.T, text string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(p.out.String(), text) }, func() string { return "never said " + text + ":\n" + p.out.String() })
}

// eventually waits for a condition.
func eventually(t *testing.T, ok func() bool, what func() string) {
	t.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(2*time.Minute)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal(what())
		}
	}
}

// freeAddress is a loopback address where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// notes begins a schema by `tidings init`.
func notes(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "notes")
	if _, errs, status := calls(t, "", "init", dir); status != 0 {
		t.Fatal(errs)
	}
	return dir
}

// serves runs a schema by `tidings dev` in this process until the test ends, and
// returns its address and a token.
func serves(t *testing.T, dir string) (url, token string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	address, out := freeAddress(t), new(proctest.Log)
	ended := make(chan error, 1)
	go func() {
		p := program{args: []string{"dev", dir, "--listen", address, "--admin", ""}, stdin: strings.NewReader(""), stdout: out, stderr: io.Discard}
		ended <- p.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	eventually(t, func() bool { return strings.Contains(out.String(), "ADMIN_TOKEN=") || len(ended) > 0 }, out.String)
	return "http://" + address, tokenFor(t, dir)
}

func tokenFor(t *testing.T, dir string) string {
	t.Helper()
	out, errs, status := calls(t, "", "token", "--data", filepath.Join(dir, dataFolder), "--sub", "alice", "--roles", "USER")
	if status != 0 {
		t.Fatal(errs)
	}
	return strings.TrimSpace(out)
}

func TestEveryCommandSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	p := program{stdin: strings.NewReader("")}
	each(p.root(), func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		for _, args := range [][]string{append(words, "--help"), append([]string{"help"}, words...)} {
			out, errs, status := calls(t, "", args...)
			if status != 0 || errs != "" || !strings.Contains(out, "tidings "+strings.Join(words, " ")) || len(out) > 6000 {
				t.Errorf("%v: status %d, %s\n%s", args, status, errs, out)
			}
			for line := range strings.Lines(out) {
				if len([]rune(line)) > 125 {
					t.Errorf("%v: a line is too long: %s", args, line)
				}
			}
		}
		if c.HasParent() && (c.Short == "" || strings.HasSuffix(c.Short, ".")) {
			t.Errorf("%s: in short: %q", c.CommandPath(), c.Short)
		}
	})
}

func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	t.Parallel()
	flag, _, status := calls(t, "", "--version")
	command, _, _ := calls(t, "", "version")
	if status != 0 || flag != command || !strings.HasPrefix(flag, "tidings ") {
		t.Errorf("status %d, %q and %q", status, flag, command)
	}
}

// each calls fn with a command and all below it.
func each(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			each(s, fn)
		}
	}
}

func TestTheHelpIsAsItWas(t *testing.T) {
	t.Parallel()
	const golden = "testdata/help.txt"
	var text strings.Builder
	for _, args := range []string{"", "dev --help", "query --help", "watch --help", "schema"} {
		out, _, _ := calls(t, "", strings.Fields(args)...)
		text.WriteString("$ tidings " + args + "\n" + out + "\n")
	}
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != text.String() {
		t.Errorf("the help is another; go test ./cmd/tidings -run Help -update writes %s (%v):\n%s", golden, err, text.String())
	}
}

func TestWhatIsNoCommandIsToldTheNearest(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"watc":                      "did you mean tidings watch?",
		"schema prnt":               "did you mean tidings schema print?",
		"soap loc":                  "did you mean tidings soap lock?",
		"nothing":                   "there is no tidings nothing",
		"help nothing":              "there is no tidings nothing",
		"init":                      "name DIR",
		"init a b":                  `unknown argument "b"`,
		"watch --nothing":           "unknown flag: --nothing; see tidings watch --help",
		"dev":                       "name DIR",
		"dev no/where":              "tidings init no/where",
		"dev . --listn x":           "did you mean --listen",
		"watch {a} --transport tcp": "auto, wss or sse",
		"query {a} --url ftp://x":   "is not of the form http://",
		"query {a} --variables [1]": "no JSON object",
		"query {a} --var x":         "name=value",
		"query no.graphql":          "neither an operation nor a file",
		"query subscription{a} -u localhost:1 --raw -v x=1": "\n  tidings watch 'subscription{a}' --url localhost:1 --var x=1\n",
		"watch query{a} --token secret --json":              "\n  tidings query 'query{a}' --token …\n",
		"watch mutation{a}":                                 "a mutation has one answer",
		"watch {a}":                                         "tidings query '{a}'",
	} {
		if out, errs, status := calls(t, "", strings.Fields(args)...); status != statusUsage || !strings.Contains(errs, says) || out != "" {
			t.Errorf("tidings %s: status %d, %s%s", args, status, errs, out)
		}
	}
}
