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
