//go:build conformance

package console_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/conformance/browser"
)

// An operator signs in, sees what clients do, closes one connection and no other,
// loses the process and finds it again, and signs out; on a desk and on a phone,
// by day and by night.
func TestAnOperatorSeesAndOrders(t *testing.T) {
	s := startService(t)
	b := browser.Start(t, browser.Chromium, nil)
	wrong := signIn(b, browser.Window{Name: "wrong"}, s.admin, s.token(t, "alice", "USER"))
	wrong.Until(`!document.getElementById("refused").hidden && document.getElementById("refused").textContent.includes("ADMIN") && !sessionStorage.length`)
	shot(t, wrong, "refused", "dark")

	root := s.token(t, "root", "ADMIN")
	desk := signIn(b, browser.Window{Name: "desk"}, s.admin, root)
	phone := signIn(b, browser.Window{Name: "phone", Width: 390}, s.admin, root)
	pages := []*browser.Page{desk, phone}
	for _, page := range pages {
		page.Until(`document.getElementById("state").textContent === "live" && document.getElementById("shown").textContent.startsWith("No live")`)
	}
	shot(t, desk, "empty", "light")

	clients := map[string]*websocket.Conn{}
	for _, who := range []string{"ada", "bob", "carol"} {
		clients[who] = s.listen(t, who)
	}
	s.write(t, 30)
	for _, page := range pages {
		page.Until(tile("Connections", "3") + "&&" + tile("Live operations", "6") + `&& document.querySelectorAll("#operations tr.row").length === 6 && document.querySelectorAll("#changes tr").length === 10 && document.querySelectorAll("#groups tr").length === 2`)
	}

	desk.Fill("#search", "bob")
	desk.Until(`document.querySelectorAll("#operations tr.row").length === 2`)
	desk.Click("#operations .open", "")
	for _, page := range pages {
		shot(t, page, page.Name+"-light", "light")
		shot(t, page, page.Name+"-dark", "dark")
		page.Until(`document.documentElement.scrollWidth <= innerWidth`)
	}
	desk.Click(".detail button", "Close the connection")
	shot(t, desk, "asked", "light")
	desk.Click("#ask-yes", "")
	if code := closeCode(t, clients["bob"]); code != websocket.CloseServiceRestart {
		t.Errorf("bob's connection was closed with %d", code)
	}
	desk.Until(`document.getElementById("toast").textContent.includes("was closed")`)
	phone.Until(tile("Connections", "2"))
	s.write(t, 1)
	for _, who := range []string{"ada", "carol"} {
		if code := closeCode(t, clients[who]); code != 0 {
			t.Errorf("%s's connection was closed with %d", who, code)
		}
	}

	s.stop(t)
	desk.Until(`document.getElementById("state").dataset.state === "lost" && document.getElementById("room").classList.contains("stale")`)
	shot(t, desk, "lost", "light")
	s.start(t)
	desk.Until(`document.getElementById("state").textContent === "live" && ` + tile("Connections", "0"))

	desk.Click("#out", "")
	desk.Until(`document.getElementById("room").hidden && !sessionStorage.length && !document.querySelector("#operations tr, #changes tr, #tiles div")`)
	b.Quiet()
}

// tile is true when a figure is shown with a value.
func tile(title, value string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#tiles > div")].some(d => d.firstChild.textContent === %q && d.lastChild.firstChild.textContent === %q)`, title, value)
}

// signIn opens the console and enters a token.
func signIn(b *browser.Browser, w browser.Window, admin, token string) *browser.Page {
	w.URL = admin + "/console"
	page := b.Open(w)
	page.Fill("#token", token)
	page.Click("#login button", "")
	return page
}

// shot looks at a page; SHOTS names a directory where that is kept.
func shot(t *testing.T, page *browser.Page, name, scheme string) {
	t.Helper()
	page.Shot(filepath.Join(cmp.Or(os.Getenv("SHOTS"), t.TempDir()), name+".png"), scheme)
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
