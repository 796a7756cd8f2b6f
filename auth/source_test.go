package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tidings/auth"
)

// keyServer is an endpoint inside a bubble of time.
type keyServer struct {
	mu    sync.Mutex
	set   []byte
	away  bool
	asked int
	slow  time.Duration
}

func (s *keyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	set, away, slow := s.set, s.away, s.slow
	s.asked++
	s.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if away {
		return nil, errors.New("no route to host")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(set)))}, nil
}

func (s *keyServer) become(set []byte, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set, s.away = set, away
}

func (s *keyServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// bubbled runs f with a verifier that fetches from s, in a bubble of time.
func bubbled(t *testing.T, s *keyServer, refresh time.Duration, f func(t *testing.T, v *auth.Verifier)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := verifier(t, auth.Options{JWKS: "https://idp.example.org/keys", Transport: s, Refresh: refresh})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- v.Run(ctx) }()
		synctest.Wait()
		f(t, v)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func byKid(t *testing.T, k keys, kid string) string {
	t.Helper()
	c := with(with(good(), "iat", nil), "exp", time.Now().Add(24*time.Hour).Unix())
	if kid == "old" {
		return signedBy(t, jwt.SigningMethodRS256, k.otherRSA, map[string]any{"kid": kid}, c)
	}
	return signedBy(t, jwt.SigningMethodES256, k.ec, map[string]any{"kid": kid}, c)
}

func accepted(v *auth.Verifier, token string) bool {
	_, err := v.Token(token)
	return err == nil
}

func TestAnUnknownKeyIsFetchedWhenATokenNamesIt(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	before, after := setOf(t, jwkOf(t, "old", &k.otherRSA.PublicKey)), setOf(t, jwkOf(t, "old", &k.otherRSA.PublicKey), jwkOf(t, "new", &k.ec.PublicKey))
	s := &keyServer{set: before}
	bubbled(t, s, time.Hour, func(t *testing.T, v *auth.Verifier) {
		if !accepted(v, byKid(t, k, "old")) || accepted(v, byKid(t, k, "new")) {
			t.Error("before the rotation")
		}
		s.become(after, false)
		time.Sleep(31 * time.Second)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if !accepted(v, byKid(t, k, "new")) {
					t.Error("the new key was not fetched")
				}
			})
		}
		wg.Wait()
		if n := s.count(); n != 2 {
			t.Errorf("%d fetches for twenty tokens", n)
		}
	})
}

func TestInventedKeyIdsCostLittle(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	s := &keyServer{set: setOf(t, jwkOf(t, "old", &k.otherRSA.PublicKey)), slow: time.Second}
	bubbled(t, s, time.Hour, func(t *testing.T, v *auth.Verifier) {
		time.Sleep(2 * time.Second)
		began, waited := time.Now(), time.Duration(0)
		for i := 0; time.Since(began) < 5*time.Minute; i++ {
			asked := time.Now()
			if accepted(v, byKid(t, k, strings.Repeat("x", i%100+1))) {
				t.Fatal("accepted")
			}
			waited = max(waited, time.Since(asked))
			time.Sleep(100 * time.Millisecond)
		}
		if n := s.count(); n > 12 {
			t.Errorf("%d fetches in five minutes", n)
		}
		if waited > 3*time.Second {
			t.Errorf("a token waited for %s", waited)
		}
	})
}

func TestATokenDoesNotWaitLongForASlowIssuer(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	s := &keyServer{set: setOf(t, jwkOf(t, "old", &k.otherRSA.PublicKey)), slow: time.Hour}
	bubbled(t, s, time.Hour, func(t *testing.T, v *auth.Verifier) {
		began := time.Now()
		if _, err := v.Token(byKid(t, k, "old")); err == nil || !strings.Contains(err.Error(), "try again") {
			t.Error(err)
		}
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("waited for %s", d)
		}
		if v.Ready() == nil {
			t.Error("ready without a key")
		}
	})
}

func TestTheLastGoodKeysStayWhileTheIssuerIsAway(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	before, after := setOf(t, jwkOf(t, "old", &k.otherRSA.PublicKey)), setOf(t, jwkOf(t, "new", &k.ec.PublicKey))
	s := &keyServer{set: before}
	bubbled(t, s, 10*time.Minute, func(t *testing.T, v *auth.Verifier) {
		old, young := byKid(t, k, "old"), byKid(t, k, "new")
		for _, broken := range [][]byte{nil, []byte("<html>502</html>"), []byte(`{"keys":[]}`), []byte(strings.Repeat(" ", 1<<20))} {
			s.become(broken, broken == nil)
			time.Sleep(time.Hour)
			if !accepted(v, old) || v.Ready() != nil {
				t.Errorf("the keys were lost after %.20q", broken)
			}
		}
		s.become(after, false)
		time.Sleep(11 * time.Minute)
		if accepted(v, old) || !accepted(v, young) {
			t.Error("a key that was taken back is still accepted, or the new one is not")
		}
	})
}

func TestAnIssuerThatIsAwayAtTheStartIsAskedAgain(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	s := &keyServer{set: setOf(t, jwkOf(t, "old", &k.otherRSA.PublicKey)), away: true}
	bubbled(t, s, 10*time.Minute, func(t *testing.T, v *auth.Verifier) {
		if v.Ready() == nil || accepted(v, byKid(t, k, "old")) {
			t.Error("ready without a key")
		}
		time.Sleep(time.Minute)
		if n := s.count(); n < 4 || n > 8 {
			t.Errorf("asked %d times in a minute", n)
		}
		s.become(s.set, false)
		time.Sleep(2 * time.Minute)
		if err := v.Ready(); err != nil || !accepted(v, byKid(t, k, "old")) {
			t.Error(err)
		}
	})
}

func TestAnIssuerThatIsAwayDoesNotTakeTheOthersWithIt(t *testing.T) {
	t.Parallel()
	v := verifier(t, auth.Options{Secret: secret, Issuers: []auth.Issuer{{Name: "away", JWKS: "https://away.example.org/keys"}}})
	if err := v.Ready(); err != nil || !accepted(v, signed(t, jwt.SigningMethodHS256, secret, good())) {
		t.Error(err)
	}
}

func TestKeysOverHTTP(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	served := serveKeys(t, setOf(t, jwkOf(t, "e", &k.ec.PublicKey)))
	v := ready(t, running(t, auth.Options{JWKS: served.URL}))
	served.change(http.StatusInternalServerError, nil)
	if !accepted(v, byKid(t, k, "e")) {
		t.Error("refused")
	}
}

func TestKeysAreNotFetchedWhereARedirectLeavesTLS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := redirect{"http://elsewhere.example.org/keys", make(chan string, 10)}
		v := verifier(t, auth.Options{JWKS: "https://idp.example.org/keys", Transport: to})
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go v.Run(ctx)
		synctest.Wait()
		if got := <-to.asked; len(to.asked) > 0 || got != "https://idp.example.org/keys" || v.Ready() == nil {
			t.Errorf("asked %s, and %d more", got, len(to.asked))
		}
	})
}

type redirect struct {
	to    string
	asked chan string
}

func (to redirect) RoundTrip(r *http.Request) (*http.Response, error) {
	to.asked <- r.URL.String()
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {to.to}}, Body: http.NoBody, Request: r}, nil
}
