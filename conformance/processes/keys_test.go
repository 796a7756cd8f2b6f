//go:build conformance

package processes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// provider is an identity provider: it signs tokens and serves its keys, when
// it is not away.
type provider struct {
	*httptest.Server
	mu   sync.Mutex
	away bool
	keys map[string]*ecdsa.PrivateKey
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{away: true, keys: map[string]*ecdsa.PrivateKey{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	set := []map[string]string{}
	for kid, key := range p.keys {
		point, err := key.PublicKey.Bytes()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		set = append(set, map[string]string{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": kid,
			"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": set})
}

// rotate makes a key; only it is served from then on.
func (p *provider) rotate(t *testing.T, kid string) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away, p.keys = false, map[string]*ecdsa.PrivateKey{kid: key}
	return key
}

func providerToken(t *testing.T, key *ecdsa.PrivateKey, kid string) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": "https://idp.example.org", "aud": "social", "sub": "alice", "scope": "openid social:write",
		"exp": time.Now().Add(time.Hour).Unix(),
	})
	token.Header["kid"] = kid
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The keys of tokens come from a provider that is away at first and rotates
// them later, and the roles from its scopes.
func TestKeysOfAProviderThatRotatesThem(t *testing.T) {
	t.Parallel()
	idp := newProvider(t)
	listen, admin := freePort(t), freePort(t)
	p := start(t, &process{name: "api", env: []string{
		"TIDINGS_JWT_JWKS=" + idp.URL, "TIDINGS_JWT_ISSUER=https://idp.example.org", "TIDINGS_JWT_AUDIENCE=social",
		"TIDINGS_JWT_ROLES_CLAIM=scope", "TIDINGS_JWT_ROLES=social:write=USER",
	}, args: []string{"--schema", social(t), "--data", t.TempDir(), "--listen", listen, "--admin", admin}})
	poll(t, 30*time.Second, "the process says why it is not ready", func() error {
		status, body := fetch(t, "http://"+admin+"/readyz", "", "")
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "key") {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	first := idp.rotate(t, "2026-1")
	p.ready = "http://" + admin + "/readyz"
	p.waitReady(t)

	create := `{"query":"mutation { createPost(input: {title: \"x\"}) { authorId } }"}`
	url := "http://" + listen + "/graphql"
	if status, body := fetch(t, url, providerToken(t, first, "2026-1"), create); status != http.StatusOK || !strings.Contains(body, `"authorId":"alice"`) {
		t.Errorf("%d %s", status, body)
	}
	forged, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := fetch(t, url, providerToken(t, forged, "2026-1"), create); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, body)
	}
	second := idp.rotate(t, "2026-2")
	poll(t, time.Minute, "a token of the new key is good", func() error {
		if status, body := fetch(t, url, providerToken(t, second, "2026-2"), create); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	if status, body := fetch(t, url, providerToken(t, first, "2026-1"), create); status != http.StatusUnauthorized {
		t.Errorf("a token of a key that was withdrawn: %d %s", status, body)
	}
}

// fetch gets, or posts a body when there is one.
func fetch(t testing.TB, url, token, body string) (status int, answer string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(text)
}
