package realtime_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/schema"
)

func tokenWith(t testing.TB, subject string, roles schema.Roles) string {
	t.Helper()
	tok, err := auth.Sign(secret, auth.Principal{Subject: subject, Roles: roles}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func refresh(tok string) string {
	return fmt.Sprintf(`{"type":"ping","payload":{"authToken":%q}}`, tok)
}

// skipTo reads up to a message of a type.
func (c *client) skipTo(typ string) map[string]any {
	c.t.Helper()
	for {
		data, err := c.read()
		if err != nil {
			c.t.Fatalf("waiting for a %s: %v", typ, err)
		}
		if m := object(c.t, data); m["type"] == typ {
			return m
		}
	}
}

func TestASocketLivesAsLongAsItsNewToken(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	short := token(t, "alice", 2*time.Second)
	old := connect(t, f.url, `{"authToken":"`+short+`"}`)
	c := connect(t, f.url, `{"authToken":"`+short+`"}`)
	c.subscribe("1", "subscription ticks")
	c.send(refresh(token(t, "alice", time.Hour)))
	ends, err := time.Parse(time.RFC3339, c.skipTo("pong")["payload"].(map[string]any)["expires"].(string))
	if left := time.Until(ends); err != nil || left < 50*time.Minute || left > time.Hour {
		t.Errorf("it ends at %v, %v", ends, err)
	}
	old.expectClose(4403)
	f.engine.emit("")
	c.expect(`{"id":"1","type":"next","payload":` + tick(1, "") + `}`)
	c.send(refresh(token(t, "alice", 2*time.Second)))
	if why := c.expectClose(4403); why != "the token has expired" {
		t.Errorf("closed because %q", why)
	}
}

func TestANewTokenIsOfTheSameCallerAndGood(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	alice := `{"authToken":"` + token(t, "alice", time.Hour) + `"}`
	for name, c := range map[string]struct{ init, token, why string }{
		"another caller's":      {alice, token(t, "bob", time.Hour), "the new token is another caller's"},
		"of an anonymous one":   {"", token(t, "alice", time.Hour), "the new token is another caller's"},
		"expired":               {alice, token(t, "alice", -time.Hour), "the token has expired"},
		"no token":              {alice, "x", "the token is not valid"},
		"of another kind":       {alice, "Basic eDp5", "the Authorization header must be"},
		"none, with its prefix": {alice, "Bearer ", "the new token is another caller's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws := connect(t, f.url, c.init)
			ws.send(refresh(c.token))
			if why := ws.expectClose(4403); !strings.HasPrefix(why, c.why) {
				t.Errorf("closed because %q", why)
			}
		})
	}
	early := dial(t, f.url)
	early.send(refresh(token(t, "alice", time.Hour)))
	early.expectClose(4401)
}

// member is a stream or a socket whose credentials are renewed.
type member struct {
	t     *testing.T
	next  func() (name, notes string)
	renew func(roles schema.Roles)
}

const userChanged = `subscription { userChanged { user { name adminNotes } } }`

func noted(t *testing.T, payload []byte) (name, notes string) {
	t.Helper()
	var p struct {
		Data struct {
			UserChanged struct {
				User struct{ Name, AdminNotes string }
			}
		}
	}
	if err := json.Unmarshal(payload, &p); err != nil || p.Data.UserChanged.User.Name == "" {
		t.Fatalf("got %s %v", payload, err)
	}
	return p.Data.UserChanged.User.Name, p.Data.UserChanged.User.AdminNotes
}

func overSocket(t *testing.T, p *pod) member {
	c := connect(t, p.url, `{"authToken":"`+tokenWith(t, "eve", schema.User)+`"}`)
	c.subscribe("1", userChanged)
	pongs := make(chan struct{}, 100)
	results := make(chan []byte, 1000)
	go func() {
		for {
			data, err := c.read()
			if err != nil {
				return
			}
			var m struct {
				Type    string
				Payload json.RawMessage
			}
			switch _ = json.Unmarshal(data, &m); m.Type {
			case "pong":
				pongs <- struct{}{}
			default:
				results <- m.Payload
			}
		}
	}()
	return member{t,
		func() (string, string) { return noted(t, within(t, results)) },
		func(roles schema.Roles) { c.send(refresh(tokenWith(t, "eve", roles))); within(t, pongs) },
	}
}

func overOneStream(t *testing.T, p *pod) member {
	c := as(t, "eve").reserve(p.url)
	e := c.open(p.url)
	c.expect(202, c.post(p.url, "1", userChanged))
	return member{t,
		func() (string, string) {
			ev, err := e.next()
			if err != nil {
				t.Fatal(err)
			}
			var m struct{ Payload json.RawMessage }
			_ = json.Unmarshal([]byte(ev.data), &m)
			return noted(t, m.Payload)
		},
		func(roles schema.Roles) {
			c.header.Set("Authorization", "Bearer "+tokenWith(t, "eve", roles))
			c.expect(204, c.renew(p.url))
		},
	}
}

func within[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		t.Error("waited in vain")
	}
	return v
}

