package boot_test

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/cmd/internal/boot"
)

func TestWhatTheRoomsKnowIsServed(t *testing.T) {
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
	for _, r := range rooms.Routes() {
		if r.Pattern != "GET /metrics" {
			continue
		}
		w := httptest.NewRecorder()
		r.Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, want := range []string{"\ntidings_log_last_sequence 1\n", "\ntidings_view_lag_messages 0\n", "\ntidings_view_records{type=\"Note\"} 0\n", "\ntidings_bus_disconnected_seconds 0\n", "\nprocess_max_fds "} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%q is not in\n%s", want, w.Body)
			}
		}
	}
}
