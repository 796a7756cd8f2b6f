//go:build conformance

package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"tidings/conformance/browser"
)

// The query page and the console do the same in each engine that people have: they
// load nothing from elsewhere, their policies forbid them nothing that they want, and
// they fit on a desk and on a phone, by day and by night.
func TestThePagesWorkInEachEngine(t *testing.T) {
	s := startService(t)
	for _, engine := range browser.Engines() {
		t.Run(engine, func(t *testing.T) {
			b := browser.Start(t, engine, nil)
			query(t, s, b, engine)
			operate(t, s, b, engine)
			b.Quiet()
		})
	}
}

// looks are the windows in which a page is looked at beside the one in which it is used.
var looks = [...]browser.Window{{Name: "dark", Scheme: "dark"}, {Name: "phone", Width: 390}}

// query runs a mutation, a query, and a subscription over each transport.
func query(t *testing.T, s *service, b *browser.Browser, engine string) {
	t.Helper()
	page := b.Open(browser.Window{Name: "query", URL: s.public + "/graphql"})
	page.Until(`document.querySelector(".graphiql-query-editor .view-line")`)
	page.Fill("#token", s.token(t, "root", "ADMIN"))
	page.Until(`document.getElementById("who").textContent.startsWith("root")`)
	for tab, answer := range map[string]string{"CreatePost": `"authorId": "root"`, "ListUsers": `"totalCount"`} {
		page.Click("[role=tab]", tab)
		page.Click(".graphiql-execute-button", "")
		page.Until(answered(answer))
	}
	page.Click("[role=tab]", "WatchPosts")
	for _, transport := range []string{"WebSocket", "SSE"} {
		page.Click(".tidings-transport label", transport)
		page.Click(".graphiql-execute-button", "")
		page.Until(phase("connected") + `&& ` + events + ` > 0`) // the snapshot
		before := string(page.Evaluate(events))
		s.write(t, 1)
		page.Until(events + ` > ` + before)
		page.Click(".graphiql-execute-button", "")
		page.Until(phase("stopped"))
	}
	page.Until(`performance.getEntriesByType("resource").every(e => e.name.startsWith(location.origin) || e.name.startsWith("data:"))`)
	shot(t, page, engine+"-query", "")
	for _, w := range looks {
		name := w.Name
		w.Name, w.URL = "query-"+name, s.public+"/graphql"
		page := b.Open(w)
		page.Until(`document.querySelector(".graphiql-query-editor .view-line")`)
		page.Until(`document.documentElement.scrollWidth <= innerWidth`)
		page.Click(".graphiql-execute-button", "")
		page.Until(answered(`"totalCount"`))
		shot(t, page, engine+"-"+w.Name, "")
	}
}

// answered is true when the query page shows an answer that has the text.
func answered(with string) string {
	return fmt.Sprintf(`globalThis.__MONACO.editor.getEditors().some(e => e.getContainerDomNode().closest(".result-window") && e.getValue().includes(%q))`, with)
}

// phase is true when the live operation of the query page is as it says.
func phase(is string) string {
	return fmt.Sprintf(`document.getElementById("connection").dataset.phase === %q`, is)
}

// events is how many the live operation has had.
const events = `Number(/(\d+) event/.exec(document.getElementById("connection").textContent)?.[1] ?? 0)`

// operate looks at what runs, and closes a connection.
func operate(t *testing.T, s *service, b *browser.Browser, engine string) {
	t.Helper()
	root := s.token(t, "root", "ADMIN")
	client := s.listen(t, "ada")
	s.write(t, 5)
	page := signIn(b, browser.Window{Name: "console"}, s.admin, root)
	page.Until(tile("Live operations", "2") + `&& document.querySelectorAll("#operations tr.row").length === 2 && document.querySelectorAll("#changes tr").length > 0`)
	page.Until(`document.querySelectorAll("#plots svg path[d]").length > 0`)
	page.Click("#operations .open", "")
	shot(t, page, engine+"-console", "")
	for _, w := range looks {
		w.Name = "console-" + w.Name
		page := signIn(b, w, s.admin, root)
		page.Until(tile("Live operations", "2") + `&& document.documentElement.scrollWidth <= innerWidth`)
		shot(t, page, engine+"-"+w.Name, "")
	}
	page.Click(".detail button", "Close the connection")
	page.Click("#ask-yes", "")
	if code := closeCode(t, client); code != websocket.CloseServiceRestart {
		t.Errorf("the connection was closed with %d", code)
	}
	page.Until(`document.getElementById("toast").textContent.includes("was closed")`)
	if loaded := string(page.Evaluate(`performance.getEntriesByType("resource").map(e => e.name)`)); strings.Contains(loaded, "http") {
		t.Errorf("the console has loaded %s", loaded)
	}
}
