//go:build conformance && linux

package docs_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/conformance/docs"
	"tidings/conformance/tool"
)

// stage is what a page's commands find: functions for setups.
//
//go:embed stage.sh
var stage string

// bin is where TestMain has built the programs, or somebody else has who names the
// place by TIDINGS_TEST_BIN.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tidings-docs-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = filepath.Join(dir, "bin")
	if made := os.Getenv("TIDINGS_TEST_BIN"); made != "" {
		bin = made
		return m.Run()
	}
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds the programs, and those of NATS that operators use beside them.
func build() error {
	if out, err := exec.Command("go", "build", "-o", bin+"/", "tidings/cmd/...", "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return errors.Join(tool.NATS.Build(bin), tool.NSC.Build(bin))
}

// Each page is run from top to bottom in a directory of its own, on a network of
// its own, where the ports that it names are free.
func TestThePagesDoAsTheySay(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		runs := slices.ContainsFunc(all[name], func(b docs.Block) bool {
			kind, err := docs.KindOf(b)
			return err == nil && (kind == docs.Run || kind == docs.Executed)
		})
		if !runs {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, all[name])
		})
	}
}

// run writes the script of a page, runs it, and compares what came of it.
func run(t *testing.T, page []docs.Block) {
	dir := t.TempDir()
	out := filepath.Join(dir, ".out")
	work := filepath.Join(dir, "work")
	for _, d := range []string{out, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	s := script{out: out, work: work}
	s.printf("TREE=%q BIN=%q OUT=%q\n%s", tree, bin, out, stage)
	for i, b := range page {
		if err := s.block(i, b); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	// Processes that the page has started end with the first of its own.
	cmd := exec.CommandContext(ctx, "unshare", append(namespaces(), "bash")...)
	cmd.Dir, cmd.Stdin = work, strings.NewReader(s.text.String())
	cmd.Env = append(append(os.Environ(), caches(t)...), "HOME="+work, "PATH="+bin+":"+os.Getenv("PATH"))
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		at, _ := os.ReadFile(filepath.Join(out, "at"))
		i := slices.IndexFunc(page, func(b docs.Block) bool { return b.String() == strings.TrimSpace(string(at)) })
		t.Fatalf("%s: %v\n%s\nit wrote:\n%s\nthe service wrote:\n%s", at, err, log.Bytes()[max(0, log.Len()-1500):],
			tail(filepath.Join(out, fmt.Sprint(i))), tail(filepath.Join(work, "service.log")))
	}
	for i, b := range page {
		compare(t, out, page, i, b)
	}
}

// caches say where Go has what it needs, wherever HOME is.
func caches(t *testing.T) (environ []string) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		where, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		environ = append(environ, name+"="+strings.TrimSpace(string(where)))
	}
	return environ
}

