package edge

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew where it is made from the programs")

const metricsPage = "../../../docs/metrics.md"

// docs/metrics.md says which metrics there are, with the labels that they begin
// with and who has them; `go test ./cmd/internal/edge -run Documented -update` writes it.
func TestTheMetricsAreThoseThatAreDocumented(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	api := opened(t, b.URL(), boot.Role{Edge: true})
	worker := opened(t, b.URL(), boot.Role{Writes: true})
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- the programs have written what follows -->\n", "<!-- the programs have written what precedes -->\n"
	before, rest, there := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !there || !closed {
		t.Fatalf("%s has not both of\n%s%s", metricsPage, begin, end)
	}
	for _, label := range labelsOf(api, worker) {
		if !strings.Contains(before+after, "\n| `"+label+"` |") {
			t.Errorf("%s does not say what the label %s is", metricsPage, label)
		}
	}
	fresh := before + begin + table(t, api, worker) + end + after
	if fresh == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the programs have; write it by `go test ./cmd/internal/edge -run Documented -update`", metricsPage)
	}
	if err := os.WriteFile(metricsPage, []byte(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What both programs say is what Prometheus's own tool finds nothing to say about.
func TestTheMetricsAreInOrder(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool (of Debian's package prometheus) is not there")
	}
	c := count(t)
	c.createUser(t, 1)
	for name, m := range map[string]*proc.Metrics{"api": c.api, "worker": c.worker} {
		w := httptest.NewRecorder()
		m.Route().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = w.Body
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// opened opens the rooms of a program, with an edge where it has one.
func opened(t *testing.T, url string, role boot.Role) *proc.Metrics {
	t.Helper()
	c, err := boot.ReadConfig("api", []string{"--dev", "--max-requests", "64", "--data", t.TempDir(), "--schema", social, "--public-url", "http://localhost"}, []string{"TIDINGS_NATS_URL=" + url}, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	rooms, err := boot.Open(t.Context(), c, role, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			t.Error(err)
		}
	})
	if role.Edge {
		e, err := newEdge(c, rooms, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.hub.Close() })
	}
	return rooms.Metrics
}

// table describes the metrics of both programs.
func table(t *testing.T, api, worker *proc.Metrics) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("| metric | kind | of | what | labels at the start |\n|---|---|---|---|---|\n")
	values := labelValues(proctest.Scrape(t, api), proctest.Scrape(t, worker))
	has := map[string][]string{}
	described := map[string]proc.Metric{}
	for program, m := range map[string]*proc.Metrics{"api": api, "worker": worker} {
		for _, k := range m.Known() {
			has[k.Name] = append(has[k.Name], program)
			described[k.Name] = k
		}
	}
	for _, name := range slices.Sorted(maps.Keys(described)) {
		k := described[name]
		slices.Sort(has[name])
		var labels []string
		for _, l := range k.Labels {
			labels = append(labels, "`"+l+"`"+values[name+" "+l])
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", name, k.Kind, strings.Join(has[name], ", "), k.Help, strings.Join(labels, "; "))
	}
	return text.String()
}

// openLabels have values that come from the schema, a build, or the outside.
var openLabels = []string{"tidings_commands_total type", "operation", "call", "version", "revision", "go"}

var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// labelValues lists the values of closed labels, by metric and label.
func labelValues(scrapes ...proctest.Numbers) map[string]string {
	found := map[string]map[string]bool{}
	for _, n := range scrapes {
		for series := range n.Ours() {
			name, rest, _ := strings.Cut(series, "{")
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				name = strings.TrimSuffix(name, suffix)
			}
			for _, m := range label.FindAllStringSubmatch(rest, -1) {
				key := name + " " + m[1]
				if slices.Contains(openLabels, m[1]) || slices.Contains(openLabels, key) || m[1] == "le" {
					continue
				}
				if found[key] == nil {
					found[key] = map[string]bool{}
				}
				found[key][m[2]] = true
			}
		}
	}
	lists := map[string]string{}
	for key, set := range found {
		lists[key] = ": " + strings.Join(slices.Sorted(maps.Keys(set)), ", ")
	}
	return lists
}

func labelsOf(all ...*proc.Metrics) []string {
	set := map[string]bool{}
	for _, m := range all {
		for _, k := range m.Known() {
			for _, l := range k.Labels {
				set[l] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}
