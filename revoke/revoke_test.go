package revoke_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/revoke"
	"tidings/schema"
)

var secret = []byte("a secret of at least thirty-two bytes")

// pod is a process that checks tokens.
type pod struct {
	*revoke.List
	*auth.Verifier
}

// start runs a process beside others on a server; it ends with the test.
func start(t *testing.T, b *bus.Bus) pod {
	t.Helper()
	set := &auth.Revocations{}
	v, err := auth.NewVerifier(auth.Options{Secret: secret, Revoked: set})
	if err != nil {
		t.Fatal(err)
	}
	l, err := revoke.Open(t.Context(), b, set, revoke.Options{Age: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return pod{l, v}
}

func token(t *testing.T, subject, id string) string {
	t.Helper()
	tok, err := auth.Sign(secret, auth.Principal{Subject: subject, TokenID: id, Roles: schema.User}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// refuses waits until a token is refused.
func (p pod) refuses(t *testing.T, token string) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		changed := p.Changed()
		if _, err := p.Token(token); fault.Is(err, fault.Unauthenticated) {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatal("the token is taken")
		}
	}
}

func (p pod) takes(t *testing.T, token string) {
	t.Helper()
	if _, err := p.Token(token); err != nil {
		t.Errorf("the token is refused: %v", err)
	}
}

func TestARevocationCountsInEveryProcessAndInThoseThatStartLater(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	other := func() *bus.Bus { return bustest.Open(t, bus.Options{URL: server.URL(), Memory: true}) }
	list := []pod{start(t, server), start(t, other()), start(t, other())}
	one, two, ben := token(t, "ada", "1"), token(t, "ada", "2"), token(t, "ben", "3")
	for _, p := range list {
		p.takes(t, one)
	}
	now := time.Now()
	if err := list[1].Revoke(t.Context(), auth.Revocation{TokenID: "1", At: now}); err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		p.refuses(t, one)
		p.takes(t, two)
	}
	if err := list[2].Revoke(t.Context(), auth.Revocation{Subject: "ada", Before: now.Add(time.Minute), At: now}); err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		p.refuses(t, two)
		p.takes(t, ben)
	}
	late := start(t, other())
	for _, tok := range []string{one, two} {
		if _, err := late.Token(tok); err == nil { // from the first moment on
			t.Error("who starts later takes the token")
		}
	}
	// An earlier time gives nothing back.
	if err := list[0].Revoke(t.Context(), auth.Revocation{Subject: "ada", Before: now.Add(-time.Hour), At: now}); err != nil {
		t.Fatal(err)
	}
	start(t, other()).refuses(t, two)
	if err := list[0].Revoke(t.Context(), auth.Revocation{Before: now.Add(time.Minute), At: now}); err != nil {
		t.Fatal(err)
	}
	late.refuses(t, ben)
}

func TestWhatIsNoRevocationIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, bustest.New(t))
	for name, c := range map[string]struct {
		body, typ string
		status    int
	}{
		"a token":                {`{"jti":"1"}`, "application/json", 204},
		"a subject until now":    {`{"sub":"ada"}`, "application/json; charset=utf-8", 204},
		"a subject until then":   {`{"sub":"eve","before":"2020-01-01T12:00:00Z"}`, "application/json", 204},
		"everybody":              {`{"before":"2020-01-01T12:00:00Z"}`, "application/json", 204},
		"nothing":                {`{}`, "application/json", 400},
		"a token and a subject":  {`{"jti":"1","sub":"ada"}`, "application/json", 400},
		"another member":         {`{"subject":"ada"}`, "application/json", 400},
		"not JSON":               {`sub=ada`, "application/json", 400},
		"a time far ahead":       {`{"before":"2999-01-01T12:00:00Z"}`, "application/json", 400},
		"more than fits":         {`{"sub":"` + strings.Repeat("x", 9000) + `"}`, "application/json", 400},
		"what a form could send": {`{"jti":"1"}`, "text/plain", 415},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/revoke", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.typ)
		p.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	p.refuses(t, token(t, "ben", "1"))
}

// While the bus is away what is known goes on to count, and nothing can be
// revoked; what others have written counts when it is back.
func TestWithoutTheBusNothingIsForgottenAndNothingIsRevoked(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	p := start(t, bustest.Open(t, bus.Options{URL: server.URL(), Memory: true}))
	if err := p.Revoke(t.Context(), auth.Revocation{TokenID: "1", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.refuses(t, token(t, "ada", "1"))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := p.Revoke(ctx, auth.Revocation{TokenID: "2", At: time.Now()}); err == nil {
		t.Error("a revocation was stored nowhere")
	}
	p.takes(t, token(t, "ada", "2"))
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"jti":"1","at":"2026-01-01T12:00:00Z"}`, `{"sub":"ada","before":"2026-01-01T12:00:00Z","at":"2026-01-01T12:00:00Z"}`, `{}`, `[]`, `{"before":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := revoke.Decode(data)
		var set auth.Revocations
		if err == nil && (set.Add(r) != nil || set.Len() > 1) {
			t.Errorf("%+v is read and cannot be taken", r)
		}
	})
}
