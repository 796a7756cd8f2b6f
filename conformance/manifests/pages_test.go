package manifests_test

import (
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// The parts of manifests that docs/operations.md, docs/metrics.md, docs/kubernetes.md
// and docs/runbook.md show are read strictly: members that Kubernetes, kustomize or
// Prometheus does not have are refused.
func TestManifestsOfThePagesAreRead(t *testing.T) {
	t.Parallel()
	var blocks []string
	for _, page := range []string{"operations.md", "metrics.md", "kubernetes.md", "runbook.md"} {
		blocks = append(blocks, yamlOf(t, page)...)
	}
	if len(blocks) < 6 {
		t.Fatalf("found %d blocks", len(blocks))
	}
	for _, block := range blocks {
		kind, _, _ := strings.Cut(block, ":")
		var into any
		switch strings.TrimSpace(kind) {
		case "relabel_configs":
			into = &scrape{}
		case "startupProbe", "lifecycle":
			into = &core.Container{}
		default:
			into = &types.Kustomization{}
		}
		err := yaml.UnmarshalStrict([]byte(block), into)
		if err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
}

// scrape is what the pages show of a scrape_config of Prometheus.
type scrape struct {
	RelabelConfigs []struct {
		SourceLabels []string `json:"source_labels"`
		TargetLabel  string   `json:"target_label"`
	} `json:"relabel_configs"`
}

func yamlOf(t *testing.T, page string) []string {
	t.Helper()
	var blocks []string
	for _, part := range strings.Split(text(t, "../../docs/"+page), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}
