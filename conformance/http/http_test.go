//go:build conformance

package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/conformance/program"
	"tidings/schema"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// outcome is what a script prints of each thing that it has tried.
type outcome struct{ ID, Name, Status, Reason string }

// The audits are of three grades: MUST, SHOULD and MAY. All of them hold.
func TestAllAuditsHold(t *testing.T) {
	list := node(t, "audits.mjs", start(t)+"/graphql", token(t, "root", schema.Admin))
	if len(list) < 61 {
		t.Errorf("%d audits were run", len(list))
	}
	report(t, list)
}

func TestForeignClientsAreServed(t *testing.T) {
	url := start(t)
	contract, err := filepath.Abs("../../examples/social/contract.graphql")
	if err != nil {
		t.Fatal(err)
	}
	list := node(t, "clients.mjs", url+"/graphql", token(t, "alice", schema.User), token(t, "root", schema.Admin), contract)
	if len(list) != 8 {
		t.Errorf("%d checks were made", len(list))
	}
	report(t, list)
}

func report(t *testing.T, list []outcome) {
	t.Helper()
	for _, o := range list {
		t.Run(o.Name, func(t *testing.T) {
			if o.Status != "ok" {
				t.Errorf("%s %s: %s", o.Status, o.ID, o.Reason)
			}
		})
	}
}

// node runs a script and reads its lines.
func node(t *testing.T, script string, args ...string) []outcome {
	t.Helper()
	if _, err := os.Stat("node_modules"); err != nil {
		t.Fatal("the clients are missing: run make clients")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{script}, args...)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, problems.String())
	}
	var list []outcome
	for line := range strings.Lines(string(out)) {
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%s printed %q", script, line)
		}
		list = append(list, o)
	}
	return list
}

func token(t *testing.T, subject string, role schema.Roles) string {
	t.Helper()
	s, err := auth.Sign([]byte(program.Secret), auth.Principal{Subject: subject, Roles: role}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs the service in one process, as in production, and returns its URL when
// it is ready.
func start(t *testing.T) string {
	t.Helper()
	url := program.Start(t, "api", nil, "--schema", "../../examples/social", "--data", t.TempDir()).URL
	awaitWorker(t, url)
	return url
}

// awaitWorker returns when a mutation is carried out.
func awaitWorker(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const body = `{"query":"mutation { deleteUser(input: {id: \"nobody\"}) { id } }"}`
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/graphql", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token(t, "root", schema.Admin))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			continue
		}
		var answer bytes.Buffer
		_, err = answer.ReadFrom(resp.Body)
		if resp.Body.Close(); err == nil && strings.Contains(answer.String(), "NOT_FOUND") {
			return
		}
	}
	t.Fatal("no worker answers")
}
