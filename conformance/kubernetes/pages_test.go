//go:build kubernetes

package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/conformance/docs"
)

// stage is what the commands of the pages find: who forwards a port is left running
// while the block is run, and `make image` brings the image to the nodes.
const stage = `set -euo pipefail
forwards=()
trap '((${#forwards[@]} == 0)) || kill "${forwards[@]}"' EXIT
cp /etc/hosts "$OUT/hosts"
echo 127.0.0.1 nats-0.nats >> "$OUT/hosts"
mount --bind "$OUT/hosts" /etc/hosts
kubectl() {
  case "$*" in *port-forward*) ;; *) command kubectl "$@"; return ;; esac
  command kubectl "$@" > "$OUT/forward.log" 2>&1 &
  forwards+=($!)
  until (exec 3<> "/dev/tcp/127.0.0.1/${!#}") 2> /dev/null; do
    kill -0 $! || { cat "$OUT/forward.log"; return 1; }
    sleep 0.1
  done
}
make() { STORAGE=$("$RIG" storage) command make "$@" && "$RIG" ship localhost/tidings:dev; }
nats() { (cd "$OUT" && command nats "$@"); }
go() { command go "$@" < /dev/null > "$OUT/pprof.txt"; }
`

// step is what one block needs that has these words.
type step struct {
	words, dir, before string
	instead            []string // what stands in the place of what people fill in
}

const apiPod = `$(command kubectl -n tidings get pods -l app.kubernetes.io/component=api -o jsonpath={.items[0].metadata.name})`

// steps are looked through for the first that a block has.
var steps = []step{
	{words: "create namespace try", before: "kubectl delete namespace try --ignore-not-found"},
	{words: "-k .\n", dir: "conformance/kubernetes/overlay"},
	{words: "Bearer …", instead: []string{
		"'Authorization: Bearer …'", `"Authorization: Bearer $(command kubectl -n tidings exec deployment/api -- /api token --sub ann)"`,
		"curl ", "curl -fsS "}},
	{words: "from-file=TIDINGS_JWT_KEYS", before: `kubectl -n tidings delete secret tidings
openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 | openssl rsa -pubout > "$OUT/keys.pem"
cd "$OUT"`},
	{words: "stream backup", before: `for f in ca.crt tls.crt tls.key; do
  kubectl -n tidings get secret admin-bus -o "jsonpath={.data.${f/./\\.}}" | base64 -d > "$OUT/$f"
done`},
	{words: "pprof", before: `kubectl -n tidings set env deployment/api TIDINGS_PPROF=true
kubectl -n tidings rollout status deployment/api`, instead: []string{"seconds=30", "seconds=2"}},
	{words: " POD", instead: []string{" POD", " " + apiPod, "/POD:", "/" + apiPod + ":"}},
}

// The commands of the pages deploy and look at overlays dev and ha, on nodes where
// nothing is deployed.
func TestThePagesOnNodes(t *testing.T) {
	if _, err := run("", "kubectl", "delete", "namespace", namespace, "--ignore-not-found"); err != nil {
		t.Fatal(err)
	}
	rig, err := filepath.Abs("rig/rig.sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIG", rig)
	t.Setenv("OUT", t.TempDir())
	shown := 0
	for _, name := range []string{"docs/howto/kubernetes.md", "docs/kubernetes.md", "docs/operations.md", "docs/runbook.md"} {
		page, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := docs.Read(name, string(page))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.Rule+" "+b.Argument != "held by TestThePagesOnNodes" {
				continue
			}
			shown++
			out, err := runBlock(b)
			t.Logf("%s\n%s", b, out)
			if err != nil {
				t.Fatalf("%s: %v", b, err)
			}
		}
	}
	if shown != 10 {
		t.Errorf("the pages have %d blocks", shown)
	}
}

// runBlock runs a block with what it needs, in a mount namespace of its own, at the
// top of the tree unless its step says otherwise.
func runBlock(b docs.Block) (string, error) {
	var s step
	for _, s = range steps {
		if strings.Contains(b.Text, s.words) {
			break
		}
		s = step{}
	}
	text := strings.NewReplacer(s.instead...).Replace(strings.ReplaceAll(b.Text, " &\n", "\n"))
	return run("", "unshare", "--mount", "--wd", filepath.Join("../..", s.dir), "bash", "-c", stage+s.before+"\n"+text)
}
