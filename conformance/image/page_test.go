//go:build conformance

package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidings/conformance/docs"
)

// around is what the command of the page is run in: a network of its own, where the
// ports that it publishes are free. It answers, and ends when it is told to.
const around = `set -euo pipefail
ip link set lo up
on() { command podman $OPTIONS "$@"; }
podman() { on run --name tidings-page --network host $LIMITS "${@:2}" > log 2>&1 & }
`

const asked = `
trap 'cat log; on kill -s KILL tidings-page' ERR
for _ in {1..600}; do
  ! curl -sf -o /dev/null http://localhost:9090/readyz || break
  kill -0 $!
  sleep 0.1
done
curl -sSf http://localhost:8080/graphql -H 'Content-Type: application/json' -d '{"query": "{ users { nodes { id } } }"}'
on kill -s TERM tidings-page
wait $!
`

func TestTheCommandOfThePageRuns(t *testing.T) {
	t.Parallel()
	image(t)
	page, err := os.ReadFile("../../docs/release.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docs.Read("docs/release.md", string(page))
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	for _, b := range blocks {
		if b.Rule == "held" {
			ran = true
			runPage(t, strings.ReplaceAll(b.Text, "localhost/tidings:dev", name))
		}
	}
	if !ran {
		t.Error("the page has no command")
	}
}

func runPage(t *testing.T, command string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "schema"), os.DirFS("../../examples/social")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(secret), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "bash", "-c", around+command+asked)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LIMITS="+strings.Join(hardened[len(hardened)-4:], " "), "OPTIONS="+strings.Join(append(storage(), "--cgroup-manager", "cgroupfs", "--runtime", "runc"), " "))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `{"data":{"users":`) {
		t.Fatalf("%v\n%s", err, out)
	}
}
