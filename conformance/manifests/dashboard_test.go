package manifests_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
)

// dashboardFile is what Grafana is given.
const dashboardFile = "../../deploy/grafana/tidings.json"

// dashboard is that of it which is checked.
type dashboard struct {
	UID           string `json:"uid"`
	ID            *int   `json:"id"`
	SchemaVersion int    `json:"schemaVersion"`
	Links         []link `json:"links"`
	Panels        []panel
	Templating    struct{ List []variable }
	Annotations   struct{ List []query }
}

type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	Datasource  source
	GridPos     struct{ X, Y, W, H int }
	Targets     []query
	Links       []link
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []struct{ Value *float64 } }
		}
	}
}

type query struct {
	RefID        string `json:"refId"`
	Expr         string
	LegendFormat string
	Format       string
	Datasource   source
}

type variable struct {
	Name       string
	Type       string
	Definition string
	Datasource source
	Multi      bool
	IncludeAll bool
}

type source struct{ Type, UID string }

type link struct{ Title, URL string }

// byVariable is the data source that the reader has chosen.
var byVariable = source{Type: "prometheus", UID: "${datasource}"}

func readDashboard(t *testing.T) (d dashboard, text []byte) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d, text
}

// What has no title in its row, no unit or no words cannot be read by who did not
// make it.
func TestTheDashboardHasTheShapeThatGrafanaNeeds(t *testing.T) {
	t.Parallel()
	d, text := readDashboard(t)
	if d.UID == "" || d.ID != nil || d.SchemaVersion < 39 {
		t.Errorf("uid %q, id %v, schemaVersion %d", d.UID, d.ID, d.SchemaVersion)
	}
	if len(text) > 250_000 {
		t.Errorf("%d bytes: kubectl apply takes 256 KiB in a ConfigMap", len(text))
	}
	ids, row, titles := map[int]bool{}, "", map[string]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID <= 0 {
			t.Errorf("panel %q has the id %d, which is not its own", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			row = p.Title
			continue
		}
		name := row + ": " + p.Title
		if titles[name] {
			t.Errorf("%s is there twice", name)
		}
		titles[name] = true
		checkPanel(t, name, p)
	}
	if len(titles) < 40 {
		t.Errorf("%d panels were looked at", len(titles))
	}
}

func checkPanel(t *testing.T, name string, p panel) {
	t.Helper()
	defaults := p.FieldConfig.Defaults
	if p.Title == "" || p.Description == "" || defaults.Unit == "" || len(defaults.Thresholds.Steps) == 0 || defaults.Thresholds.Steps[0].Value != nil {
		t.Errorf("%s needs a title, a description, a unit, and thresholds that begin with a base", name)
	}
	if p.Datasource != byVariable || len(p.Targets) == 0 {
		t.Errorf("%s: data source %v, %d queries", name, p.Datasource, len(p.Targets))
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if q.Datasource != byVariable || q.RefID == "" || refs[q.RefID] {
			t.Errorf("%s: query %q of %v", name, q.RefID, q.Datasource)
		}
		refs[q.RefID] = true
		if q.LegendFormat == "" && (len(p.Targets) > 1 || p.Type == "timeseries") {
			t.Errorf("%s: query %s has no legend", name, q.RefID)
		}
		if (p.Type == "heatmap") != (q.Format == "heatmap") {
			t.Errorf("%s: a %s of the format %q", name, p.Type, q.Format)
		}
	}
}

func TestPanelsOfTheDashboardDoNotOverlap(t *testing.T) {
	t.Parallel()
	d, _ := readDashboard(t)
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		g := p.GridPos
		if g.X < 0 || g.Y < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%s is at %+v, beyond the 24 columns", p.Title, g)
			continue
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

var variableUse = regexp.MustCompile(`\$(\w+)|\$\{(\w+)[^}]*\}`)

func TestVariablesOfTheDashboardAreThereAndUsed(t *testing.T) {
	t.Parallel()
	d, text := readDashboard(t)
	used, known := map[string]bool{}, map[string]bool{}
	for _, m := range variableUse.FindAllStringSubmatch(string(text), -1) {
		if name := m[1] + m[2]; !strings.HasPrefix(name, "__") {
			used[name] = true
		}
	}
	for _, v := range d.Templating.List {
		known[v.Name] = true
		if v.Type == "query" && (v.Datasource != byVariable || !v.Multi || !v.IncludeAll) {
			t.Errorf("variable %s asks %v, multi %v, all %v", v.Name, v.Datasource, v.Multi, v.IncludeAll)
		}
	}
	if !maps.Equal(used, known) {
		t.Errorf("there are %v, and used are %v", slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(used)))
	}
	for _, name := range []string{"datasource", "namespace", "job", "pod"} {
		if !known[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// Anchors of a page are its headings, as those that render Markdown make them.
func TestLinksOfTheDashboardLeadSomewhere(t *testing.T) {
	t.Parallel()
	d, _ := readDashboard(t)
	links := slices.Clone(d.Links)
	for _, p := range d.Panels {
		links = append(links, p.Links...)
	}
	for _, l := range links {
		path, ok := strings.CutPrefix(l.URL, "${docs}/")
		if !ok || l.Title == "" {
			t.Errorf("%q leads to %s, not to the documentation", l.Title, l.URL)
			continue
		}
		file, anchor, _ := strings.Cut(path, "#")
		page, err := os.ReadFile("../../docs/" + file)
		if err != nil {
			t.Error(err)
			continue
		}
		heading := regexp.MustCompile(fmt.Sprintf(`(?im)^#+ +%s *$`, regexp.QuoteMeta(anchor)))
		if anchor != "" && !heading.Match(page) {
			t.Errorf("docs/%s has no heading %s", file, anchor)
		}
	}
}

// Grafana's sidecar finds the ConfigMap by its label, beside the PodMonitor, and the
// name does not change with what is in it.
func TestTheSidecarFindsTheDashboard(t *testing.T) {
	t.Parallel()
	b := build(t, "overlays/ha, monitoring", overlay(t, "overlays/ha", []string{"monitoring"}))
	o := b.find(t, "ConfigMap", "tidings-dashboard")
	var m core.ConfigMap
	o.into(t, &m)
	_, text := readDashboard(t)
	if m.Name != "tidings-dashboard" || m.Labels["grafana_dashboard"] != "1" || m.Data["tidings.json"] != string(text) {
		t.Errorf("%s has the labels %v and %d bytes", m.Name, m.Labels, len(m.Data["tidings.json"]))
	}
}
