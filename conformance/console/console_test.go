//go:build conformance

package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// An operator signs in, sees what clients do, closes one connection and no other,
// loses the process and finds it again, and signs out; on a desk and on a phone,
// by day and by night.
func TestAnOperatorSeesAndOrders(t *testing.T) {
	s := startService(t)
	b := startBrowser(t)
	b.open(t, "wrong", s.admin, 1280, "light")
	b.signIn(t, "wrong", s.token(t, "alice", "USER"))
	b.until(t, "wrong", `!document.getElementById("refused").hidden && document.getElementById("refused").textContent.includes("ADMIN") && !sessionStorage.length`)
	b.shot(t, "wrong", "refused", "dark")

	pages := []string{"desk", "phone"}
	b.open(t, "desk", s.admin, 1280, "light")
	b.open(t, "phone", s.admin, 390, "light")
	root := s.token(t, "root", "ADMIN")
	for _, page := range pages {
		b.signIn(t, page, root)
		b.until(t, page, `document.getElementById("state").textContent === "live" && document.getElementById("shown").textContent.startsWith("No live")`)
	}
	b.shot(t, "desk", "empty", "light")

	clients := map[string]*websocket.Conn{}
	for _, who := range []string{"ada", "bob", "carol"} {
		clients[who] = s.listen(t, who)
	}
	s.write(t, 30)
	for _, page := range pages {
		b.until(t, page, tile("Connections", "3")+"&&"+tile("Live operations", "6")+`&& document.querySelectorAll("#operations tr.row").length === 6 && document.querySelectorAll("#changes tr").length === 10 && document.querySelectorAll("#groups tr").length === 2`)
	}

	b.tell(t, map[string]any{"command": "fill", "page": "desk", "at": "#search", "text": "bob"})
	b.until(t, "desk", `document.querySelectorAll("#operations tr.row").length === 2`)
	b.click(t, "desk", "#operations .open >> nth=0")
	for _, page := range pages {
		b.shot(t, page, page+"-light", "light")
		b.shot(t, page, page+"-dark", "dark")
		b.until(t, page, `document.documentElement.scrollWidth <= innerWidth`)
	}
	b.click(t, "desk", `.detail button:has-text("Close the connection")`)
	b.shot(t, "desk", "asked", "light")
	b.click(t, "desk", "#ask-yes")
	if code := closeCode(t, clients["bob"]); code != websocket.CloseServiceRestart {
		t.Errorf("bob's connection was closed with %d", code)
	}
	b.until(t, "desk", `document.getElementById("toast").textContent.includes("was closed")`)
	b.until(t, "phone", tile("Connections", "2"))
	s.write(t, 1)
	for _, who := range []string{"ada", "carol"} {
		if code := closeCode(t, clients[who]); code != 0 {
			t.Errorf("%s's connection was closed with %d", who, code)
		}
	}

	s.stop(t)
	b.until(t, "desk", `document.getElementById("state").dataset.state === "lost" && document.getElementById("room").classList.contains("stale")`)
	b.shot(t, "desk", "lost", "light")
	s.start(t)
	b.until(t, "desk", `document.getElementById("state").textContent === "live" && `+tile("Connections", "0"))

	b.click(t, "desk", "#out")
	b.until(t, "desk", `document.getElementById("room").hidden && !sessionStorage.length && !document.querySelector("#operations tr, #changes tr, #tiles div")`)
	var said []string
	if err := json.Unmarshal(b.tell(t, map[string]any{"command": "errors"}), &said); err != nil || len(said) > 0 {
		t.Errorf("the pages threw %v %v", said, err)
	}
}

// tile is true when a figure is shown with a value.
func tile(title, value string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#tiles > div")].some(d => d.firstChild.textContent === %q && d.lastChild.firstChild.textContent === %q)`, title, value)
}

func (b *browser) open(t *testing.T, page, admin string, width int, scheme string) {
	t.Helper()
	b.tell(t, map[string]any{"command": "open", "page": page, "url": admin + "/console", "width": width, "height": 844, "scheme": scheme})
}

func (b *browser) signIn(t *testing.T, page, token string) {
	t.Helper()
	b.tell(t, map[string]any{"command": "fill", "page": page, "at": "#token", "text": token})
	b.click(t, page, "#login button")
}

func (b *browser) click(t *testing.T, page, at string) {
	t.Helper()
	b.tell(t, map[string]any{"command": "click", "page": page, "at": at})
}

// shot looks at a page; SHOTS names a directory where that is kept.
func (b *browser) shot(t *testing.T, page, name, scheme string) {
	t.Helper()
	dir := os.Getenv("SHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	b.tell(t, map[string]any{"command": "shot", "page": page, "file": filepath.Join(dir, name+".png"), "scheme": scheme})
}

// until waits for what an expression says of a page.
func (b *browser) until(t *testing.T, page, is string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(90 * time.Second); ; <-tick.C {
		if string(b.tell(t, map[string]any{"command": "evaluate", "page": page, "text": "Boolean(" + is + ")"})) == "true" {
			return
		}
		if time.Now().After(end) {
			text := b.tell(t, map[string]any{"command": "evaluate", "page": page, "text": "document.body.innerText"})
			t.Fatalf("the page %s never came to %s; it says %s", page, is, text)
		}
	}
}

// listen opens a socket with two subscriptions, one of which has variables.
func (s *service) listen(t *testing.T, who string) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	ws, _, err := d.Dial("ws"+strings.TrimPrefix(s.public, "http")+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	for _, m := range []string{
		`{"type":"connection_init","payload":{"authToken":"` + s.token(t, who, "USER") + `"}}`,
		`{"id":"1","type":"subscribe","payload":{"query":"subscription Timeline { postChanged { kind post { id title } } }"}}`,
		`{"id":"2","type":"subscribe","payload":{"query":"subscription Profile($id: ID!) { userChanged(id: $id) { kind user { name } } }","variables":{"id":"u1"}}}`,
	} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

// closeCode reads what is there; 0: the connection goes on for two seconds after.
func closeCode(t *testing.T, ws *websocket.Conn) int {
	t.Helper()
	_ = ws.SetReadDeadline(time.Now().Add(2 * time.Second))
	for {
		_, _, err := ws.ReadMessage()
		if e, closed := err.(*websocket.CloseError); closed {
			return e.Code
		}
		if err != nil {
			return 0
		}
	}
}

// write creates posts.
func (s *service) write(t *testing.T, n int) {
	t.Helper()
	token := s.token(t, "ada", "USER")
	for i := range n {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.public+"/graphql", strings.NewReader(fmt.Sprintf(`{"query":"mutation { createPost(input: {title: \"News %d\"}) { id } }"}`, i)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
}
