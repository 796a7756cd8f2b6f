//go:build conformance

package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/auth"
	"tidings/schema"
)

// service is an api that runs in a container.
type service struct {
	*container
	base, admin string
}

// startAPI starts an api and returns when it is ready.
func startAPI(t *testing.T, options []string, args ...string) service {
	t.Helper()
	listen, admin := freePort(t), freePort(t)
	c := start(t, options, append([]string{"--listen", listen, "--admin", admin, "--drain-delay", "0s", "--drain-window", "1s"}, args...)...)
	c.await(t, "http://"+admin+"/readyz")
	return service{container: c, base: listen, admin: admin}
}

// ask sends an operation as alice, a user, and returns the answer's data.
func (s service) ask(query string, variables map[string]any) (json.RawMessage, error) {
	token, err := auth.Sign([]byte(secret), auth.Principal{Subject: "alice", Roles: schema.User}, time.Hour)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, "http://"+s.base+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct{ Data, Errors json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Errors != nil {
		return nil, errors.New(string(answer.Errors))
	}
	return answer.Data, nil
}

// write makes a post.
func (s service) write(title string) error {
	_, err := s.ask(`mutation ($t: String!) { createPost(input: {title: $t}) { id } }`, map[string]any{"t": title})
	return err
}

// subscribe opens a socket with one subscription to the posts, and returns when it
// has heard of one that is there.
func (s service) subscribe(t *testing.T) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: 30 * time.Second}
	conn, _, err := d.Dial("ws://"+s.base+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	send := func(text string) {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"type":"connection_init"}`)
	if _, text, err := conn.ReadMessage(); err != nil || !strings.Contains(string(text), "connection_ack") {
		t.Fatalf("%s, %v", text, err)
	}
	send(`{"type":"subscribe","id":"1","payload":{"query":"subscription { postChanged(snapshot: true) { post { title } } }"}}`)
	if _, text, err := conn.ReadMessage(); err != nil || !strings.Contains(string(text), `"next"`) {
		t.Fatalf("%s, %v", text, err)
	}
	return conn
}

// The image does its work as nobody, on a disk that it cannot write to, and ends
// as it should: subscribers are sent elsewhere with 1012, the status is 0, and all
// that was acknowledged was told and is there afterwards.
func TestTheImageServesAndDrains(t *testing.T) {
	_, data := volume(t)
	s := startAPI(t, data)
	s.until(t, "a worker is there", func() error { return s.write("begin") })
	for name, want := range map[string]string{"Uid": "65532\t65532\t65532\t65532", "Gid": "65532\t65532\t65532\t65532", "CapEff": "0000000000000000", "CapBnd": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"} {
		if got := s.status(t)[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	const many = 5
	var sockets []*websocket.Conn
	for range many {
		sockets = append(sockets, s.subscribe(t))
	}
	const posts = 20
	for i := range posts {
		if err := s.write(fmt.Sprintf("post %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	s.terminate(t)
	for _, conn := range sockets {
		if heard, err := listen(conn); heard != posts || !websocket.IsCloseError(err, websocket.CloseServiceRestart) {
			t.Errorf("a subscriber has heard of %d posts of %d, and then: %v", heard, posts, err)
		}
	}
	s.end(t)

	again := startAPI(t, data)
	found, err := again.ask(`{ posts(first: 100) { edges { node { title } } } }`, nil)
	if n := strings.Count(string(found), `"title":"post `); err != nil || n != posts {
		t.Errorf("%d posts of %d are there: %v", n, posts, err)
	}
	again.terminate(t)
	again.end(t)
}

// listen counts the posts that it hears of until the socket is closed.
func listen(conn *websocket.Conn) (heard int, err error) {
	for {
		_, text, err := conn.ReadMessage()
		if err != nil {
			return heard, err
		}
		if strings.Contains(string(text), `"title":"post `) {
			heard++
		}
	}
}
