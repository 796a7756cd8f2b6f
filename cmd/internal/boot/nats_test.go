package boot_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

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

// A process takes up a file that is replaced, by itself and without a restart.
func TestAReplacedFileOfTheBusIsTakenUp(t *testing.T) {
	t.Parallel()
	var seeds, publics []string
	for range 2 {
		k, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := k.Seed()
		if err != nil {
			t.Fatal(err)
		}
		public, err := k.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		seeds, publics = append(seeds, string(seed)), append(publics, public)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		Nkeys: []*server.NkeyUser{{Nkey: publics[0]}, {Nkey: publics[1]}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server did not start")
	}
	file := filepath.Join(t.TempDir(), "api.nk")
	put := func(seed string) {
		if err := errors.Join(os.WriteFile(file+".new", []byte(seed), 0o600), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	put(seeds[0])
	c, _, err := read([]string{"--schema", "../../../examples/social", "--public-url", "http://localhost", "--nats-nkey", file}, []string{"TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32), "TIDINGS_NATS_URL=" + s.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := boot.Open(t.Context(), c, boot.Role{Writes: true}, slog.New(slog.DiscardHandler))
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
	all := func(user string) bool {
		z, err := s.Connz(&server.ConnzOptions{Username: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(z.Conns) > 1 && !slices.ContainsFunc(z.Conns, func(c *server.ConnInfo) bool { return c.AuthorizedUser != user })
	}
	if !all(publics[0]) {
		t.Fatal("the connections are not the first key's")
	}
	put(seeds[1])
	end, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !all(publics[1]) {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("the second key is not taken up")
		}
	}
}
