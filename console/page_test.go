package console_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tidings/schema"
)

// fetch sends a request to the admin port.
func fetch(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

func TestThePageIsOnePieceThatLoadsNothingElse(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	status, h, page := fetch(t, "GET", p.admin+"/console", "")
	if status != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		t.Fatalf("got %d %v", status, h)
	}
	nonce := regexp.MustCompile(`script-src 'nonce-([A-Z0-9]+)'`).FindStringSubmatch(h.Get("Content-Security-Policy"))
	if nonce == nil || strings.Count(page, `nonce="`+nonce[1]+`"`) != 2 || strings.Contains(page, "{{") {
		t.Errorf("the policy is %q", h.Get("Content-Security-Policy"))
	}
	if elsewhere := regexp.MustCompile(`(?:src|href|url\()\s*=?\s*["']?(?:https?:)?//[^"' )]+|@import|\sstyle="|\son\w+="`).FindString(page); elsewhere != "" {
		t.Errorf("the page has %q", elsewhere)
	}
	_, again, _ := fetch(t, "GET", p.admin+"/console", "")
	if again.Get("Content-Security-Policy") == h.Get("Content-Security-Policy") {
		t.Error("the nonce is used twice")
	}
}

// Who is no administrator learns nothing: neither by a socket nor by a request,
// neither data nor what could be asked for.
func TestTheConsoleIsForAdministratorsAlone(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	for name, c := range map[string]struct {
		bearer string
		status int
	}{
		"nobody":        {"", 401},
		"a user":        {token(t, "ada", schema.User), 403},
		"a service":     {token(t, "robot", schema.Service), 403},
		"wrong token":   {"x.y.z", 401},
		"expired token": {tokenFor(t, "root", schema.Admin, -time.Hour), 401},
	} {
		socket := dial(t, p.admin+"/console/graphql", c.bearer)
		if code := socket.closed(); code != 4403 {
			t.Errorf("%s: the socket was closed with %d", name, code)
		}
		for _, how := range []struct{ method, accept, body string }{
			{"POST", "application/json", `{"query":"{ whoami { subject } }"}`},
			{"POST", "application/json", `{"query":"{ __schema { types { name } } }"}`},
			{"POST", "application/json", `{"query":"mutation { revoke(subject: \"ada\") }"}`},
			{"POST", "text/event-stream", `{"query":"subscription { overview { at } }"}`},
			{"GET", "text/event-stream", ""},
			{"PUT", "", ""},
		} {
			header := []string{"Content-Type", "application/json", "Accept", how.accept}
			if c.bearer != "" {
				header = append(header, "Authorization", "Bearer "+c.bearer)
			}
			if status, _, body := fetch(t, how.method, p.admin+"/console/graphql", how.body, header...); status != c.status || strings.Contains(body, "data") || strings.Contains(body, "overview") {
				t.Errorf("%s: %s %s: %d %s", name, how.method, how.body, status, body)
			}
		}
	}
}

func TestPagesOfOtherOriginsDoNotReachTheConsole(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	good := "Bearer " + token(t, "root", schema.Admin)
	const question = `{"query":"{ whoami { subject } }"}`
	if status, h, body := fetch(t, "POST", p.admin+"/console/graphql", question, "Content-Type", "application/json", "Authorization", good); status != 200 || !strings.Contains(body, `"root"`) || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %d %s", status, body)
	}
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		if status, _, body := fetch(t, "POST", p.admin+"/console/graphql", question, append(header, "Content-Type", "application/json", "Authorization", good)...); status != 403 {
			t.Errorf("%v: %d %s", header, status, body)
		}
	}
	_, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(p.admin, "http")+"/console/graphql", http.Header{"Origin": {"https://evil.example"}})
	if err == nil || resp == nil || resp.StatusCode != 403 {
		t.Errorf("a socket of another origin: %v", err)
	}
}
