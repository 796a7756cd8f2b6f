//go:build conformance

package dashboard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// service is an api that is its own worker.
type service struct {
	url, admin string // host:port
	token      string
}

func startService(t *testing.T) service {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "tidings/cmd/api").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	api, data := filepath.Join(dir, "api"), filepath.Join(dir, "data")
	s := service{url: freePort(t), admin: freePort(t)}
	run(t, api, nil, "--dev", "--schema", "../../examples/social", "--data", data, "--listen", s.url, "--admin", s.admin,
		"--drain-delay", "0s", "--drain-window", "0s", "--log-max-bytes", "64MiB", "--memory-limit", "512MiB", "--max-requests", "16")
	await(t, "http://"+s.admin+"/readyz")
	token, err := exec.Command(api, "token", "--data", data, "--sub", "ann", "--roles", "USER,ADMIN").Output()
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	return s
}

// load has clients ask for all that there is until stop is called, which waits for
// them: queries, mutations that succeed and that do not, what a limit refuses, SOAP,
// and subscribers over both transports.
func (s service) load(t *testing.T, ctx context.Context) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	clients.Go(func() { s.listen(ctx) })
	clients.Go(func() { s.resume(ctx) })
	clients.Go(func() {
		for ctx.Err() == nil {
			s.ask(ctx, `mutation { createPost(input: {title: "A title", body: "…"}) { id } }`)
			s.ask(ctx, `mutation { createUser(input: {name: "Ann", email: "ann@example.com"}) { id } }`)
			s.ask(ctx, `{ posts(first: 5) { edges { node { title author { name } } } } }`)
			s.ask(ctx, "{ "+strings.Repeat("posts { edges { node { author { ", 12)+"id"+strings.Repeat(" } } } }", 12)+" }")
			s.call(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return func() { cancel(); clients.Wait() }
}

// post sends a body and leaves what is answered; what fails is missed in a panel.
func (s service) post(ctx context.Context, path, form, body string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", form)
	return http.DefaultClient.Do(r)
}

func (s service) ask(ctx context.Context, query string) {
	body, _ := json.Marshal(map[string]string{"query": query})
	if resp, err := s.post(ctx, "/graphql", "application/json", string(body), http.Header{"Authorization": {"Bearer " + s.token}}); err == nil {
		_ = resp.Body.Close()
	}
}

// call asks for a record that there is not, in an envelope without credentials: a
// fault of either kind is one.
func (s service) call(ctx context.Context) {
	body := `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body><user xmlns="urn:unknown"><id>1</id></user></e:Body></e:Envelope>`
	if resp, err := s.post(ctx, "/v1/SocialService", "text/xml", body, nil); err == nil {
		_ = resp.Body.Close()
	}
}

const changes = `subscription { postChanged { kind cursor post { title } } }`

// listen subscribes over a WebSocket.
func (s service) listen(ctx context.Context) {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	conn, _, err := dialer.DialContext(ctx, "ws://"+s.url+"/graphql", nil)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for _, message := range []string{
		fmt.Sprintf(`{"type": "connection_init", "payload": {"authToken": %q}}`, s.token),
		fmt.Sprintf(`{"type": "subscribe", "id": "1", "payload": {"query": %q}}`, changes),
	} {
		if conn.WriteMessage(websocket.TextMessage, []byte(message)) != nil {
			return
		}
	}
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
}

// resume subscribes by event streams, each of which ends with its third event; the
// next goes on after the first of these, so that two are replayed.
func (s service) resume(ctx context.Context) {
	header := http.Header{"Authorization": {"Bearer " + s.token}, "Accept": {"text/event-stream"}}
	body, _ := json.Marshal(map[string]string{"query": changes})
	for ctx.Err() == nil {
		resp, err := s.post(ctx, "/graphql", "application/json", string(body), header)
		if err != nil {
			continue
		}
		var cursors []string
		for lines := bufio.NewScanner(resp.Body); len(cursors) < 3 && lines.Scan(); {
			if cursor, ok := strings.CutPrefix(lines.Text(), "id:"); ok {
				cursors = append(cursors, strings.TrimSpace(cursor))
			}
		}
		_ = resp.Body.Close()
		if len(cursors) > 0 {
			header.Set("Last-Event-ID", cursors[0])
		}
	}
}
