package manifests_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const (
	alertRules = "../../deploy/prometheus/rules.yaml"
	alertTests = "../../deploy/prometheus/tests"
	runbook    = "../../docs/runbook.md"
)

// rule is a recording rule or an alert.
type rule struct {
	Record      string            `json:"record"`
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rulesOf(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name     string `json:"name"`
			Interval string `json:"interval"`
			Rules    []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict([]byte(text(t, alertRules)), &file); err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

func TestEachAlertHasAnEntryInTheRunbook(t *testing.T) {
	t.Parallel()
	headings := map[string]bool{}
	for _, m := range entry.FindAllStringSubmatch(text(t, runbook), -1) {
		headings[m[1]] = true
	}
	for _, r := range rulesOf(t) {
		if r.Alert == "" {
			continue
		}
		if !headings[r.Alert] {
			t.Errorf("docs/runbook.md has no entry ### %s", r.Alert)
		}
		delete(headings, r.Alert)
		if want := "https://tidings.example/docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, not %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity is %q", r.Alert, s)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s says nothing to who is woken by it", r.Alert)
		}
	}
	for h := range headings {
		t.Errorf("docs/runbook.md: there is no alert %s", h)
	}
}

// make alerts runs what is looked at here.
func TestEachAlertFiresInATestAndIsSilentWhenAllIsWell(t *testing.T) {
	t.Parallel()
	fired := map[string]bool{}
	for _, file := range testsOfAlerts(t) {
		for _, m := range firing.FindAllStringSubmatch(text(t, file), -1) {
			fired[m[1]] = true
		}
	}
	healthy := text(t, filepath.Join(alertTests, "healthy.yaml"))
	recorded := recordedBy(rulesOf(t))
	for _, r := range rulesOf(t) {
		if r.Alert != "" && !fired[r.Alert] {
			t.Errorf("%s fires in no test of deploy/prometheus/tests", r.Alert)
		}
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			if !recorded[name] && !strings.Contains(healthy, name+"{") {
				t.Errorf("tests/healthy.yaml has no %s, which %s%s looks at", name, r.Alert, r.Record)
			}
		}
	}
}

func TestRulesAndManifestsNameMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, m := range listed.FindAllStringSubmatch(text(t, "../../docs/metrics.md"), -1) {
		known[m[1]] = true
		if m[2] == "histogram" {
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				known[m[1]+part] = true
			}
		}
	}
	if len(known) == 0 {
		t.Fatal("docs/metrics.md lists no metrics")
	}
	recorded := recordedBy(rulesOf(t))
	files := append(testsOfAlerts(t), alertRules, runbook)
	err := filepath.WalkDir(deployment, func(path string, entry os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, name := range slices.Sorted(maps.Keys(metricsIn(text(t, file)))) {
			if !known[name] && !recorded[name] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

var (
	entry      = regexp.MustCompile(`(?m)^### (\S+)$`)
	firing     = regexp.MustCompile(`(?m)^ +- \{ labels: '\{alertname="(\w+)"\}', value: 1 \}$`) // of exp_samples
	listed     = regexp.MustCompile("(?m)^\\| `(tidings_\\w+)` \\| (\\w+) \\|")
	metricName = regexp.MustCompile(`(?:\w+:)?\btidings_\w+(?::\w+)?`)
)

// metricsIn are the names of metrics and of recording rules in a text.
func metricsIn(text string) map[string]bool {
	names := map[string]bool{}
	for _, name := range metricName.FindAllString(text, -1) {
		names[name] = true
	}
	return names
}

// recordedBy are the names that recording rules make.
func recordedBy(rules []rule) map[string]bool {
	names := map[string]bool{}
	for _, r := range rules {
		if r.Record != "" {
			names[r.Record] = true
		}
	}
	return names
}

func testsOfAlerts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(alertTests, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s (%v)", alertTests, err)
	}
	return files
}

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestTheRunbookAsksWhatPrometheusUnderstands(t *testing.T) {
	t.Parallel()
	known := documented(t)
	for _, m := range quoted.FindAllStringSubmatch(text(t, runbook), -1) {
		if !strings.Contains(m[1], "tidings_") && !strings.Contains(m[1], "process_") {
			continue
		}
		expr, err := parser.ParseExpr(m[1])
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
			continue
		}
		for _, fault := range unknown(expr, known) {
			t.Errorf("%s: %s", m[1], fault)
		}
	}
}

var quoted = regexp.MustCompile("`([^`\n]+)`")
