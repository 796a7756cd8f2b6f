package manifests_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// ofTargets are labels that the scrape gives, docs/metrics.md says which.
var ofTargets = []string{"namespace", "job", "pod", "instance"}

// documented reads docs/metrics.md: the labels of each metric.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(tidings_\\w+)` \\| (\\w+) \\| [^|]+ \\| [^|]+ \\| ([^|]*) \\|$")
	label := regexp.MustCompile("`(\\w+)`")
	all := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		var names []string
		for _, l := range label.FindAllStringSubmatch(m[3], -1) {
			names = append(names, l[1])
		}
		all[m[1]] = names
		if m[2] == "histogram" {
			all[m[1]+"_bucket"] = append([]string{"le"}, names...)
			all[m[1]+"_sum"], all[m[1]+"_count"] = names, names
		}
	}
	if len(all) < 60 {
		t.Fatalf("the page's table has %d metrics", len(all))
	}
	return all
}

// filled is a query as Grafana asks it once its variables are chosen.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$namespace", "tidings", "$job", "tidings/tidings", "$pod", "api-1").Replace(expr)
}

func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	known := documented(t)
	d, _ := readDashboard(t)
	asked := 0
	check := func(where, expr string) {
		asked++
		parsed, err := parser.ParseExpr(filled(expr))
		if err != nil {
			t.Errorf("%s: %s: %v", where, expr, err)
			return
		}
		for _, fault := range unknown(parsed, known) {
			t.Errorf("%s: %s in %s", where, fault, expr)
		}
	}
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			check(p.Title, q.Expr)
			if !strings.Contains(q.Expr, `namespace=~"$namespace",job=~"$job",pod=~"$pod"`) {
				t.Errorf("%s: %s does not heed what was chosen", p.Title, q.Expr)
			}
		}
	}
	for _, q := range d.Annotations.List {
		if q.Expr != "" {
			check("annotation", q.Expr)
		}
	}
	values := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := values.FindStringSubmatch(v.Definition)
		if m == nil || !slices.Contains(ofTargets, m[2]) {
			t.Errorf("variable %s is %s", v.Name, v.Definition)
			continue
		}
		check("variable "+v.Name, m[1])
	}
	if asked < 80 {
		t.Errorf("%d queries were looked at", asked)
	}
}

// unknown returns the metrics of the service that an expression names and that
// there are not, and likewise labels.
func unknown(expr parser.Expr, known map[string][]string) (faults []string) {
	has := map[string]bool{}
	for _, name := range append([]string{labels.MetricName, "le", "quantile", "alertname", "alertstate"}, ofTargets...) {
		has[name] = true
	}
	own := func(n parser.Node) {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return
		}
		names, there := known[v.Name]
		if !there && strings.HasPrefix(v.Name, "tidings_") {
			faults = append(faults, "there is no metric "+v.Name)
		}
		for _, name := range names {
			has[name] = true
		}
		for _, m := range v.LabelMatchers {
			if there && !slices.Contains(append(names, append(ofTargets, labels.MetricName)...), m.Name) {
				faults = append(faults, v.Name+" has no label "+m.Name)
			}
		}
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error { own(n); return nil })
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		var used []string
		switch n := n.(type) {
		case *parser.AggregateExpr:
			used = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = n.VectorMatching.MatchingLabels
			}
		}
		for _, name := range used {
			if !has[name] {
				faults = append(faults, "nothing has the label "+name)
			}
		}
		return nil
	})
	return faults
}

// The check sees what it is there for.
func TestWrongQueriesAreSeen(t *testing.T) {
	t.Parallel()
	known := documented(t)
	for _, expr := range []string{
		`sum(tidings_conections)`,
		`tidings_connections{kind="sse"}`,
		`sum by (verb) (tidings_connections)`,
		`rate(tidings_command_seconds_buckets[1m])`,
	} {
		parsed, err := parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		if len(unknown(parsed, known)) == 0 {
			t.Errorf("nothing is wrong with %s", expr)
		}
	}
}
