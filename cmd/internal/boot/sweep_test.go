package boot_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"tidings/cmd/internal/boot"
)

// The view's directory may be one in which a person keeps other things.
func TestTheStartDeletesNothingButViews(t *testing.T) {
	t.Parallel()
	dir, data, views := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.graphql"), []byte(turns[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, name := range []string{"backup-of-photos", "0123456789abcdef", "customer-letters"} { // each of 16 letters
		file := filepath.Join(views, name, "letter")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("dear"), 0o600); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, file)
	}
	c, _, err := read([]string{"--dev", "--schema", dir, "--data", data, "--view", views}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := boot.Open(t.Context(), c, boot.Role{Writes: true}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, file := range kept {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%v", err)
		}
	}
}
