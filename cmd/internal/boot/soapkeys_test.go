package boot_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"tidings/cmd/internal/boot"
)

func TestSOAPKeysThatCannotBeReadEndTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "s.graphql"), turns[0])
	key, cert := filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem")
	put(t, key, "x")
	put(t, cert, "x")
	for want, files := range map[string][2]string{
		"there is no private key": {key, cert},
		"no such file":            {filepath.Join(dir, "none"), cert},
	} {
		c, _, err := read([]string{"--dev", "--schema", dir, "--data", t.TempDir(), "--soap-key", files[0], "--soap-cert", files[1]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = boot.Open(t.Context(), c, boot.Role{Writes: true}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "keys of SOAP messages") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
