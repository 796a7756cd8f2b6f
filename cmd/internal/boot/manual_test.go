package boot_test

import (
	"flag"
	"os"
	"testing"

	"tidings/cmd/internal/boot"
)

var update = flag.Bool("update", false, "rewrite docs/configuration.md")

func TestTheManualSaysWhatTheSettingsAre(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(path, []byte(boot.Manual()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != boot.Manual() {
		t.Errorf("docs/configuration.md is not what the settings say; run make configuration (%v)", err)
	}
}
