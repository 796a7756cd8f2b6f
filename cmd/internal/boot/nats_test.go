package boot_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/cmd/internal/boot"
)

func TestSettingsOfTheBusThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	url := "TIDINGS_NATS_URL=nats://127.0.0.1:4222"
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"TIDINGS_NATS_CREDS=x"}, "TIDINGS_NATS_URL"},
		{[]string{"TIDINGS_NATS_TOKEN=x"}, "TIDINGS_NATS_LISTEN"},
		{[]string{url, "TIDINGS_NATS_PASSWORD=x", "TIDINGS_NATS_PASSWORD_FILE=y"}, "both set"},
		{[]string{url, "TIDINGS_NATS_TOKEN=x", "TIDINGS_NATS_TOKEN_FILE=y"}, "both set"},
		{[]string{url, "TIDINGS_ALLOW_UNSAFE=everything"}, "open-files"},
	} {
		if _, _, err := read(nil, c.environ); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.environ, err)
		}
	}
	_, out, _ := read([]string{"--print-config"}, []string{url, "TIDINGS_NATS_PASSWORD=hunter2", "TIDINGS_NATS_TOKEN=hunter2"})
	if strings.Contains(out, "hunter2") || !strings.Contains(out, "TIDINGS_NATS_PASSWORD=****") {
		t.Error(out)
	}
}

func TestAFileOfTheBusThatCannotBeUsedIsNamedWithItsSetting(t *testing.T) {
	t.Parallel()
	shared := filepath.Join(t.TempDir(), "creds")
	if err := os.WriteFile(shared, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for setting, path := range map[string]string{"CREDS": shared, "NKEY": shared, "CA": "none", "TOKEN_FILE": "none"} {
		c, _, err := read([]string{"--schema", "../../../examples/social"}, []string{"TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32), "TIDINGS_NATS_URL=nats://127.0.0.1:1", "TIDINGS_NATS_" + setting + "=" + path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := boot.Open(t.Context(), c, boot.Role{Edge: true}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "TIDINGS_NATS_"+setting) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
