//go:build conformance

package processes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// editable is a copy of the example schema that a test may change.
type editable struct{ dir, text string }

func editableSocial(t testing.TB) editable {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(social(t), "schema.graphql"))
	if err != nil {
		t.Fatal(err)
	}
	e := editable{dir: t.TempDir(), text: string(text)}
	e.write(t)
	return e
}

// write puts the schema there with words replaced, as editors do: beside it,
// then by its name.
func (e editable) write(t testing.TB, replace ...string) {
	t.Helper()
	writeSchema(t, e.dir, strings.NewReplacer(replace...).Replace(e.text))
}

func writeSchema(t testing.TB, dir, text string) {
	t.Helper()
	beside := filepath.Join(dir, ".schema.graphql.new")
	if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(beside, filepath.Join(dir, "schema.graphql")); err != nil {
		t.Fatal(err)
	}
}

const (
	reloadedLine = `msg="the schema is reloaded"`
	refusedLine  = `msg="the schema is not reloaded; the one in service stays"`
)

// lines is how often a process has printed something.
func (p *process) lines(t testing.TB, text string) int {
	t.Helper()
	return strings.Count(p.output(t), text)
}

// hangup sends SIGHUP and waits for a line that the process prints then.
func (p *process) hangup(t testing.TB, line string) {
	t.Helper()
	before := p.lines(t, line)
	cmd, _ := p.running()
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.awaitLine(t, line, before+1)
}

func (p *process) awaitLine(t testing.TB, line string, want int) {
	t.Helper()
	poll(t, 60*time.Second, p.name+" prints "+line, func() error {
		p.mustRun(t)
		if n := p.lines(t, line); n < want {
			return fmt.Errorf("%d times, want %d", n, want)
		}
		return nil
	})
}

// Words of the example schema, and what a reload makes of them.
var (
	anotherIndex = []string{"minutes: PositiveInt\n", "minutes: PositiveInt @index\n  rank: Int @index\n"} // the view is built anew
	anotherRule  = []string{"title: String! @index @constraint(minLength: 1, maxLength: 200)", "title: String! @index @constraint(minLength: 1, maxLength: 210)"}
)

// reloadUnderLoad reloads everything again and again, the workers first, while
// writers write and an audience listens. Each event must come once, over
// connections that stay open, and no write may fail.
func reloadUnderLoad(t *testing.T, c *cluster, s editable) {
	l := startLoad(t, c)
	for _, change := range [][]string{anotherIndex, anotherRule, slices.Concat(anotherIndex, anotherRule), nil} {
		s.write(t, change...)
		for _, w := range c.workers {
			w.hangup(t, reloadedLine)
		}
		for _, a := range c.apis {
			a.hangup(t, reloadedLine)
		}
		_, err := post(t.Context(), c.apis[0].url, anybody, call{Query: `{ posts(first: 1, filter: {rank: {eq: 1}}) { nodes { id } } }`})
		if with := slices.Contains(change, anotherIndex[0]); with != (err == nil) {
			t.Errorf("with the index: %t; a filter by it: %v", with, err)
		}
		l.writers.progress(t, 50)
	}
	l.finish(t)
	if f := l.writers.ledger.failures; len(f) > 0 {
		t.Errorf("writes have failed: %v", f)
	}
	if n := l.audience.resumed(); n > 0 {
		t.Errorf("%d connections did not stay open", n)
	}
}

func TestNothingIsMissedWhileSeveralProcessesReload(t *testing.T) {
	s := editableSocial(t)
	c := &cluster{data: t.TempDir()}
	c.nats, c.bus = startNATS(t)
	env := []string{"TIDINGS_NATS_URL=" + c.bus}
	for _, name := range []string{"worker 1", "worker 2"} {
		admin := freePort(t)
		c.workers = append(c.workers, start(t, &process{name: name, ready: "http://" + admin + "/readyz", env: env,
			args: []string{"--dev", "--schema", s.dir, "--data", c.data, "--admin", admin}}))
	}
	c.apis = []*api{startAPI(t, "api 1", c.data, env, "--schema", s.dir, "--view", t.TempDir()), startAPI(t, "api 2", c.data, env, "--schema", s.dir)}
	reloadUnderLoad(t, c, s)
}

