package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwkOf writes a public key as a JWK; more members follow in pairs.
func jwkOf(t testing.TB, kid string, public crypto.PublicKey, more ...string) map[string]any {
	t.Helper()
	j := map[string]any{"kid": kid, "use": "sig"}
	switch k := public.(type) {
	case *rsa.PublicKey:
		j["kty"], j["n"], j["e"] = "RSA", b64(k.N.Bytes()), b64(big.NewInt(int64(k.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		half := (len(point) - 1) / 2
		j["kty"], j["crv"], j["x"], j["y"] = "EC", k.Curve.Params().Name, b64(point[1:1+half]), b64(point[1+half:])
	case ed25519.PublicKey:
		j["kty"], j["crv"], j["x"] = "OKP", "Ed25519", b64(k)
	}
	for i := 0; i < len(more); i += 2 {
		if more[i+1] == "" {
			delete(j, more[i])
		} else {
			j[more[i]] = more[i+1]
		}
	}
	return j
}

func setOf(t testing.TB, keys ...map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func setFile(t testing.TB, set []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, set, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// signedBy signs with further members of the header.
func signedBy(t testing.TB, m jwt.SigningMethod, key any, header map[string]any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(m, c)
	for name, value := range header {
		token.Header[name] = value
	}
	s, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// endpoint serves a key set that can be changed, and counts who asks.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	set    []byte
	status int
	asked  int
}

func serveKeys(t *testing.T, set []byte) *endpoint {
	t.Helper()
	e := &endpoint{set: set, status: http.StatusOK}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.asked++
		w.WriteHeader(e.status)
		_, _ = w.Write(e.set)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) change(status int, set []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status, e.set = status, set
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// running runs the verifier until the test ends.
func running(t *testing.T, o auth.Options) *auth.Verifier {
	t.Helper()
	v := verifier(t, o)
	done := make(chan error, 1)
	go func() { done <- v.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return v
}

// ready waits until v has keys.
func ready(t *testing.T, v *auth.Verifier) *auth.Verifier {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for v.Ready() != nil {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(v.Ready())
		}
	}
	return v
}

func TestTokensOfAKeySet(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	set := setOf(t, jwkOf(t, "r", &k.rsa.PublicKey, "alg", "RS256"), jwkOf(t, "e", &k.ec.PublicKey, "use", ""), jwkOf(t, "d", k.ed.Public()))
	served := serveKeys(t, set)
	for from, v := range map[string]*auth.Verifier{
		"file": verifier(t, auth.Options{JWKS: setFile(t, set)}),
		"URL":  ready(t, running(t, auth.Options{JWKS: served.URL})),
	} {
		for name, token := range map[string]string{
			"RS256":          signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, good()),
			"ES256":          signedBy(t, jwt.SigningMethodES256, k.ec, map[string]any{"kid": "e"}, good()),
			"EdDSA":          signedBy(t, jwt.SigningMethodEdDSA, k.ed, map[string]any{"kid": "d"}, good()),
			"without a kid":  signedBy(t, jwt.SigningMethodES256, k.ec, nil, good()),
			"with an x5t":    signedBy(t, jwt.SigningMethodES256, k.ec, map[string]any{"kid": "e", "x5t": "x", "typ": "at+jwt"}, good()),
			"a foreign jku":  signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r", "jku": "http://127.0.0.1:1/"}, good()),
			"without an aud": signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "aud", nil)),
		} {
			if p, err := v.Token(token); err != nil || p.Subject != "alice" {
				t.Errorf("%s, %s: %+v, %v", from, name, p, err)
			}
		}
		if err := v.Ready(); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// Whatever a token claims about keys, only the issuer's own verify it.
func TestAttacksOnAKeySetAreRefused(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	evil, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	evilSet := serveKeys(t, setOf(t, jwkOf(t, "evil", &evil.PublicKey), jwkOf(t, "e", &evil.PublicKey)))
	v := ready(t, running(t, auth.Options{
		JWKS:   serveKeys(t, setOf(t, jwkOf(t, "r", &k.rsa.PublicKey), jwkOf(t, "e", &k.ec.PublicKey))).URL,
		Issuer: "issuer", Audience: "tidings",
	}))
	es := func(header map[string]any) string { return signedBy(t, jwt.SigningMethodES256, evil, header, good()) }
	rs := func(kid any) string {
		return signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": kid}, good())
	}
	public := publicPEM(t, &k.rsa.PublicKey)
	twice := es(map[string]any{"kid": "e"})
	head := b64([]byte(`{"alg":"ES256","kid":"evil","kid":"e"}`))
	for name, token := range map[string]string{
		"a key of its own":         es(map[string]any{"kid": "e", "jwk": jwkOf(t, "e", &evil.PublicKey)}),
		"a set of its own":         es(map[string]any{"kid": "evil", "jku": evilSet.URL}),
		"certificates by address":  es(map[string]any{"kid": "e", "x5u": evilSet.URL}),
		"a certificate of its own": es(map[string]any{"kid": "e", "x5c": []string{b64(public)}}),
		"kid as a path":            es(map[string]any{"kid": "../../../../dev/null"}),
		"kid as SQL":               es(map[string]any{"kid": "x' UNION SELECT 'key"}),
		"kid as an address":        es(map[string]any{"kid": evilSet.URL}),
		"kid of another type":      rs(7),
		"kid as a list":            rs([]string{"r"}),
		"an unknown kid":           rs("gone"),
		"the kid of another key":   rs("e"),
		"the kid twice":            head + twice[strings.IndexByte(twice, '.'):],
		"a huge kid":               rs(strings.Repeat("r", 12<<10)),
		"a critical extension":     signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r", "crit": []string{"exp"}}, good()),
		"the payload unencoded":    signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r", "b64": false, "crit": []string{"b64"}}, good()),
		"the public key as secret": signedBy(t, jwt.SigningMethodHS256, public, map[string]any{"kid": "r"}, good()),
		"the modulus as secret":    signedBy(t, jwt.SigningMethodHS256, k.rsa.N.Bytes(), map[string]any{"kid": "r"}, good()),
		"an empty secret":          signedBy(t, jwt.SigningMethodHS256, []byte{}, map[string]any{"kid": "r"}, good()),
		"PS256 of an RS256 key":    signedBy(t, jwt.SigningMethodPS256, k.rsa, map[string]any{"kid": "r"}, good()),
		"RS512 of an RS256 key":    signedBy(t, jwt.SigningMethodRS512, k.rsa, map[string]any{"kid": "r"}, good()),
		"a signature of zeros":     twice[:strings.LastIndexByte(twice, '.')+1] + b64(make([]byte, 64)),
		"other issuer":             signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "iss", "evil")),
		"issuer of another type":   signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "iss", []string{"issuer"})),
		"other audience":           signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "aud", []string{"evil", "TIDINGS"})),
		"expired":                  signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "exp", 1)),
		"an end that is a text":    signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "exp", "9999999999")),
		"an end beyond numbers":    signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "exp", 1e300)),
		"not yet":                  signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "r"}, with(good(), "nbf", time.Now().Add(time.Hour).Unix())),
	} {
		if p, err := v.Token(token); !fault.Is(err, fault.Unauthenticated) || !p.Anonymous() {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if n := evilSet.count(); n > 0 {
		t.Errorf("the address in a token was asked %d times", n)
	}
}

func TestKeysThatAreForSomethingElseAreLeftOut(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	off := jwkOf(t, "off", &k.ec.PublicKey)
	off["y"] = off["x"] // no point of the curve
	ops := jwkOf(t, "ops", &k.rsa.PublicKey)
	ops["key_ops"] = []string{"encrypt"}
	unusable := []map[string]any{
		jwkOf(t, "enc", &k.rsa.PublicKey, "use", "enc"), jwkOf(t, "alg", &k.rsa.PublicKey, "alg", "PS256"),
		jwkOf(t, "mix", &k.ec.PublicKey, "alg", "RS256"), jwkOf(t, "384", &p384.PublicKey), off, ops,
		jwkOf(t, "e", &k.rsa.PublicKey, "e", "AQ"), jwkOf(t, "n", &k.rsa.PublicKey, "n", "AQ"), jwkOf(t, "ed", k.ed.Public(), "x", "AAAA"),
		{"kid": "oct", "kty": "oct", "k": b64(secret)}, {"kid": "kem", "kty": "AKP"}, {"kty": 7},
	}
	v := verifier(t, auth.Options{JWKS: setFile(t, setOf(t, append(unusable, jwkOf(t, "good", &k.ec.PublicKey))...))})
	for _, kid := range []string{"enc", "alg", "ops", "e", "n"} {
		if _, err := v.Token(signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": kid}, good())); err == nil {
			t.Errorf("the key %q was used", kid)
		}
	}
	if _, err := v.Token(signedBy(t, jwt.SigningMethodHS256, secret, map[string]any{"kid": "oct"}, good())); err == nil {
		t.Error("a symmetric key of the set was used")
	}
	if _, err := v.Token(signedBy(t, jwt.SigningMethodES256, k.ec, map[string]any{"kid": "good"}, good())); err != nil {
		t.Error(err)
	}
	for _, set := range [][]byte{setOf(t, unusable...), []byte(`{}`), []byte(`[]`), []byte(``), []byte(`{"keys":{}}`)} {
		if _, err := auth.NewVerifier(auth.Options{JWKS: setFile(t, set)}); err == nil {
			t.Errorf("a set without a usable key was accepted: %.60s", set)
		}
	}
}

func TestTwoKeysOfOneIdAreBothTried(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	v := verifier(t, auth.Options{JWKS: setFile(t, setOf(t, jwkOf(t, "k", &k.otherRSA.PublicKey), jwkOf(t, "k", &k.rsa.PublicKey), jwkOf(t, "k", &k.ec.PublicKey)))})
	for name, token := range map[string]string{
		"the second RSA key": signedBy(t, jwt.SigningMethodRS256, k.rsa, map[string]any{"kid": "k"}, good()),
		"the other kind":     signedBy(t, jwt.SigningMethodES256, k.ec, map[string]any{"kid": "k"}, good()),
	} {
		if _, err := v.Token(token); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEachIssuerHasItsOwnKeys(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	v := verifier(t, auth.Options{
		Secret: secret,
		Issuers: []auth.Issuer{
			{Name: "https://a", Audience: "tidings", JWKS: setFile(t, setOf(t, jwkOf(t, "1", &k.rsa.PublicKey), jwkOf(t, "2", &k.ec.PublicKey))), Algorithms: []string{"RS256"}},
			{Name: "https://b", Keys: publicPEM(t, k.ed.Public()), RolesClaim: "scope", Roles: map[string]schema.Roles{"notes:admin": schema.Admin}},
		},
	})
	from := func(iss, aud string) jwt.MapClaims { return with(with(good(), "iss", iss), "aud", aud) }
	one := map[string]any{"kid": "1"}
	for name, c := range map[string]struct {
		token string
		good  bool
	}{
		"a":                        {signedBy(t, jwt.SigningMethodRS256, k.rsa, one, from("https://a", "tidings")), true},
		"b":                        {signed(t, jwt.SigningMethodEdDSA, k.ed, from("https://b", "x")), true},
		"the default":              {signed(t, jwt.SigningMethodHS256, secret, from("https://c", "x")), true},
		"the default, unnamed":     {signed(t, jwt.SigningMethodHS256, secret, with(good(), "iss", nil)), true},
		"a with an audience of b":  {signedBy(t, jwt.SigningMethodRS256, k.rsa, one, from("https://a", "x")), false},
		"a in an algorithm of b":   {signed(t, jwt.SigningMethodEdDSA, k.ed, from("https://a", "tidings")), false},
		"a in another algorithm":   {signedBy(t, jwt.SigningMethodES256, k.ec, map[string]any{"kid": "2"}, from("https://a", "tidings")), false},
		"b with a key of a":        {signedBy(t, jwt.SigningMethodRS256, k.rsa, one, from("https://b", "tidings")), false},
		"a with the secret":        {signed(t, jwt.SigningMethodHS256, secret, from("https://a", "tidings")), false},
		"the default with a's key": {signedBy(t, jwt.SigningMethodRS256, k.rsa, one, from("https://c", "tidings")), false},
		"almost a's name":          {signedBy(t, jwt.SigningMethodRS256, k.rsa, one, from("https://a/", "tidings")), false},
	} {
		if _, err := v.Token(c.token); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := v.Token(signed(t, jwt.SigningMethodEdDSA, k.ed, with(from("https://b", "x"), "scope", "openid notes:admin SERVICE")))
	if err != nil || p.Roles != schema.Admin {
		t.Errorf("the roles of a scope: %+v, %v", p, err)
	}
}

func TestRolesFromAnotherClaim(t *testing.T) {
	t.Parallel()
	granted := map[string]schema.Roles{"editor": schema.User | schema.Admin, "bot": schema.Service}
	for _, c := range []struct {
		claim  string
		roles  map[string]schema.Roles
		claims map[string]any
		want   schema.Roles
	}{
		{"scope", granted, map[string]any{"scope": "openid editor"}, schema.User | schema.Admin},
		{"scope", granted, map[string]any{"scope": "ADMIN"}, 0},
		{"scope", granted, map[string]any{"roles": []string{"ADMIN"}}, schema.User},
		{"realm_access.roles", nil, map[string]any{"realm_access": map[string]any{"roles": []string{"admin", "offline_access"}}}, schema.Admin},
		{"https://example.org/roles", granted, map[string]any{"https://example.org/roles": []string{"bot"}}, schema.Service},
		{"realm_access.roles", nil, map[string]any{"realm_access": "ADMIN"}, schema.User},
	} {
		v := verifier(t, auth.Options{Secret: secret, RolesClaim: c.claim, Roles: c.roles})
		claims := with(good(), "roles", nil)
		for name, value := range c.claims {
			claims[name] = value
		}
		if p, err := v.Token(signed(t, jwt.SigningMethodHS256, secret, claims)); err != nil || p.Roles != c.want {
			t.Errorf("%s %v: %b, %v", c.claim, c.claims, p.Roles, err)
		}
	}
}

func TestWrongIssuersAreNamed(t *testing.T) {
	t.Parallel()
	set := setFile(t, setOf(t, jwkOf(t, "d", newKeys(t).ed.Public())))
	for _, c := range []struct {
		o    auth.Options
		want string
	}{
		{auth.Options{JWKS: "http://idp.example.org/keys"}, "TLS"},
		{auth.Options{JWKS: "/does/not/exist"}, "/does/not/exist"},
		{auth.Options{Issuers: []auth.Issuer{{JWKS: set}}}, "no name"},
		{auth.Options{Issuers: []auth.Issuer{{Name: "a"}}}, "no keys"},
		{auth.Options{Issuers: []auth.Issuer{{Name: "a", JWKS: set}, {Name: "a", JWKS: set}}}, "twice"},
		{auth.Options{Issuers: []auth.Issuer{{Name: "a", JWKS: set, Algorithms: []string{"none"}}}}, "none"},
		{auth.Options{Issuers: []auth.Issuer{{Name: "a", Secret: []byte("short")}}}, "32"},
	} {
		if _, err := auth.NewVerifier(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// FuzzJWKS reads key sets of strangers: what comes out can be used without a panic.
func FuzzJWKS(f *testing.F) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(setOf(f, jwkOf(f, "e", &ec.PublicKey), jwkOf(f, "d", public)))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"` + strings.Repeat("_", 342) + `","e":"AQAB"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"","y":""},{"kty":"OKP","crv":"Ed25519","x":"AA=="},null]}`))
	methods := []jwt.SigningMethod{jwt.SigningMethodRS256, jwt.SigningMethodES256, jwt.SigningMethodEdDSA}
	f.Fuzz(func(t *testing.T, set []byte) {
		keys, err := auth.ParseJWKS(set)
		if (err == nil) != (len(keys) > 0) {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			for _, m := range methods {
				if err := m.Verify("text", make([]byte, 64), k); err == nil {
					t.Error("a signature of zeros is good")
				}
			}
		}
	})
}
