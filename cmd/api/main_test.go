package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const social = "../../examples/social"

// program is the whole service in this process, as `make run` starts it.
type program struct {
	url         string
	user, admin string // tokens
	client      *http.Client
	soap        string // the envelope of the banner
	stop        func() error
	log         *bytes.Buffer // to be read after stop
	data        string
}

// start runs the program until the test ends. It returns when the banner says
// that it answers.
func start(t *testing.T, data string, settings ...string) *program {
	t.Helper()
	return startWith(t, nil, data, settings...)
}

func startWith(t *testing.T, environ []string, data string, settings ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	var log bytes.Buffer
	go func() {
		args := []string{"--dev", "--schema", social, "--data", data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}
		err := run(ctx, append(args, settings...), environ, in, &log)
		_ = in.CloseWithError(io.EOF)
		ended <- err
	}()
	p := &program{client: http.DefaultClient, log: &log, data: data, stop: sync.OnceValue(func() error { cancel(); return <-ended })}
	text := p.banner(t, out)
	p.url = find(t, text, `SSE +(https?://\S+)/graphql`)
	p.user = find(t, text, `(?s)# Watch .*\nUSER_TOKEN=(\S+)\n.*# Mutate`) // whoever pastes from the top has it in the second terminal
	p.admin = find(t, text, `ADMIN_TOKEN=(\S+)`)
	p.soap = find(t, text, `(?s)-d '\n(<soap:Envelope.*</soap:Envelope>)'`)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	t.Cleanup(func() {
		if err := p.stop(); err != nil || t.Failed() {
			t.Errorf("the program ended: %v\n%s", err, log.String())
		}
	})
	return p
}

// banner reads until its last line.
func (p *program) banner(t *testing.T, out io.Reader) string {
	t.Helper()
	var text strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "</soap:Envelope>") {
			return text.String()
		}
	}
	t.Fatalf("the program ended: %v\n%s", p.stop(), text.String())
	return ""
}

func find(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return m[1]
}

// post sends a body and returns status and answer.
func (p *program) post(t *testing.T, path, contentType, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := p.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func (p *program) graphql(t *testing.T, token, query string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		t.Fatal(err)
	}
	_, answer := p.post(t, "/graphql", "application/json", token, string(body))
	return answer
}

// subscribe returns the event stream of a subscription, after its cursor when
// it is given, as lines.
func (p *program) subscribe(t *testing.T, query, after string) *bufio.Scanner {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/graphql?query="+url.QueryEscape(query), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	resp, err := p.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return bufio.NewScanner(resp.Body)
}

// next returns the cursor and the data of the stream's next event.
func next(t *testing.T, lines *bufio.Scanner) (id, data string) {
	t.Helper()
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = rest
		}
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			return id, rest
		}
	}
	t.Fatal("the stream ended")
	return "", ""
}

// The three walks of docs/ARCHITECTURE.md, and a subscription that goes on
// across a restart of the whole service.
func TestTheWholeServiceInOneProcess(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := start(t, data)
	const watch = `subscription { userChanged { kind user { id name } } }`
	events := p.subscribe(t, watch, "")

	created := p.graphql(t, p.user, `mutation { createUser(input: {name: "Alice", email: "alice@example.com"}) { id name posts { title } } }`)
	if want := `{"data":{"createUser":{"id":"alice","name":"Alice","posts":[]}}}`; created != want {
		t.Fatalf("got %s, want %s", created, want)
	}
	cursor, event := next(t, events)
	if !strings.HasPrefix(event, `{"data":{"userChanged":{"kind":"CREATED","user":{"id":"alice","name":"Alice"}}}`) || !strings.Contains(event, cursor) {
		t.Errorf("event %s with the id %s", event, cursor)
	}
	refused := p.graphql(t, "", `{ user(id: "alice") { name email } }`)
	if !strings.HasPrefix(refused, `{"data":{"user":{"name":"Alice","email":null}}`) || !strings.Contains(refused, `"path":["user","email"],"extensions":{"code":"FORBIDDEN"}`) {
		t.Errorf("an anonymous caller gets %s", refused)
	}
	if own := p.graphql(t, p.user, `{ user(id: "alice") { email } }`); own != `{"data":{"user":{"email":"alice@example.com"}}}` {
		t.Errorf("the owner gets %s", own)
	}
	if status, answer := p.post(t, "/v1/SocialService", "text/xml; charset=utf-8", "", p.soap); status != 200 || !strings.Contains(answer, "CreateUserResponse") {
		t.Errorf("SOAP: %d %s", status, answer)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}

	p = start(t, data)
	if _, event := next(t, p.subscribe(t, watch, cursor)); !strings.Contains(event, `"id":"partner"`) {
		t.Errorf("after the restart the stream goes on with %s", event)
	}
	if again := p.graphql(t, "", `{ users { totalCount nodes { name } } }`); again != `{"data":{"users":{"totalCount":2,"nodes":[{"name":"Alice"},{"name":"Partner"}]}}}` {
		t.Errorf("after the restart there are %s", again)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
}

func TestAWrongTokenIsAnswered401(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"))
	status, body := p.post(t, "/graphql", "application/json", "nonsense", `{"query":"{__typename}"}`)
	if status != http.StatusUnauthorized || !strings.Contains(body, "UNAUTHENTICATED") {
		t.Errorf("%d %s", status, body)
	}
}

// subcommand runs a subcommand to its end.
func subcommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out strings.Builder
	err := run(ctx, args, nil, &out, io.Discard)
	return out.String(), err
}

func TestTheContractIsPrinted(t *testing.T) {
	t.Parallel()
	out, err := subcommand(t, "schema", "print", "--schema", social)
	want, readErr := os.ReadFile(filepath.Join(social, "contract.graphql"))
	if err != nil || readErr != nil || out != string(want) {
		t.Errorf("the contract differs from contract.graphql; print it again (%v, %v)", err, readErr)
	}
}

func TestTheContractSaysThePageThatIsConfigured(t *testing.T) {
	t.Parallel()
	out, err := subcommand(t, "schema", "print", "--schema", social, "--max-page", "50")
	if err != nil || !strings.Contains(out, "at most 50;") || strings.Contains(out, "at most 100") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCommandsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"schema"}, "api schema print"},
		{[]string{"schema", "print", "--schema", empty}, "is refused"},
		{[]string{"schema", "print", "--schema", filepath.Join(empty, "none")}, "there is no directory"},
		{[]string{"token", "--sub", "a", "--ttl", "-1h"}, "--ttl"},
		{[]string{"token"}, "--sub"},
		{[]string{"token", "--sub", "a", "--roles", "KING", "--data", empty}, "USER, ADMIN or SERVICE"},
		{[]string{"--dev", "--schema", social, "--data", empty, "--listen", "nonsense"}, "--listen"},
		{[]string{"--schema", social, "--data", empty, "--listen", "127.0.0.1:0"}, "--dev"},
	} {
		if _, err := subcommand(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}

func TestATokenIsPrinted(t *testing.T) {
	t.Parallel()
	out, err := subcommand(t, "token", "--sub", "alice", "--roles", "USER,ADMIN", "--data", t.TempDir())
	if err != nil || strings.Count(strings.TrimSpace(out), ".") != 2 {
		t.Errorf("%q, %v", out, err)
	}
}
