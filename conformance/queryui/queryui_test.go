//go:build conformance

package queryui

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/schema"
)

const social = "../../examples/social"

func TestThePageLoadsWithoutErrorsAndAsksNobodyElse(t *testing.T) {
	walk(t, "loads", serve(t, social).url, "")
}

func TestATokenStaysInItsTab(t *testing.T) { walk(t, "token", serve(t, social).url, "") }

func TestEachExampleOfTheSocialSchemaRuns(t *testing.T) {
	walk(t, "examples", serve(t, social).url, "")
}

func TestEachExampleOfServicesOfOnesOwnRuns(t *testing.T) {
	address := freePort(t)
	s := serve(t, "../../examples/telemetry", "--nats-listen", address)
	respond(t, address)
	walk(t, "examples", s.url, "")
}

// Each rule for values has a field that an example must fill.
func TestTheExamplesKeepTheRulesForValues(t *testing.T) {
	walk(t, "examples", serve(t, "testdata/rules").url, "")
}

// Of schemas that are made to have everything in them, too.
func TestTheExamplesOfEachSchemaAreOperationsOfIt(t *testing.T) {
	dir := t.TempDir()
	for _, of := range []string{social, "../../examples/telemetry", "../../examples/dashboard/schema", "../graphqljs/testdata/museum", "testdata/rules"} {
		m, err := schema.Load(os.DirFS(of))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(of)+".graphql"), []byte(m.SDL), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", "--test", "examples.test.mjs")
	cmd.Env = append(os.Environ(), "CONTRACTS="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestALiveOperationGoesOnAfterTheServiceWasAway(t *testing.T) {
	s := serve(t, social)
	walk(t, "live", s.url, control(t, map[string]func() error{"stop": s.stop, "start": s.start}))
}

func TestALongSnapshotIsShown(t *testing.T) { walk(t, "many", serve(t, social).url, "") }

func TestTheDocumentationFollowsTheSchema(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(social)); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{"contract.graphql", "kustomization.yaml", "v1.soap.lock"} {
		if err := os.Remove(filepath.Join(dir, made)); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, dir)
	walk(t, "documentation", s.url, control(t, map[string]func() error{"change": func() error {
		const comment = "type Comment @resource @auth(requires: [USER]) {\n  id: ID!\n  text: String!\n}\n"
		return os.WriteFile(filepath.Join(dir, "comment.graphql"), []byte(comment), 0o644)
	}}))
}

// respond answers for any device, and publishes for the one that examples name,
// until the test ends.
func respond(t *testing.T, address string) {
	t.Helper()
	nc, err := nats.Connect("nats://" + address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "ALARMS", Subjects: []string{"alarms.*"}}); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"telemetry.*.status", "telemetry.*.threshold"} {
		if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
			answer, _ := json.Marshal(map[string]any{"id": strings.Split(m.Subject, ".")[1], "running": true, "celsius": 40, "threshold": 60}) // it encodes
			_ = m.Respond(answer)                                                                                                              // who asked may be gone
		}); err != nil {
			t.Fatal(err)
		}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				reading, _ := json.Marshal(map[string]any{"device": "1", "celsius": 40, "at": now.UTC()})  // it encodes
				alarm, _ := json.Marshal(map[string]any{"device": "1", "text": "it drips", "celsius": 40}) // it encodes
				_ = nc.Publish("telemetry.1.reading", reading)                                             // the service may be gone
				_, _ = js.PublishAsync("alarms.1", alarm)
			}
		}
	}()
	t.Cleanup(func() { close(done); <-over })
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}