func TestNothingIsMissedWhileTheSingleProcessReloads(t *testing.T) {
	s, listen := editableSocial(t), freePort(t)
	c := &cluster{data: t.TempDir(), bus: "nats://" + listen}
	c.apis = []*api{startAPI(t, "api", c.data, nil, "--schema", s.dir, "--nats-listen", listen)}
	reloadUnderLoad(t, c, s)
	views, err := os.ReadDir(filepath.Join(c.data, "view"))
	if err != nil || len(views) != 1 {
		t.Errorf("one view is left: %v, %v", views, err)
	}
}

// dialNotes opens a socket with two operations; both have begun when it returns.
func dialNotes(t testing.TB, a *api, token, first, second string) *socket {
	t.Helper()
	st, err := dialSocket(t.Context(), a.url, token, call{Query: first})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.close)
	s := st.(*socket)
	if err := s.send("subscribe", "2", call{Query: second}); err != nil {
		t.Fatal(err)
	}
	if err := s.stands(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnOperationThatDoesNotFitAnyMoreEndsAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), schemaDir(t)
	a := startAPI(t, "api", data, nil, "--schema", dir)
	user := token(t, data, "ada", "USER")
	const kept = `subscription { noteChanged { kind note { text } } }`
	s := dialNotes(t, a, user, kept, `subscription { noteChanged { note { mail } } }`)
	events, err := dialEvents(t.Context(), a.url, user, call{Query: `subscription { noteChanged { note { mail } } }`})
	if err != nil {
		t.Fatal(err)
	}
	defer events.close()

	file := filepath.Join(dir, "notes.graphql")
	if err := os.WriteFile(file, []byte(strings.NewReplacer("mail: EmailAddress ", "size: Int ").Replace(notes)), 0o600); err != nil {
		t.Fatal(err)
	}
	a.hangup(t, reloadedLine)
	has(t, a.output(t), "breaks what clients may ask", "mail", "breaking=", "view_rebuilt=true")

	m, err := s.receive()
	if err != nil || m.Type != "error" || m.ID != "2" {
		t.Fatalf("the operation got %s %s %s, %v", m.Type, m.ID, m.Payload, err)
	}
	has(t, string(m.Payload), "The schema was reloaded", "mail", "GRAPHQL_VALIDATION_FAILED")
	r, err := events.next()
	refused, _ := errors.AsType[graphQLError](r.err())
	if err != nil || refused.Extensions.Code != "GRAPHQL_VALIDATION_FAILED" || !strings.Contains(refused.Message, "The schema was reloaded") {
		t.Errorf("the stream got %+v, %v", r, err)
	}
	if _, err := events.next(); !errors.Is(err, errComplete) {
		t.Errorf("then %v", err)
	}

	// The other one goes on; what begins now, on the old socket, knows the new field.
	if err := s.send("subscribe", "3", call{Query: `subscription { noteChanged { note { size } } }`}); err != nil {
		t.Fatal(err)
	}
	if err := s.stands(); err != nil {
		t.Fatal(err)
	}
	mustPost(t, a.url, user, call{Query: `mutation { createNote(input: {text: "new", size: 3}) { id } }`}, &struct{}{})
	got := map[string]string{}
	for range 2 {
		m, err := s.receive()
		if err != nil || m.Type != "next" {
			t.Fatalf("%s %s, %v", m.Type, m.Payload, err)
		}
		got[m.ID] = string(m.Payload)
	}
	has(t, got["1"], `{"kind":"CREATED","note":{"text":"new"}}`)
	has(t, got["3"], `{"size":3}`)
}

