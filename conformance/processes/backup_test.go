//go:build conformance

package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidings/conformance/tool"
)

// The drill of docs/operations.md, Backup and restore, with the nats CLI: what
// was acknowledged before the backup is there again, what came after it is not,
// and cursors and positions from before are refused rather than believed.
func TestABackupIsRestoredWithTheCommandsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	buildTool(t, tool.NATS)
	c := startCluster(t)
	authors := c.authors(t, 4)
	w := write(t, authors, c.apis)
	w.progress(t, 200)
	kept := map[string]string{}
	for i := range 20 {
		kept[c.create(t, authors[0], fmt.Sprintf("kept %d", i))] = fmt.Sprintf("kept %d", i)
	}
	streams := []string{"tidings-log", "KV_tidings-answers", "KV_tidings-revoked", "KV_tidings-jobs", "tidings-jobs", "KV_tidings-operations"}
	dir := t.TempDir()
	for _, stream := range streams { // under load
		c.cli(t, "stream", "backup", stream, filepath.Join(dir, stream))
	}
	w.progress(t, 50)
	w.end(t)
	late := c.create(t, authors[0], "too late")
	position := c.position(t)

	for _, p := range append(c.workers, c.apis[0].process, c.apis[1].process) {
		p.terminate(t)
	}
	for _, p := range append(c.workers, c.apis[0].process, c.apis[1].process) {
		p.exit(t, patience)
	}
	for _, stream := range streams {
		c.cli(t, "stream", "rm", "-f", stream)
		c.cli(t, "stream", "restore", filepath.Join(dir, stream))
	}
	renew := exec.Command(program("api"), "log", "renew")
	renew.Env = append(os.Environ(), "TIDINGS_NATS_URL="+c.bus)
	if out, err := renew.CombinedOutput(); err != nil {
		t.Fatalf("api log renew: %v\n%s", err, out)
	}
	check := exec.Command(program("api"), "log", "check", "--schema", social(t))
	check.Env = renew.Env
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("api log check: %v\n%s", err, out)
	}
	for _, p := range append(c.workers, c.apis[0].process, c.apis[1].process) {
		p.run(t)
		p.waitReady(t)
	}
	for _, a := range c.apis {
		posts, err := list(t.Context(), a.url, anybody, "posts", "id title")
		if err != nil {
			t.Fatal(err)
		}
		for id, text := range kept {
			if posts[id].Title != text {
				t.Errorf("%s: what was acknowledged before the backup as %s is %q, want %q", a.name, id, posts[id].Title, text)
			}
		}
		if posts[late].ID != "" {
			t.Errorf("%s: what came after the backup is there", a.name)
		}
		r, err := postAll(t.Context(), a.url, anybody, call{Query: "{ posts { nodes { id } } }", Extensions: map[string]any{"position": position}})
		if err != nil || len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "CURSOR_EXPIRED" {
			t.Errorf("%s: a read with a position of before: %+v, %v", a.name, r.Errors, err)
		}
	}
	again := write(t, authors, c.apis)
	again.progress(t, 20)
	again.end(t)
}

// buildTool builds a program of others beside ours.
func buildTool(t testing.TB, of tool.Tool) {
	t.Helper()
	if err := of.Build(filepath.Join(bin, "cli")); err != nil {
		t.Fatal(err)
	}
}

// create creates a post.
func (c *cluster) create(t testing.TB, token, title string) (id string) {
	t.Helper()
	id, err := mutate(t.Context(), c.apis[0], token, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": title}}}, title)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// position is how far the log has come.
func (c *cluster) position(t testing.TB) string {
	t.Helper()
	r, err := postAll(t.Context(), c.apis[0].url, anybody, call{Query: "{ __typename }", Extensions: map[string]any{"position": true}})
	if err != nil || r.Extensions.Position == "" {
		t.Fatalf("no position: %+v, %v", r, err)
	}
	return r.Extensions.Position
}

// cli runs the nats CLI.
func (c *cluster) cli(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "cli", "nats"), append([]string{"--server", c.bus}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nats %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
