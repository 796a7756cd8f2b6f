package boot_test

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidings/cmd/internal/boot"
)

// docs/operations.md has a row for each metric, and for none that is not there.
func TestTheMetricsAreThoseThatAreDocumented(t *testing.T) {
	t.Parallel()
	schema := filepath.Join(t.TempDir(), "schema")
	if err := os.Mkdir(schema, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(schema, "s.graphql"), turns[0])
	c, _, err := read([]string{"--dev", "--schema", schema, "--data", t.TempDir(), "--public-url", "http://localhost"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := boot.Open(t.Context(), c, boot.Role{Writes: true, Edge: true}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			t.Error(err)
		}
	})
	runParts(t, rooms.Parts()...)
	if err := rooms.Started(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(tidings_[a-z_]+)` \\|(.*)$").FindAllStringSubmatch(string(text), -1) {
		rows[row[1]] = row[2]
	}
	for _, m := range rooms.Metrics.Known() {
		row, there := rows[m.Name]
		if !there {
			t.Errorf("%s has no row", m.Name)
		}
		for _, label := range m.Labels {
			if !strings.Contains(row, "`"+label+"`") {
				t.Errorf("the row of %s does not say the label %s", m.Name, label)
			}
		}
		delete(rows, m.Name)
	}
	for name := range rows {
		t.Errorf("there is no metric %s", name)
	}
	for _, r := range rooms.Routes() {
		if r.Pattern != "GET /metrics" {
			continue
		}
		w := httptest.NewRecorder()
		r.Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, want := range []string{"\ntidings_log_last_sequence 1\n", "\ntidings_view_lag_messages 0\n"} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%q is not in\n%s", want, w.Body)
			}
		}
	}
}
