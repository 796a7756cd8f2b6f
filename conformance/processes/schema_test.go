//go:build conformance

package processes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const notes = `type Note @resource @auth(requires: [USER]) { id: ID! text: String! mail: EmailAddress kind: Kind! @default(value: A) }
enum Kind { A B }
`

// schemaDir is a directory with notes in which words are replaced.
func schemaDir(t testing.TB, replace ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := strings.NewReplacer(replace...).Replace(notes)
	if err := os.WriteFile(filepath.Join(dir, "notes.graphql"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// addNotes stores two notes with one address and one without.
func addNotes(t testing.TB, a *api, token string) {
	t.Helper()
	for _, input := range []string{`{text: "one", mail: "x@example.org"}`, `{text: "two", kind: B, mail: "x@example.org"}`, `{text: "three"}`} {
		mustPost(t, a.url, token, call{Query: "mutation { createNote(input: " + input + ") { id } }"}, &struct{}{})
	}
}

// check runs `api schema check` and returns its status and what it printed.
func check(t testing.TB, env []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program("api"), append([]string{"schema", "check"}, args...)...)
	cmd.Env = append(environ(t.TempDir()), env...)
	var out, fail strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &fail
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out.String(), fail.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, out.String(), fail.String()
}

// refused runs a program that must end by itself with status 1, and returns
// what it printed.
func refused(t testing.TB, name string, env []string, args ...string) string {
	t.Helper()
	p := start(t, &process{name: name, args: args, env: env})
	if status := p.exit(t, 30*time.Second); status != 1 {
		t.Errorf("%s ended with status %d, want 1", name, status)
	}
	return p.output(t)
}

func has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

func TestAChangedSchemaIsCheckedAgainstTheLogBesideARunningService(t *testing.T) {
	t.Parallel()
	_, url := startNATS(t)
	env, data, v1 := []string{"TIDINGS_NATS_URL=" + url}, t.TempDir(), schemaDir(t)
	a := startAPI(t, "api", data, env, "--schema", v1)
	admin := freePort(t)
	start(t, &process{name: "worker", env: env, ready: "http://" + admin + "/readyz",
		args: []string{"--dev", "--schema", v1, "--data", data, "--admin", admin}})
	addNotes(t, a, token(t, data, "ada", "USER"))

	if status, out, _ := check(t, env, "--against-log", "--schema", v1); status != 0 || !strings.Contains(out, "all stored records fit the schema: 3") {
		t.Errorf("the schema in use: status %d, %s", status, out)
	}
	bad := schemaDir(t, "A B", "A", "text: String!", "text: String! size: Int!")
	status, out, fail := check(t, env, "--against-log", "--schema", bad)
	if status != 1 {
		t.Errorf("a schema that breaks records: status %d", status)
	}
	has(t, out, "Note.kind: must be one of A (WRONG_VALUE, 1): ", "Note.size: is required", "(MISSING, 3): ")
	has(t, fail, "3 of 3 stored records")
	status, out, _ = check(t, env, "--against-log", "--schema", bad, "--format", "json")
	var found struct {
		Records, Flawed int
		Findings        []struct {
			Type, Field, Flaw, Reason string
			Count                     int
			IDs                       []string
		}
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || status != 1 || found.Records != 3 || found.Flawed != 3 || len(found.Findings) != 2 || len(found.Findings[1].IDs) != 3 {
		t.Errorf("as JSON: status %d, %+v, %v", status, found, err)
	}

	settings := []string{"--dev", "--schema", bad, "--data", data, "--admin", "", "--listen", freePort(t)}
	for _, name := range []string{"worker", "api"} {
		has(t, refused(t, name, env, settings...), "3 of 3", "Note.kind: must be one of A", found.Findings[0].IDs[0], "api schema check --against-log", "--allow-flawed")
	}
	another := startAPI(t, "api", data, env, "--schema", bad, "--allow-flawed")
	has(t, another.output(t), "although stored records do not fit")
	another.kill(t)
}

func TestAFieldBecomesUniqueOnceItsValuesAre(t *testing.T) {
	t.Parallel()
	data, v1 := t.TempDir(), schemaDir(t)
	a := startAPI(t, "api", data, nil, "--schema", v1)
	user := token(t, data, "ada", "USER")
	addNotes(t, a, user)
	unique := schemaDir(t, "EmailAddress", "EmailAddress @unique", "text: String!", "text: String! words: [String!]! @default(value: [])")
	if status, _, fail := check(t, nil, "--against-log", "--schema", unique, "--data", data); status != 2 {
		t.Errorf("while the process runs: status %d, %s", status, fail)
	}
	a.terminate(t)
	a.exit(t, 20*time.Second)

	status, out, _ := check(t, nil, "--against-log", "--schema", unique, "--data", data)
	if status != 1 {
		t.Errorf("duplicates: status %d", status)
	}
	has(t, out, "Note.mail: is unique, and another record has the same value (DUPLICATE, 1): ")
	has(t, refused(t, "api", nil, slices.Concat(a.args, []string{"--schema", unique})...), "Note.mail: is unique", "1 of 3")

	a.restart(t) // under the old schema, to mend it
	var got struct {
		Notes struct{ Nodes []struct{ ID, Text string } }
	}
	mustPost(t, a.url, user, call{Query: "{ notes { nodes { id text } } }"}, &got)
	for _, n := range got.Notes.Nodes {
		if n.Text == "two" {
			mustPost(t, a.url, user, call{Query: fmt.Sprintf(`mutation { updateNote(input: {id: %q, mail: "y@example.org"}) { id } }`, n.ID)}, &struct{}{})
		}
	}
	a.terminate(t)
	a.exit(t, 20*time.Second)

	a.args = append(a.args, "--schema", unique)
	a.restart(t)
	for mail, free := range map[string]bool{"x": false, "y": false, "z": true} {
		_, err := post(t.Context(), a.url, user, call{Query: fmt.Sprintf(`mutation { createNote(input: {text: "more", mail: "%s@example.org"}) { id } }`, mail)})
		refused, _ := errors.AsType[graphQLError](err)
		if free && err != nil || !free && refused.Extensions.Code != "CONFLICT" {
			t.Errorf("%s: %v", mail, err)
		}
	}
	var grown struct {
		Notes struct{ Nodes []struct{ Words []string } }
	}
	mustPost(t, a.url, user, call{Query: "{ notes { nodes { words } } }"}, &grown)
	if len(grown.Notes.Nodes) != 4 {
		t.Errorf("older records are read with their defaults: %+v", grown)
	}
}
