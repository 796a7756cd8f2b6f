package manifests_test

import (
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The parts of manifests that docs/operations.md and docs/metrics.md show are read
// strictly: members that Kubernetes or Prometheus does not have are refused.
func TestManifestsOfThePagesAreRead(t *testing.T) {
	t.Parallel()
	blocks := append(yamlOf(t, "operations.md"), yamlOf(t, "metrics.md")...)
	if len(blocks) < 3 {
		t.Fatalf("found %d blocks", len(blocks))
	}
	for _, block := range blocks {
		var err error
		if strings.HasPrefix(block, "relabel_configs") {
			var scrape struct {
				RelabelConfigs []struct {
					SourceLabels []string `json:"source_labels"`
					TargetLabel  string   `json:"target_label"`
				} `json:"relabel_configs"`
			}
			err = yaml.UnmarshalStrict([]byte(block), &scrape)
		} else {
			err = yaml.UnmarshalStrict([]byte(block), &core.Container{})
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
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
