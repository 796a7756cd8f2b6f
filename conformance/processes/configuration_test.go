//go:build conformance

package processes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A configuration that cannot work ends the program at once, with a sentence that
// says what to do: with status 2 when an argument or a setting is wrong in itself, and
// with status 1 when it does not fit what is there.
func TestAWrongConfigurationIsRefusedWithItsRemedy(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "shop.graphql"), []byte("type Item @resource {\n  id: ID!\n  name: Strin!\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := startAPI(t, "api", t.TempDir(), nil)
	good := func(more ...string) []string {
		return append([]string{"--schema", social(t), "--data", t.TempDir(), "--listen", freePort(t), "--admin", ""}, more...)
	}
	tests := []struct {
		name    string
		program string
		args    []string
		env     []string
		says    []string
		status  int
	}{
		{"a variable that no setting has", "api", good("--dev"), []string{"TIDINGS_SHEMA=x"}, []string{"TIDINGS_SHEMA", "--help"}, 2},
		{"a flag that no setting has", "api", good("--dev", "--shema", "x"), nil, []string{"shema", "--help"}, 2},
		{"an argument that is none", "api", good("--dev", "serve"), nil, []string{`"serve"`, "--help"}, 2},
		{"a duration that is none", "api", good("--dev", "--drain-window", "soon"), nil, []string{"soon", "drain-window"}, 2},
		{"a secret file that is not there", "api", good(), []string{"TIDINGS_JWT_SECRET_FILE=/nowhere/key"}, []string{"TIDINGS_JWT_SECRET_FILE", "/nowhere/key"}, 2},
		{"a secret that is too short", "api", good(), []string{"TIDINGS_JWT_SECRET=short"}, []string{"at least 32"}, 1},
		{"no keys and no development mode", "api", good(), nil, []string{"TIDINGS_JWT_SECRET_FILE", "TIDINGS_JWT_KEYS_FILE", "--dev"}, 1},
		{"a worker without a bus", "worker", []string{"--dev", "--schema", social(t), "--data", t.TempDir(), "--admin", ""}, nil, []string{"TIDINGS_NATS_URL"}, 2},
		{"a bus that is not there", "api", good("--dev"), []string{"TIDINGS_NATS_URL=nats://" + freePort(t)}, []string{"is the server running"}, 1},
		{"a bus that is no address", "api", good("--dev"), []string{"TIDINGS_NATS_URL=http://localhost"}, []string{"nats, tls, ws or wss"}, 1},
		{"a schema with a fault", "api", good("--dev", "--schema", broken), nil, []string{"shop.graphql:3:", "Strin"}, 1},
		{"a schema that is not there", "api", good("--dev", "--schema", filepath.Join(broken, "none")), nil, []string{filepath.Join(broken, "none")}, 1},
		{"a schema directory without a schema", "api", good("--dev", "--schema", t.TempDir()), nil, []string{".graphql"}, 1},
		{"an address that is taken", "api", good("--dev", "--listen", strings.TrimPrefix(busy.url, "http://")), nil, []string{"--listen", strings.TrimPrefix(busy.url, "http://")}, 1},
		{"a data directory that another process uses", "api", append(good("--dev"), "--data", dataOf(busy)), nil, []string{"in use by another process"}, 1},
		{"a log level that is none", "api", good("--dev", "--log-level", "loud"), nil, []string{"loud", "debug, info, warn or error"}, 2},
		{"a token for nobody", "api", []string{"token"}, nil, []string{"--sub"}, 2},
		{"a role that is none", "api", []string{"token", "--sub", "x", "--roles", "KING", "--data", t.TempDir()}, nil, []string{"KING", "USER"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, &process{name: test.program, args: test.args, env: test.env})
			if code := p.exit(t, 20*time.Second); code != test.status {
				t.Errorf("exit status %d, want %d", code, test.status)
			}
			out := p.output(t)
			for _, word := range test.says {
				if !strings.Contains(out, word) {
					t.Errorf("the message does not mention %s", word)
				}
			}
		})
	}
}

// dataOf is the data directory that an api was started with.
func dataOf(a *api) string {
	for i, arg := range a.args {
		if arg == "--data" {
			return a.args[i+1]
		}
	}
	return ""
}
