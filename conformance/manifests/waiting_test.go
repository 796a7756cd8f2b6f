package manifests_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Workers are scaled by what apis wait for. What workers wait for themselves is part
// of what they do already: counted, it would call for more workers as there are more.
func TestWorkersAreScaledByWhatApisWaitFor(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed: make manifests")
	}
	for name, query := range map[string]string{"hpa": waitingOfHPA(t), "keda": waitingOfKEDA(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := evaluates(t, query, 12); err != nil {
				t.Errorf("%s: %s", query, out)
			}
			if _, err := evaluates(t, query, 812); err == nil {
				t.Errorf("%s says 812, too", query)
			}
		})
	}
}

// waitingOfHPA is what prometheus-adapter asks for the namespace tidings.
func waitingOfHPA(t *testing.T) string {
	t.Helper()
	var adapter struct {
		ExternalRules []struct {
			MetricsQuery string `json:"metricsQuery"`
		} `json:"externalRules"`
	}
	if err := yaml.Unmarshal([]byte(text(t, filepath.Join(deployment, "components/hpa/prometheus-adapter.yaml"))), &adapter); err != nil {
		t.Fatal(err)
	}
	if len(adapter.ExternalRules) != 1 {
		t.Fatalf("there are %d external rules", len(adapter.ExternalRules))
	}
	return strings.NewReplacer("<<.Series>>", "tidings_commands_waiting", "<<.LabelMatchers>>", `namespace="tidings"`).Replace(adapter.ExternalRules[0].MetricsQuery)
}

// waitingOfKEDA is what KEDA asks.
func waitingOfKEDA(t *testing.T) string {
	t.Helper()
	var scaled struct {
		Spec struct {
			Triggers []struct {
				Type     string            `json:"type"`
				Metadata map[string]string `json:"metadata"`
			} `json:"triggers"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(text(t, filepath.Join(deployment, "components/keda/worker.yaml"))), &scaled); err != nil {
		t.Fatal(err)
	}
	for _, trigger := range scaled.Spec.Triggers {
		if trigger.Type == "prometheus" {
			return trigger.Metadata["query"]
		}
	}
	t.Fatal("KEDA does not ask Prometheus")
	return ""
}

// evaluates asks promtool whether a query has the value want of two apis for which
// 5 and 7 wait, a worker for which 800 do, and another service.
func evaluates(t *testing.T, query string, want float64) ([]byte, error) {
	t.Helper()
	series := func(name, namespace, pod, values string) map[string]any {
		return map[string]any{"series": name + `{namespace="` + namespace + `",pod="` + pod + `",instance="` + pod + `:9090"}`, "values": values}
	}
	content, err := yaml.Marshal(map[string]any{"tests": []any{map[string]any{
		"interval": "15s",
		"input_series": []any{
			series("tidings_commands_waiting", "tidings", "api-1", "5x10"), series("tidings_connections_max", "tidings", "api-1", "20000x10"),
			series("tidings_commands_waiting", "tidings", "api-2", "7x10"), series("tidings_connections_max", "tidings", "api-2", "0x10"),
			series("tidings_commands_waiting", "tidings", "worker-1", "800x10"),
			series("tidings_commands_waiting", "other", "api-1", "90x10"), series("tidings_connections_max", "other", "api-1", "20000x10"),
		},
		"promql_expr_test": []any{map[string]any{
			"expr": query, "eval_time": "1m", "exp_samples": []any{map[string]any{"labels": "{}", "value": want}},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput()
}
