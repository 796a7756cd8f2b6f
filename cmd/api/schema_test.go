package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/cmd/internal/tool"
)

func TestTheStatusOfACheckSaysWhatItFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := filepath.Dir(write("old/a.graphql", "type A @resource { id: ID! x: Int y: Int }"))
	more := filepath.Dir(write("more/a.graphql", "type A @resource { id: ID! x: Int y: Int z: Int }"))
	less := filepath.Dir(write("less/a.graphql", "type A @resource { id: ID! x: Int }"))
	wrong := filepath.Dir(write("wrong/a.graphql", "type A @resource { id: ID! x: Inn }"))
	contract := write("contract.graphql", command(t, 0, "print", "--schema", old))
	tests := []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"the same", []string{old, old}, 0, []string{"nothing changes for clients"}},
		{"the same as a contract", []string{contract, old}, 0, []string{"nothing changes for clients"}},
		{"a field more", []string{old, more}, 0, []string{"DANGEROUS (2)", "SAFE (1)", "FIELD_ADDED A.z"}},
		{"a field less", []string{contract, less}, 1, []string{"BREAKING (3)", "FIELD_REMOVED A.y"}},
		{"a schema with a fault", []string{old, wrong}, 2, nil},
		{"a source for a contract", []string{filepath.Join(old, "a.graphql"), old}, 2, nil},
		{"nothing there", []string{old, filepath.Join(dir, "none")}, 2, nil},
		{"one schema", []string{old}, 2, nil},
		{"no schema", nil, 2, nil},
		{"three schemas", []string{old, old, old}, 2, nil},
		{"an unknown flag", []string{old, old, "--quiet"}, 2, nil},
		{"an unknown format", []string{old, old, "--format=xml"}, 2, nil},
		{"no format", []string{old, old, "--format"}, 2, nil},
		{"help", []string{"--help"}, 0, []string{"--against-log", "Status: 0"}},
		{"no log", []string{"--against-log", "--schema", old, "--data", filepath.Join(dir, "data")}, 2, nil},
		{"no schema for the log", []string{"--against-log", "--schema", wrong}, 2, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := command(t, test.status, append([]string{"check"}, test.args...)...)
			for _, words := range test.says {
				if !strings.Contains(out, words) {
					t.Errorf("%q is not in\n%s", words, out)
				}
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("who looked for a log made its directory")
	}

	var report struct {
		Breaking, Dangerous, Safe int
		Changes                   []struct{ Class, Kind, Coordinate, Message string }
	}
	out := command(t, 1, "check", "--format=json", old, less)
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Breaking != 3 || report.Safe != 0 || report.Changes[0].Class != "BREAKING" {
		t.Errorf("%+v, %v", report, err)
	}
}

// command runs `api schema` and returns what it printed.
func command(t *testing.T, status int, args ...string) string {
	t.Helper()
	var out, fail strings.Builder
	err := run(t.Context(), append([]string{"schema"}, args...), nil, &out, &fail)
	got := 0
	if err != nil {
		got = tool.StatusOf(err)
	}
	if got != status {
		t.Errorf("%v: status %d, want %d: %v", args, got, status, err)
	}
	return out.String()
}

func TestASchemaThatCannotBeServedIsNeitherPrintedNorCompared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]string{
		"type Query { weather: String }": "nothing answers the field Query.weather",
		"type GetNote @resource { id: ID! x: Int } type Note @resource { id: ID! x: Int }":           "would both be called GetNote",
		"type Note @resource { id: ID! text: String }\ntype Query { notes(first: String): [Note!] }": "nothing answers the field Query.notes",
	} {
		if err := os.WriteFile(filepath.Join(dir, "s.graphql"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"schema", "print", "--schema", dir}, {"schema", "check", social, dir}, {"--schema", dir, "--dev", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin", ""}} {
			if err := run(t.Context(), args, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v", args, err)
			}
		}
	}
}

// What a prefix and an inbox make the service's own is refused before anything runs.
func TestASchemaWhoseFieldsWouldReachTheServiceItselfIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(subject string) {
		t.Helper()
		text := fmt.Sprintf("type Mutation { publish(to: String!): Boolean @busPublish(subject: %q) }\ntype Query { a: Int @busRequest(subject: \"fine.a\") }", subject)
		if err := os.WriteFile(filepath.Join(dir, "s.graphql"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		subject, want string
		environ       []string
	}{
		{"tidings.log.User.{{ args.to }}", "begin with tidings.", nil},
		{"tidings.{{ args.to }}", "begin with tidings.", nil},
		{"acme.ctl.order.{{ args.to }}", "begin with acme.", []string{"TIDINGS_PREFIX=acme"}},
		{"answers.{{ args.to }}", "--nats-inbox", []string{"TIDINGS_NATS_URL=nats://127.0.0.1:1", "TIDINGS_NATS_INBOX=answers"}},
		{"$JS.API.STREAM.PURGE.{{ args.to }}", "belongs to NATS itself", nil},
		{"$KV.tidings-revoked.{{ args.to }}", "belongs to NATS itself", nil},
		{"$SYS.{{ args.to }}", "belongs to NATS itself", nil},
		{"_INBOX.{{ args.to }}", "belongs to NATS itself", nil},
		{"{{ args.to }}.log.User.x", "does not begin with plain text", nil},
		{"tid{{ args.to }}.log.User.x", "does not begin with plain text", nil},
	} {
		write(test.subject)
		for _, args := range [][]string{{"schema", "print", "--schema", dir}, {"schema", "check", social, dir}} {
			if err := run(t.Context(), args, test.environ, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "s.graphql:1:") {
				t.Errorf("%v of %s: %v", args, test.subject, err)
			}
		}
	}
	write("tidings.{{ args.to }}")
	if err := run(t.Context(), []string{"schema", "print", "--schema", dir}, []string{"TIDINGS_PREFIX=acme"}, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestASchemaOfServicesOnTheBusIsPrinted(t *testing.T) {
	t.Parallel()
	out := command(t, 0, "print", "--schema", "../../examples/telemetry")
	if !strings.Contains(out, "deviceStatus(id: ID!): DeviceStatus!") || strings.Contains(out, "@bus") {
		t.Error(out)
	}
}
