//go:build conformance

package processes

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What the banner offers to be pasted works as it stands: the watcher in the
// first terminal sees the mutation and the SOAP call of the second.
func TestTheBannerCanBePasted(t *testing.T) {
	t.Parallel()
	a := startAPI(t, "api", t.TempDir(), nil)
	blocks := readBanner(t, a)
	first := watch(t, blocks.named(t, "Watch"))
	// The stream begins a moment after curl has connected: it has when it shows
	// somebody that is made while it is watched for.
	admin := token(t, dataOf(a), "root", "ADMIN")
	visitors := 0
	poll(t, 10*time.Second, "the watcher shows a change", func() error {
		visitors++
		visitor := fmt.Sprintf("visitor%d", visitors)
		if _, err := mutate(t.Context(), a, admin, claim(visitor, visitor, visitor+"@example.org"), visitor); err != nil {
			return err
		}
		if !strings.Contains(first.String(), "event: next") {
			return fmt.Errorf("it shows %q", first)
		}
		return nil
	})

	vars := blocks.named(t, "In the second terminal, who you are")
	created := paste(t, vars, blocks.named(t, "Mutate"))
	mustHold(t, created, `"name":"Alice"`)
	first.mustShow(t, `"kind":"CREATED"`, `"id":"alice"`, `"name":"Alice"`)

	mustHold(t, paste(t, "", blocks.named(t, "Query")), `"name":"Alice"`, `"email":null`, "FORBIDDEN")

	answer := paste(t, "", blocks.named(t, "SOAP"))
	mustHold(t, answer, "Envelope", "Partner")
	if strings.Contains(answer, "Fault") {
		t.Errorf("a fault: %s", answer)
	}
	first.mustShow(t, `"name":"Partner"`)

	// The administrator's token is not part of any walk.
	name := regexp.MustCompile(`(?m)^ADMIN\w*`).FindString(vars)
	seen := paste(t, vars, `curl -s `+a.url+`/graphql -H "Authorization: Bearer $`+name+`" -H 'Content-Type: application/json' -d '{"query":"{ user(id: \"alice\") { email adminNotes } }"}'`)
	if want := `{"data":{"user":{"email":"alice@example.com","adminNotes":null}}}`; strings.TrimSpace(seen) != want {
		t.Errorf("the administrator got %s, want %s", seen, want)
	}
}

// blocks are the parts of the banner by the comment above them.
type blocks map[string]string

func readBanner(t testing.TB, a *api) blocks {
	t.Helper()
	list := blocks{}
	poll(t, 10*time.Second, "the banner is there", func() error {
		_, text, found := strings.Cut(a.output(t), "Tidings is running")
		if !found || !strings.Contains(text, "</soap:Envelope>'\n") {
			return fmt.Errorf("not yet")
		}
		title := ""
		for line := range strings.Lines(text) {
			if comment, ok := strings.CutPrefix(line, "# "); ok {
				title = comment
			} else if title != "" {
				list[title] += line
			}
			if line == "</soap:Envelope>'\n" {
				break
			}
		}
		return nil
	})
	return list
}

// named returns the one block whose comment begins with the words.
func (b blocks) named(t testing.TB, words string) string {
	t.Helper()
	for title, text := range b {
		if strings.HasPrefix(title, words) {
			return text
		}
	}
	t.Fatalf("the banner has no block %q", words)
	return ""
}

// paste runs lines as a terminal would and returns what they print.
func paste(t testing.TB, vars, block string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", vars+"\n"+block)
	cmd.Env = environ(t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", block, err)
	}
	return string(out)
}

// terminal shows what a command that goes on has printed so far.
type terminal struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.String()
}

// watch runs a block until the test ends.
func watch(t testing.TB, block string) *terminal {
	t.Helper()
	out := &terminal{}
	cmd := exec.Command("bash", "-c", block)
	cmd.Env = environ(t.TempDir())
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // bash and curl; perhaps they have ended
		_ = cmd.Wait()
	})
	return out
}

func (t *terminal) mustShow(tb testing.TB, words ...string) {
	tb.Helper()
	poll(tb, 10*time.Second, "the watcher sees it", func() error {
		for _, w := range words {
			if out := t.String(); !strings.Contains(out, w) {
				return fmt.Errorf("%s is missing in %s", w, out)
			}
		}
		return nil
	})
}

func mustHold(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s is missing in %s", w, text)
		}
	}
}
