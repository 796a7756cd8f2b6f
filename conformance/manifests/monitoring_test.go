package manifests_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the rules of component monitoring")

// Prometheus's operator takes the rules of deploy/prometheus in an object of its own
// kind. go test -run Rules ./... -update writes it.
func TestTheRulesAreThoseThatAreTested(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules map[string]any
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}
	object, err := yaml.Marshal(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1",
		"kind":       "PrometheusRule",
		"metadata":   map[string]any{"name": "tidings", "labels": map[string]any{"app.kubernetes.io/name": "tidings", "app.kubernetes.io/part-of": "tidings"}},
		"spec":       rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte("# Written from deploy/prometheus/rules.yaml by conformance/manifests.\n"), object...)
	file := filepath.Join(deployment, "components/monitoring/rules.yaml")
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what deploy/prometheus/rules.yaml says (%v): cd conformance/manifests && go test -run Rules . -update", file, err)
	}
}