// namespaces are the flags of unshare. Who is not root becomes it in a namespace of
// users, where the system lets everybody make one.
func namespaces() []string {
	flags := []string{"--net", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Geteuid() != 0 {
		flags = append(flags, "--map-root-user")
	}
	return flags
}

// script is a page as commands for bash.
type script struct {
	text      strings.Builder
	out, work string
}

func (s *script) printf(format string, args ...any) { fmt.Fprintf(&s.text, format, args...) }

// block writes what is done for one block. What it writes goes to a file that has
// the block's number for a name.
func (s *script) block(i int, b docs.Block) error {
	file := filepath.Join(s.out, fmt.Sprint(i))
	s.printf("\necho %q > \"$OUT/at\"\n", b.String())
	if b.Language == "setup" {
		s.printf("{\n%s} > %q\n", b.Text, file)
		return nil
	}
	kind, err := docs.KindOf(b)
	if err != nil {
		return err
	}
	switch kind {
	case docs.Written:
		s.printf("mkdir -p \"$(dirname %q)\"\ncp %q %q\n", b.Argument, file, b.Argument)
		return os.WriteFile(file, []byte(b.Source()), 0o644)
	case docs.Compiled:
		s.printf("SDL=%q\n", file)
		return os.WriteFile(file, []byte(b.Source()), 0o644)
	case docs.Executed:
		return s.operation(file, b)
	case docs.Run:
		return s.program(file, b)
	}
	return nil
}

// operation sends a document to the service that the page has started.
func (s *script) operation(file string, b docs.Block) error {
	request := map[string]any{"query": b.Source()}
	if text, has := strings.CutPrefix(b.Rule+" "+b.Argument, "variables "); has {
		request["variables"] = json.RawMessage(text)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("%s: %w", b, err)
	}
	if err := os.WriteFile(file+".request", body, 0o644); err != nil {
		return err
	}
	how := "ask"
	if strings.Contains(b.Text, "subscription") {
		how = "listen"
	}
	s.printf("OPERATION=%[2]q\n%[1]s \"$OPERATION\" > %[3]q\n", how, file+".request", file)
	return nil
}

// interpreters run the programs of a language, whose file has this ending.
var interpreters = map[string]struct{ ending, command string }{
	"sh":     {".sh", `source <(sed "$FILL" %q)`},
	"python": {".py", "/usr/bin/python3 %q"},
	"php":    {".php", "php %q"},
	"js":     {".mjs", "node %q"},
	"java":   {".java", "java -cp .:/usr/share/java/jaxws-tools.jar %q"},
	"csharp": {".cs", "mono_run %q"},
	"kotlin": {".kts", "kotlin_run %q"},
	"sql":    {".sql", `sed "$FILL" %q | psql -qX -v ON_ERROR_STOP=1`},
}

func (s *script) program(file string, b docs.Block) error {
	how := interpreters[b.Language]
	name := filepath.Join(s.work, "Block"+filepath.Base(file)+how.ending)
	if err := os.WriteFile(name, []byte(b.Source()), 0o644); err != nil {
		return err
	}
	command := fmt.Sprintf(how.command, name)
	switch b.Rule {
	case "until":
		s.printf("LAST=%[2]q\n{ %[1]s; } < /dev/null > \"$LAST\" 2>&1 &\nFILL=\nuntil_done %[3]s\n", command, file, b.Argument)
	case "as":
		s.printf("status=0\n( set -e; %s ) < /dev/null > %q 2>&1 || status=$?\n[ $status = %s ] || { cat %[2]q; echo \"it ended with $status\"; exit 1; }\nFILL=\n", command, file, b.Argument)
	default:
		s.printf("LAST=%[2]q\n{ %[1]s; } < /dev/null > \"$LAST\" 2> >(tee \"$LAST.err\" >&2)\nFILL=\n", command, file)
	}
	return nil
}

// compare holds what a block has answered, and what a page says that it answers.
func compare(t *testing.T, out string, page []docs.Block, i int, b docs.Block) {
	t.Helper()
	kind, _ := docs.KindOf(b)
	wanted := i+1 < len(page) && page[i+1].Rule == "answer"
	if kind == docs.Executed && !wanted {
		if text := read(t, out, i); strings.Contains(text, `"errors"`) || !strings.Contains(text, "data") && !strings.Contains(text, "id:") {
			t.Errorf("%s: %s", b, text)
		}
	}
	if kind != docs.Compared {
		return
	}
	if i == 0 {
		t.Errorf("%s: there is no block before it", b)
		return
	}
	var err error
	if got := read(t, out, i-1); b.Rule == "answer" {
		err = docs.SameJSON(b.Text, got)
	} else {
		err = docs.SameLines(b.Text, got)
	}
	if err != nil {
		t.Errorf("%s: %v", b, err)
	}
}

func read(t *testing.T, out string, i int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, fmt.Sprint(i)))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "(nothing)"
	}
	all := string(text)
	if _, after, greets := strings.Cut(all, "</soap:Envelope>"); greets { // the end of what development mode greets with
		all = after
	}
	return all[max(0, len(all)-2000):]
}
