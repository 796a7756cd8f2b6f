package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// mounted lays out what a pod of a NATS server sees, with the secrets of a trial,
// under a folder in the place of /, and returns it.
func mounted(t *testing.T, b built, secrets map[string]core.Secret) string {
	t.Helper()
	root := t.TempDir()
	for _, m := range []string{"nats-config", "nats-roles"} {
		var config core.ConfigMap
		b.find(t, "ConfigMap", m).into(t, &config)
		for file, text := range config.Data {
			text = strings.NewReplacer("/etc/", root+"/etc/", "/run/", root+"/run/", "/data", root+"/data").Replace(text)
			put(t, filepath.Join(root, "etc", "nats", file), []byte(text))
		}
	}
	for _, s := range []string{"nats-tls", "nats-routes"} {
		for file, content := range secrets[s].Data {
			put(t, filepath.Join(root, "etc", s, file), content)
		}
	}
	return root
}

func put(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// trialText is what secrets.sh prints.
func trialText(t *testing.T) []byte {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), filepath.Join(deployment, "secrets.sh")).Output()
	if err != nil {
		t.Fatalf("secrets.sh: %v", err)
	}
	return text
}

// trialSecrets are the same, by their names.
func trialSecrets(t *testing.T) map[string]core.Secret {
	t.Helper()
	all := map[string]core.Secret{}
	for document := range strings.SplitSeq(string(trialText(t)), "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var s core.Secret
		if err := yaml.UnmarshalStrict([]byte(document), &s); err != nil {
			t.Fatal(err)
		}
		all[s.Name] = s
	}
	return all
}

// natsOptions reads the servers' configuration as a server does.
func natsOptions(t *testing.T, root, pod string) *server.Options {
	t.Helper()
	t.Setenv("POD_NAME", pod)
	o := &server.Options{}
	if err := o.ProcessConfigFile(filepath.Join(root, "etc", "nats", "nats.conf")); err != nil {
		t.Fatal(err)
	}
	return o
}

// storeFits: a NATS server whose disk is full stops keeping anything.
func storeFits(t *testing.T, root string, disk *resource.Quantity) {
	t.Helper()
	if most := natsOptions(t, root, "nats-0").JetStreamMaxStore; most <= 0 || most > disk.Value()*95/100 {
		t.Errorf("the servers may store %d bytes on a volume of %s", most, disk)
	}
}

// It is not parallel: the configuration has a variable.
func TestServersOfNATSUnderstandTheirConfiguration(t *testing.T) {
	b := build(t, "overlays/ha", filepath.Join(deployment, "overlays/ha"))
	root := mounted(t, b, trialSecrets(t))
	o := natsOptions(t, root, "nats-0")
	if o.ServerName != "nats-0" || !o.TLSMap || o.Cluster.TLSConfig == nil || o.SyncAlways || o.LameDuckDuration < server.DEFAULT_LAME_DUCK_GRACE_PERIOD {
		t.Errorf("it is understood as %+v", o)
	}
	for _, w := range b.workloads(t) {
		for _, claim := range w.claims {
			storeFits(t, root, claim.Spec.Resources.Requests.Storage())
		}
	}
	users := map[string]string{}
	for _, u := range o.Users {
		users[u.Username] = u.Account.Name
	}
	for name, account := range map[string]string{"CN=tidings-api": "TIDINGS_API", "CN=tidings-worker": "TIDINGS", "CN=tidings-admin": "TIDINGS", "CN=tidings-system": "SYS"} {
		if users[name] != account {
			t.Errorf("%s comes to account %q", name, users[name])
		}
	}
}
