package manifests_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
)

// conforms looks whether what YAML says is what Kubernetes takes, field by field,
// with the schemas of deploy/k8s/schemas alone.
func conforms(t *testing.T, name string, text []byte) (faults []string) {
	t.Helper()
	stored := filepath.Join(deployment, "schemas", "{{.ResourceKind}}{{.KindSuffix}}.json")
	v, err := validator.New([]string{stored}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Validate(name, io.NopCloser(bytes.NewReader(text))) {
		if r.Status != validator.Valid && r.Status != validator.Empty {
			sig, _ := r.Resource.Signature()
			faults = append(faults, sig.Kind+" "+sig.Name+": "+r.Err.Error())
		}
	}
	return faults
}

func fitsTheSchemas(t *testing.T, b built) {
	for _, fault := range conforms(t, b.name, b.text) {
		t.Error(fault)
	}
}

// A check that lets everything pass would be of no use.
func TestMisspeltFieldsAreRefused(t *testing.T) {
	t.Parallel()
	b := build(t, "overlays/ha", overlay(t, "overlays/ha", nil))
	for right, wrong := range map[string]string{
		"terminationGracePeriodSeconds: 60": "teminationGracePeriodSeconds: 60",
		"maxUnavailable: 1":                 "maxUnavailable: [1]",
		"kind: StatefulSet":                 "kind: StatefullSet",
		"runAsNonRoot: true":                "runAsNonRoot: yes please",
		"topologyKey: kubernetes.io":        "topologyKind: kubernetes.io",
	} {
		text := strings.ReplaceAll(string(b.text), right, wrong)
		if text == string(b.text) {
			t.Errorf("there is no %s", right)
		} else if len(conforms(t, b.name, []byte(text))) == 0 {
			t.Errorf("%s passes", wrong)
		}
	}
	if faults := conforms(t, "secrets.sh", trialText(t)); len(faults) > 0 {
		t.Error(faults)
	}
}
