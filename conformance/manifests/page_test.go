package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page for operators names each component and each secret.
func TestThePageNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	names := append([]string{}, secrets...)
	for combination, components := range everything(t) {
		if len(components) == 1 {
			names = append(names, components...)
		} else if len(components) == 0 {
			names = append(names, combination)
		}
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("it does not name %s", name)
		}
	}
}

// The list of secrets in the checks is no wish: secrets.sh makes those that overlay
// ha mounts.
func TestATrialHasItsSecrets(t *testing.T) {
	t.Parallel()
	made := trialSecrets(t)
	b := build(t, "overlays/ha", filepath.Join(deployment, "overlays/ha"))
	for _, w := range b.workloads(t) {
		for _, v := range w.pod.Spec.Volumes {
			if v.Secret == nil {
				continue
			}
			if s, ok := made[v.Secret.SecretName]; !ok || len(s.Data["tls.crt"]) == 0 || len(s.Data["tls.key"]) == 0 || len(s.Data["ca.crt"]) == 0 {
				t.Errorf("%s mounts %s, which has no certificate", w, v.Secret.SecretName)
			}
		}
	}
}

// The overlay that the page shows is one: with a schema beside it, kustomize builds
// it, and what comes out holds together.
func TestTheOverlayOfThePageCanBeBuilt(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	dir := t.TempDir()
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, tree)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer("../tidings/", relative+"/", "sha256:…", "sha256:"+strings.Repeat("0", 64)).Replace(text)
	put(t, filepath.Join(dir, "kustomization.yaml"), []byte(text))
	put(t, filepath.Join(dir, "schema", "schema.graphql"), []byte("type Mine @resource { id: ID! }"))
	put(t, filepath.Join(dir, "schema", "v1.soap.lock"), []byte("{}"))
	b := build(t, "the page's overlay", dir)
	fitsTheSchemas(t, b)
	selectsItsPods(t, b)
	hasWhatItRefersTo(t, b)
	for _, want := range []string{"registry.example.org/tidings:v1.2.3", "registry.example.org/nats@sha256:0", "storage: 100Gi", "type Mine @resource", "app.kubernetes.io/version: v1.2.3"} {
		if !strings.Contains(string(b.text), want) {
			t.Errorf("there is no %s in it", want)
		}
	}
}

// Whoever publishes the runbook elsewhere adds what its page shows to an overlay, and
// all alerts lead there.
func TestAlertsLeadToWhereTheRunbookIs(t *testing.T) {
	t.Parallel()
	_, snippet, _ := strings.Cut(text(t, runbook), "```yaml\n")
	snippet, _, _ = strings.Cut(snippet, "```")
	dir := overlay(t, "overlays/ha", []string{"monitoring"})
	file := filepath.Join(dir, "kustomization.yaml")
	put(t, file, []byte(text(t, file)+snippet))
	b := build(t, "monitoring with pages", dir)
	rules := string(b.find(t, "PrometheusRule", "tidings").text)
	if strings.Count(rules, "runbook_url: https://wiki.example.org/tidings/runbook#tidings") != strings.Count(rules, "- alert: ") {
		t.Errorf("some alerts lead elsewhere:\n%s", rules)
	}
	if len(b.pick("ConfigMap")) != len(build(t, "monitoring", overlay(t, "overlays/ha", []string{"monitoring"})).pick("ConfigMap")) {
		t.Error("the ConfigMap of the pages is deployed, too")
	}
}
