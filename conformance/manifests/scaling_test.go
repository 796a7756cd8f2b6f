package manifests_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	scaling "k8s.io/api/autoscaling/v2"
)

// What scales has the figures that it asks for, and the number of pods to itself.
func TestScalingHasItsFigures(t *testing.T) {
	t.Parallel()
	metrics, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := os.ReadFile(filepath.Join(deployment, "components/hpa/prometheus-adapter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b := build(t, "hpa", overlay(t, "overlays/ha", []string{"hpa"}))
	for _, o := range b.pick("HorizontalPodAutoscaler") {
		var h scaling.HorizontalPodAutoscaler
		o.into(t, &h)
		for _, m := range h.Spec.Metrics {
			var name string
			switch m.Type {
			case scaling.PodsMetricSourceType:
				name = m.Pods.Metric.Name
				if m.Pods.Target.AverageValue.Value() != maxConnections(t, b)*7/10 {
					t.Errorf("%s: %s is not 70 %% of what an api takes", o, name)
				}
			case scaling.ExternalMetricSourceType:
				name = m.External.Metric.Name
			default:
				continue
			}
			if !strings.Contains(string(metrics), name) || !strings.Contains(string(adapter), "as: "+name) {
				t.Errorf("%s asks for %s, which nobody tells", o, name)
			}
		}
		for _, w := range b.pick("Deployment") {
			if w.Metadata.Name == h.Spec.ScaleTargetRef.Name && strings.Contains(string(w.text), "\n  replicas:") {
				t.Errorf("%s is scaled, and an apply sets it back", w)
			}
		}
	}
	k := build(t, "keda", overlay(t, "overlays/ha", []string{"hpa", "keda"}))
	if left := k.pick("HorizontalPodAutoscaler"); len(left) != 1 || left[0].Metadata.Name != "api" {
		t.Errorf("beside KEDA there are %v", left)
	}
	for _, name := range regexp.MustCompile(`tidings_[a-z_]+`).FindAllString(string(k.find(t, "ScaledObject", "worker").text), -1) {
		if !strings.Contains(string(metrics), name) {
			t.Errorf("KEDA asks for %s, which nobody tells", name)
		}
	}
}

// maxConnections is what an api takes: as set, or by the page of settings.
func maxConnections(t *testing.T, b built) int64 {
	t.Helper()
	text, set := settingsOf(t, b)["TIDINGS_MAX_CONNECTIONS"]
	if !set {
		page, err := os.ReadFile("../../docs/configuration.md")
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("TIDINGS_MAX_CONNECTIONS`[^\n]*?\\| `?([0-9]+)`? ").FindSubmatch(page)
		if found == nil {
			t.Fatal("docs/configuration.md does not say how many connections an api takes")
		}
		text = string(found[1])
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
