package manifests_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	core "k8s.io/api/core/v1"
)

func TestPrograms(t *testing.T) {
	bin := programs(t)
	t.Run("know every setting", func(t *testing.T) { knowsEverySetting(t, bin) })
	t.Run("come up with what overlay ha says", func(t *testing.T) { comeUp(t, bin) })
	t.Run("come up with what overlay dev says", func(t *testing.T) { comeUpAlone(t, bin) })
}

// comeUp: the certificates of secrets.sh, the servers' configuration and the
// settings of overlays/ha are enough for the bus to be set up, and for worker and
// api to become ready: on one server, without its cluster, and with the
// ConfigMap's schema.
func comeUp(t *testing.T, bin string) {
	b := build(t, "overlays/ha", overlay(t, "overlays/ha", nil))
	secrets := trialSecrets(t)
	root := mounted(t, b, secrets)
	o := natsOptions(t, root, "nats-0")
	o.Host, o.Port, o.HTTPPort, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, 0, true, true
	o.Cluster, o.Routes, o.PidFile = server.ClusterOpts{}, nil, ""
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	h := host{root: root, bin: bin, bus: fmt.Sprintf("tls://localhost:%d", s.Addr().(*net.TCPAddr).Port), secrets: secrets}
	for _, w := range b.workloads(t) {
		if w.Metadata.Name == "bus-setup" {
			h.runs(t, b, w)
		}
	}
	for _, w := range b.workloads(t) {
		if w.ours() && w.serves() {
			h.becomesReady(t, b, w)
		}
	}
}

// comeUpAlone: so does the one pod of overlays/dev, and without secrets.
func comeUpAlone(t *testing.T, bin string) {
	b := build(t, "overlays/dev", overlay(t, "overlays/dev", nil))
	pods := b.workloads(t)
	if len(pods) != 1 {
		t.Fatalf("there are %v", pods)
	}
	host{root: t.TempDir(), bin: bin}.becomesReady(t, b, pods[0])
}

// programs builds what the image holds, and returns its folder.
func programs(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	compile := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", bin+"/", "./cmd/api", "./cmd/worker")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}
	return bin
}

func files(t *testing.T, b built, configMap string) map[string][]byte {
	t.Helper()
	var m core.ConfigMap
	b.find(t, "ConfigMap", configMap).into(t, &m)
	out := map[string][]byte{}
	for name, text := range m.Data {
		out[name] = []byte(text)
	}
	return out
}

// host runs containers as processes: their paths lie under root.
type host struct {
	root, bin, bus string
	secrets        map[string]core.Secret
}

// command is that of a container, with its settings and its certificate, and with
// other addresses.
func (h host) command(ctx context.Context, t *testing.T, b built, w workload) *exec.Cmd {
	t.Helper()
	dir := filepath.Join(h.root, w.Metadata.Name)
	c := w.pod.Spec.Containers[0]
	for _, v := range w.pod.Spec.Volumes {
		if v.Secret != nil {
			for file, content := range h.secrets[v.Secret.SecretName].Data {
				put(t, filepath.Join(dir, "bus", file), content)
			}
		}
	}
	for file, content := range files(t, b, "schema") {
		put(t, filepath.Join(dir, "schema", file), content)
	}
	put(t, filepath.Join(dir, "data", "here"), nil)
	run := exec.CommandContext(ctx, filepath.Join(h.bin, c.Command[0]), c.Command[1:]...)
	run.Env = []string{"TIDINGS_LISTEN=127.0.0.1:0"}
	for name, value := range h.secrets["tidings"].StringData {
		run.Env = append(run.Env, name+"="+value)
	}
	for _, kv := range environment(t, b, c) {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "TIDINGS_NATS_URL":
			value = h.bus
			run.Env = append(run.Env, "TIDINGS_NATS_SERVER_NAME=nats")
		case name == "TIDINGS_REPLICAS":
			value = "1"
		case strings.HasPrefix(value, "/"):
			value = dir + value
		}
		run.Env = append(run.Env, name+"="+value)
	}
	return run
}

func (h host) runs(t *testing.T, b built, w workload) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := h.command(ctx, t, b, w).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", w, err, out)
	}
}

// becomesReady starts it, waits until the path of its readiness probe says so, and
// stops it as Kubernetes does.
func (h host) becomesReady(t *testing.T, b built, w workload) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := h.command(ctx, t, b, w)
	admin := freeAddress(t)
	run.Env = append(run.Env, "TIDINGS_ADMIN="+admin, "TIDINGS_DRAIN_WINDOW=1s")
	var log bytes.Buffer
	run.Stdout, run.Stderr = &log, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for status := 0; status != http.StatusOK; {
		select {
		case err := <-ended:
			t.Fatalf("%s ended: %v\n%s", w, err, log.String())
		case <-look.C:
			status = get(ctx, "http://"+admin+w.pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Path)
		}
	}
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil || strings.Contains(log.String(), `"ERROR"`) {
		t.Errorf("%s ended: %v\n%s", w, err, log.String())
	}
}

// get returns the status of an answer, or 0 when there is none.
func get(ctx context.Context, url string) int {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