func TestABadSchemaIsRefusedAndTheOldOneStays(t *testing.T) {
	t.Parallel()
	data, dir, operations := t.TempDir(), schemaDir(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(operations, "list.graphql"), []byte(`{ notes { nodes { text } } }`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAPI(t, "api", data, nil, "--schema", dir, "--operations", operations)
	user := token(t, data, "ada", "USER")
	addNotes(t, a, user)
	s := dialNotes(t, a, user, `subscription { noteChanged { note { text } } }`, `subscription { noteChanged { note { mail } } }`)
	for _, c := range []struct {
		was, is string
		words   []string
	}{
		{"EmailAddress", "EmailAdress", []string{"notes.graphql:1:", "EmailAdress", "correct the name"}},
		{"EmailAddress", "EmailAddress!", []string{"Note.mail: must not be null", "1 of", "--allow-flawed"}},
		{"EmailAddress", "EmailAddress @unique", []string{"Note.mail: is unique"}},
		{"text: String!", "title: String!", []string{"list.graphql", `Cannot query field "text"`}},
	} {
		before := len(a.output(t))
		writeNotes(t, dir, c.was, c.is)
		a.hangup(t, refusedLine)
		poll(t, 10*time.Second, "the reason is printed", func() error {
			for _, w := range c.words {
				if printed := a.output(t)[before:]; !strings.Contains(printed, w) {
					return fmt.Errorf("no %q in %s", w, printed)
				}
			}
			return nil
		})
		mustPost(t, a.url, user, call{Query: `mutation { createNote(input: {text: "still", mail: "x@example.org"}) { id } }`}, &struct{}{})
		for range 2 {
			if m, err := s.receive(); err != nil || m.Type != "next" {
				t.Fatalf("%s %s, %v", m.Type, m.Payload, err)
			}
		}
	}
	writeNotes(t, dir)
	a.hangup(t, reloadedLine)
}

func writeNotes(t testing.TB, dir string, replace ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "notes.graphql"), []byte(strings.NewReplacer(replace...).Replace(notes)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDevelopmentReloadsByItselfWhenAFileChanges(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), schemaDir(t)
	a := startAPI(t, "api", data, nil, "--schema", dir)
	user := token(t, data, "ada", "USER")
	writeNotes(t, dir, "text: String!", "text: String! size: Int")
	a.awaitLine(t, reloadedLine, 1)
	mustPost(t, a.url, user, call{Query: `mutation { createNote(input: {text: "new", size: 3}) { size } }`}, &struct{}{})
	writeSchema(t, dir, "type Broken {")
	a.awaitLine(t, refusedLine, 1)
	has(t, a.output(t), "schema.graphql:1:")
	writeSchema(t, dir, "type Tag @resource @auth(requires: [USER]) { id: ID! word: String! @index }")
	a.awaitLine(t, reloadedLine, 2)
	mustPost(t, a.url, user, call{Query: `mutation { createTag(input: {word: "x"}) { id } }`}, &struct{}{})
	mustPost(t, a.url, user, call{Query: `{ tags(filter: {word: {eq: "x"}}) { nodes { id } } notes { nodes { size } } }`}, &struct{}{})
}

// An api that knows a field before the workers do says so; nothing is lost, and
// what all know goes on.
func TestACommandForAWorkerWithAnOlderSchemaSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, url := startNATS(t)
	env, data, dir, older := []string{"TIDINGS_NATS_URL=" + url}, t.TempDir(), schemaDir(t), schemaDir(t)
	a := startAPI(t, "api", data, env, "--schema", dir, "--retry", "1s")
	admin := freePort(t)
	w := start(t, &process{name: "worker", env: env, ready: "http://" + admin + "/readyz",
		args: []string{"--dev", "--schema", older, "--data", data, "--admin", admin}})
	user := token(t, data, "ada", "USER")
	writeNotes(t, dir, "text: String!", "text: String! size: Int", "enum", "type Tag @resource @auth(requires: [USER]) { id: ID! word: String! }\nenum")
	a.hangup(t, reloadedLine)
	const sized, tag = `mutation { createNote(input: {text: "new", size: 3}) { id size } }`, `mutation { createTag(input: {word: "w"}) { id } }`
	for query, words := range map[string]string{sized: "another schema, without Note.size", tag: "no service is there"} {
		_, err := post(t.Context(), a.url, user, call{Query: query})
		refused, _ := errors.AsType[graphQLError](err)
		if refused.Extensions.Code != "UNAVAILABLE" || !strings.Contains(refused.Message, words) {
			t.Errorf("%s: %v", query, err)
		}
	}
	mustPost(t, a.url, user, call{Query: `mutation { createNote(input: {text: "old"}) { id } }`}, &struct{}{})
	writeNotes(t, older, "text: String!", "text: String! size: Int", "enum", "type Tag @resource @auth(requires: [USER]) { id: ID! word: String! }\nenum")
	w.hangup(t, reloadedLine)
	mustPost(t, a.url, user, call{Query: sized}, &struct{}{})
	mustPost(t, a.url, user, call{Query: tag}, &struct{}{})
}
