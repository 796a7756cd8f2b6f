package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/cmd/internal/tool"
	"tidings/internal/proc/proctest"
)

// examined runs the doctor and returns what it found, by what was looked at.
func examined(t *testing.T, status int, environ []string, args ...string) map[string][]finding {
	t.Helper()
	var out, errs proctest.Log
	p := program{args: append([]string{"doctor", "--json"}, args...), environ: environ, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	got := 0
	if err := p.run(t.Context()); err != nil {
		got = tool.StatusOf(err)
	}
	var list []finding
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil || got != status {
		t.Fatalf("status %d, want %d, %v\n%s%s", got, status, err, out.String(), errs.String())
	}
	found := map[string][]finding{}
	for _, f := range list {
		if f.State != stateOK && f.State != stateSkipped && f.Remedy == "" {
			t.Errorf("no remedy: %+v", f)
		}
		found[f.Check] = append(found[f.Check], f)
	}
	return found
}

// has reports whether something was found in a state, with a text in it.
func has(list []finding, state, text string) bool {
	for _, f := range list {
		if f.State == state && strings.Contains(f.What+f.Remedy, text) {
			return true
		}
	}
	return false
}

func TestTheDoctorFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	free := []string{"--listen", freeAddress(t), "--admin", ""}
	if f := examined(t, 0, nil, append([]string{dir}, free...)...); !has(f["bus"], stateSkipped, "no log yet") || !has(f["schema"], stateOK, "2 types") || !has(f["service"], stateSkipped, "--url") {
		t.Errorf("before the first start: %+v", f)
	}
	address := freeAddress(t)
	service := launch(t, "dev", dir, "--listen", address, "--admin", "")
	service.says(t, "ADMIN_TOKEN=")
	f := examined(t, 0, nil, append([]string{dir, "--url", address}, free...)...)
	if !has(f["bus"], stateOK, "a service runs with it") || !has(f["service"], stateOK, "answers") || !has(f["clocks"], stateOK, "the service is") {
		t.Errorf("while it runs: %+v", f)
	}
	service.kill()
	f = examined(t, 0, nil, append([]string{dir}, free...)...)
	if !has(f["bus"], stateOK, "JetStream answers") || !has(f["log"], stateOK, "copies 1 of 1") || !has(f["clocks"], stateOK, "the bus is") || len(f["streams"]) < 5 {
		t.Errorf("when it has stopped: %+v", f)
	}
	if out, _, status := calls(t, "", append([]string{"doctor", dir}, free...)...); status != 0 || !strings.Contains(out, "failures: 0") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// Each thing that is wrong is found, with a remedy.
func TestTheDoctorNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := notes(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	b := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys": []}`)) }))
	t.Cleanup(empty.Close)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "a.graphql"), []byte("type Note @resorce { id: ID! }"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, check, state, text string
		environ, args            []string
	}{
		{"a flag that is misspelt", "settings", stateFailure, "--listen", nil, []string{"--listn", "x"}},
		{"a schema that is wrong", "schema", stateFailure, "did you mean @resource", nil, []string{broken}},
		{"an address that is taken", "addresses", stateWarning, "is in use", nil, []string{dir, "--listen", taken.Addr().String()}},
		{"no keys", "keys", stateFailure, "TIDINGS_JWT", []string{"TIDINGS_NATS_URL=" + b.URL()}, []string{dir}},
		{"a key set without keys", "keys", stateFailure, "has no keys", []string{"TIDINGS_JWT_JWKS=" + empty.URL}, []string{"--schema", dir, "--data", t.TempDir()}},
		{"nobody at the bus", "bus", stateFailure, "can be reached", []string{"TIDINGS_NATS_URL=nats://" + freeAddress(t)}, []string{dir, "--dev"}},
		{"a bus that is not set up", "streams", stateFailure, "tidings bus setup", []string{"TIDINGS_NATS_URL=" + b.URL()}, []string{dir, "--dev"}},
		{"one server", "bus", stateWarning, "one server keeps the log", []string{"TIDINGS_NATS_URL=" + b.URL(), "TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32)}, []string{dir}},
		{"nobody at the URL", "service", stateFailure, "see that it runs", nil, []string{dir, "--url", freeAddress(t)}},
		{"a disk that is not ours", "disk", stateFailure, "--data", nil, []string{dir, "--data", "/proc/1/nothing/there"}},
		{"what is not locked", "contracts", stateWarning, "tidings soap lock", []string{"TIDINGS_NATS_URL=" + b.URL()}, []string{dir}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status := 0
			if c.state == stateFailure {
				status = statusAnswer
			} else if c.check != "addresses" {
				status = statusAnswer // that bus lacks the buckets
			}
			if f := examined(t, status, c.environ, append(c.args, "--admin", "")...); !has(f[c.check], c.state, c.text) {
				t.Errorf("found %+v", f)
			}
		})
	}
}
