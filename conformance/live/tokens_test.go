//go:build conformance

package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/schema"
)

// issuer makes tokens that live long enough to be used once, or until they are
// revoked. Each client has a subject of its own.
type issuer struct {
	*httptest.Server
	mu   sync.Mutex
	made map[string]int
}

// life of a token in whole seconds, as tokens have them.
const life = 3 * time.Second

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{made: map[string]int{}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, ends := r.URL.Query().Get("client"), life
		if strings.HasPrefix(client, "revoked") {
			ends = time.Hour
		}
		s, err := auth.Sign([]byte(secret), auth.Principal{Subject: client, Roles: schema.User}, ends)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		i.mu.Lock()
		i.made[client]++
		i.mu.Unlock()
		_, _ = io.WriteString(w, s) // the client may have gone
	}))
	t.Cleanup(i.Close)
	return i
}

// course is how it has gone for the clients.
type course struct {
	*audience
	mu     sync.Mutex
	opened map[string]int
	closed map[string][]int // by which codes
	gone   map[string]string
}

func (c *course) take(t *testing.T, line []byte) {
	var r struct {
		report
		Opened bool
		Closed int
		Gone   string
	}
	if err := json.Unmarshal(line, &r); err != nil {
		t.Errorf("printed %q", line)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.Opened:
		c.opened[r.Client]++
	case r.Closed != 0:
		c.closed[r.Client] = append(c.closed[r.Client], r.Closed)
	case r.Gone != "":
		c.gone[r.Client] = r.Gone
	default:
		c.audience.take(r.report)
	}
}

// of are the clients that something happens to.
func of(what string, names ...string) []string {
	for i, name := range names {
		names[i] = what + " " + name
	}
	return names
}

// Clients fetch another token when theirs has ended, and go on; those that renew
// it stay connected; and a token that was revoked lets nobody in.
func TestForeignClientsWhoseTokensEndAreRenewedOrRevoked(t *testing.T) {
	expiring := of("expiring", "graphql-ws", "graphql-sse", "graphql-sse single", "subscriptions-transport-ws",
		"Apollo GraphQLWsLink", "Apollo WebSocketLink", "urql graphql-ws", "urql graphql-sse")
	renewing := of("renewing", "graphql-ws", "graphql-sse single", "Apollo GraphQLWsLink", "urql graphql-ws")
	revoked := of("revoked", "graphql-ws", "graphql-sse", "graphql-sse single", "subscriptions-transport-ws", "Apollo GraphQLWsLink", "urql graphql-ws")
	cluster := newCluster(t, 2, "http://localhost", "--jwt-leeway", "0s")
	tokens := newIssuer(t)
	c := &course{audience: newAudience(slices.Concat(expiring, renewing, revoked)...), opened: map[string]int{}, closed: map[string][]int{}, gone: map[string]string{}}
	script(t, func(line []byte) { c.take(t, line) }, "tokens.mjs", cluster.url(), tokens.URL)
	warm := 0
	await(t, time.Minute, "all have subscribed", func() error {
		warm++
		cluster.write(t, 0, fmt.Sprint("warm ", warm))
		return c.have(fmt.Sprint("warm ", max(1, warm-25)))
	})

	var titles []string
	write := func() {
		titles = append(titles, fmt.Sprint("post ", len(titles)+1))
		cluster.write(t, len(titles)%2, titles[len(titles)-1])
	}
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for end := time.Now().Add(3 * life); time.Now().Before(end); <-pace.C {
		write()
	}
	await(t, 20*time.Second, "all have the last post", func() error { return c.have(titles[len(titles)-1]) })
	c.whole(t, titles)
	c.mu.Lock()
	for _, name := range expiring {
		if c.opened[name] < 3 {
			t.Errorf("%s has connected %d times", name, c.opened[name])
		}
	}
	for _, name := range renewing {
		if c.opened[name] != 1 {
			t.Errorf("%s has connected %d times", name, c.opened[name])
		}
	}
	for name, codes := range c.closed {
		for _, code := range codes {
			if code != 4403 {
				t.Errorf("%s was closed with %v", name, codes)
				break
			}
		}
	}
	c.mu.Unlock()

	for _, name := range revoked {
		cluster.revoke(t, name)
	}
	await(t, 20*time.Second, "those whose tokens were revoked have given up", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, name := range revoked {
			if _, gone := c.gone[name]; !gone && !strings.HasSuffix(name, "subscriptions-transport-ws") { // which never does
				return fmt.Errorf("%s has not: %v", name, slices.Collect(maps.Keys(c.gone)))
			}
		}
		return nil
	})
	before := len(titles)
	for range 10 {
		write()
	}
	for _, name := range revoked { // they have what came before
		c.drop(t, name, titles[:before])
	}
	await(t, 20*time.Second, "the others have the last post", func() error { return c.have(titles[len(titles)-1]) })
	c.whole(t, titles)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range revoked {
		if c.opened[name] == 0 || len(c.closed[name]) > 0 && slices.ContainsFunc(c.closed[name], func(code int) bool { return code != 4403 }) {
			t.Errorf("%s has connected %d times and was closed with %v", name, c.opened[name], c.closed[name])
		}
	}
}

// drop takes a client out of the audience, which must have been told of the
// titles and of no more.
func (a *audience) drop(t *testing.T, client string, want []string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	got := slices.DeleteFunc(slices.Clone(a.seen[client]), func(title string) bool { return strings.HasPrefix(title, "warm") })
	if !slices.Equal(got, want) {
		t.Errorf("%s was told of %d posts, %d before its token was revoked", client, len(got), len(want))
	}
	delete(a.seen, client)
}

// revoke takes back all tokens of a subject.
func (c *cluster) revoke(t *testing.T, subject string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"sub": subject})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post("http://"+c.apis[0].ready+"/revoke", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp.Status)
	}
}