// rename changes ada's name and returns when it is in the log.
func (p *pod) rename(t *testing.T, name string) {
	who := auth.Principal{Subject: "root", Roles: schema.Admin | schema.User}
	r := p.engine.Execute(t.Context(), who, graphql.Request{Query: fmt.Sprintf(`mutation { updateUser(input: {id: "ada", name: %q}) { id } }`, name)})
	if strings.Contains(string(r.Body), "errors") {
		t.Errorf("got %s", r.Body)
	}
}

func TestANewTokensRolesCountAtOnceAndNoEventIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	root := auth.Principal{Subject: "root", Roles: schema.Admin | schema.User}
	if r := p.engine.Execute(t.Context(), root, graphql.Request{Query: `mutation { createUser(input: {id: "ada", name: "Ada", email: "ada@example.com", adminNotes: "secret"}) { id } }`}); strings.Contains(string(r.Body), "errors") {
		t.Fatalf("got %s", r.Body)
	}
	for name, join := range map[string]func(*testing.T, *pod) member{"socket": overSocket, "one stream": overOneStream} {
		t.Run(name, func(t *testing.T) {
			m := join(t, p)
			eventually(t, "it subscribes", func() bool { return p.engine.Stats().Sinks == 1 })
			// At rest: what is written after the answer is seen with the new roles.
			for i, roles := range []schema.Roles{schema.User, schema.Admin, schema.User} {
				m.renew(roles)
				p.rename(t, fmt.Sprint(i))
				got, notes := m.next()
				if want := map[bool]string{true: "secret"}[roles == schema.Admin]; got != fmt.Sprint(i) || notes != want {
					t.Errorf("as %v: %q, %q", auth.RoleNames(roles), got, notes)
				}
			}
			// Under load: each event once and in order, whatever the roles are.
			const events = 150
			written := make(chan struct{})
			go func() {
				defer close(written)
				for i := range events {
					p.rename(t, fmt.Sprint("n", i))
				}
			}()
			flipped := make(chan struct{})
			go func() {
				defer close(flipped)
				for i := 0; ; i++ {
					select {
					case <-written:
						return
					default:
						m.renew([]schema.Roles{schema.Admin, schema.User}[i%2])
					}
				}
			}()
			for i := range events {
				if got, _ := m.next(); got != fmt.Sprint("n", i) {
					t.Fatalf("got %s in the place of n%d", got, i)
				}
			}
			<-written
			<-flipped
			m.renew(schema.User)
		})
		eventually(t, "it has gone", func() bool { return p.engine.Stats().Sinks == 0 })
	}
}

func TestAStreamIsRenewedThroughAnyProcess(t *testing.T) {
	t.Parallel()
	f := serveMany(t, 2, realtime.Options{})
	c := as(t, "alice")
	c.header.Set("Authorization", "Bearer "+token(t, "alice", 2*time.Second))
	other := connect(t, f[0].url, `{"authToken":"`+token(t, "alice", 2*time.Second)+`"}`)
	c.reserve(f[0].url)
	e := c.open(f[0].url)
	c.expect(202, c.post(f[1].url, "a", "subscription ticks"))
	c.expect(403, as(t, "bob").named(c.token).renew(f[1].url))
	c.header = as(t, "alice").header
	c.expect(204, c.renew(f[1].url))
	other.expectClose(4403)
	f[0].engine.emit("")
	e.expect("next", "", result("a", tick(1, "")))
}

// renew gives the stream the caller's credentials.
func (c *caller) renew(url string) *http.Response {
	c.t.Helper()
	return c.do(http.MethodPut, url+"?token="+c.token, "", c.header)
}

// named is the caller with another's stream.
func (c *caller) named(token string) *caller {
	c.token = token
	return c
}

func TestAStreamThatEndsWithItsTokenSaysSo(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	e := post(t, f.url, "subscription ticks", http.Header{"Authorization": {"Bearer " + token(t, "alice", 2*time.Second)}})
	var last string
	for block, err := e.block(); err == nil; block, err = e.block() {
		last = block
	}
	if first, rest, _ := strings.Cut(last, "\n"); first != ": 4403 the token has expired" || !later.MatchString(rest) {
		t.Errorf("it ends with %q", last)
	}
}
