package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

type keys struct {
	rsa, otherRSA *rsa.PrivateKey
	ec            *ecdsa.PrivateKey
	ed            ed25519.PrivateKey
	pem           []byte
}

func newKeys(t *testing.T) keys {
	t.Helper()
	var k keys
	var errs [4]error
	k.rsa, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	k.otherRSA, errs[1] = rsa.GenerateKey(rand.Reader, 2048)
	k.ec, errs[2] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.ed, errs[3] = ed25519.GenerateKey(rand.Reader)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, pub := range []crypto.PublicKey{&k.rsa.PublicKey, &k.ec.PublicKey, k.ed.Public()} {
		k.pem = append(k.pem, publicPEM(t, pub)...)
	}
	return k
}

func publicPEM(t *testing.T, pub crypto.PublicKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func verifier(t *testing.T, o auth.Options) *auth.Verifier {
	t.Helper()
	v, err := auth.NewVerifier(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func good() jwt.MapClaims {
	return jwt.MapClaims{"sub": "alice", "roles": []string{"USER", "ADMIN"}, "iss": "issuer", "aud": "tidings", "jti": "t1",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
}

func with(c jwt.MapClaims, key string, value any) jwt.MapClaims {
	if value == nil {
		delete(c, key)
	} else {
		c[key] = value
	}
	return c
}

func signed(t *testing.T, m jwt.SigningMethod, key any, c jwt.MapClaims) string {
	t.Helper()
	s, err := jwt.NewWithClaims(m, c).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGoodTokensOfEveryAlgorithm(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	v := verifier(t, auth.Options{Secret: secret, Keys: k.pem, Issuer: "issuer", Audience: "tidings"})
	for name, token := range map[string]string{
		"HS256": signed(t, jwt.SigningMethodHS256, secret, good()),
		"RS256": signed(t, jwt.SigningMethodRS256, k.rsa, good()),
		"ES256": signed(t, jwt.SigningMethodES256, k.ec, good()),
		"EdDSA": signed(t, jwt.SigningMethodEdDSA, k.ed, good()),
	} {
		p, err := v.Bearer("Bearer " + token)
		if err != nil || p.Subject != "alice" || p.Roles != schema.User|schema.Admin || p.TokenID != "t1" || p.Expires.IsZero() {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestBadTokensAreRefused(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	v := verifier(t, auth.Options{Secret: secret, Keys: k.pem, Issuer: "issuer", Audience: "tidings"})
	hs := func(c jwt.MapClaims) string { return signed(t, jwt.SigningMethodHS256, secret, c) }
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, good()).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	whole := hs(good())
	parts := strings.Split(whole, ".")
	for name, header := range map[string]string{
		"none":                   "Bearer " + none,
		"signature cut":          "Bearer " + parts[0] + "." + parts[1] + ".",
		"claims changed":         "Bearer " + parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"root","roles":["ADMIN"],"exp":9999999999}`)) + "." + parts[2],
		"RSA key as HMAC secret": "Bearer " + signed(t, jwt.SigningMethodHS256, publicPEM(t, &k.rsa.PublicKey), good()),
		"foreign RSA key":        "Bearer " + signed(t, jwt.SigningMethodRS256, k.otherRSA, good()),
		"HS512":                  "Bearer " + signed(t, jwt.SigningMethodHS512, secret, good()),
		"RS512":                  "Bearer " + signed(t, jwt.SigningMethodRS512, k.rsa, good()),
		"PS256":                  "Bearer " + signed(t, jwt.SigningMethodPS256, k.rsa, good()),
		"expired":                "Bearer " + hs(with(good(), "exp", time.Now().Add(-time.Minute).Unix())),
		"not yet":                "Bearer " + hs(with(good(), "nbf", time.Now().Add(time.Hour).Unix())),
		"issued in the future":   "Bearer " + hs(with(good(), "iat", time.Now().Add(time.Hour).Unix())),
		"without an end":         "Bearer " + hs(with(good(), "exp", nil)),
		"without a subject":      "Bearer " + hs(with(good(), "sub", nil)),
		"other issuer":           "Bearer " + hs(with(good(), "iss", "evil")),
		"other audience":         "Bearer " + hs(with(good(), "aud", "evil")),
		"an end in milliseconds": "Bearer " + hs(with(good(), "exp", time.Now().UnixMilli())),
		"roles of a wrong type":  "Bearer " + hs(with(good(), "roles", 7)),
		"huge":                   "Bearer " + strings.Repeat("a", 1<<20),
		"garbage":                "Bearer x.y.z",
		"another scheme":         "Basic YWxpY2U6eA==",
		"no scheme":              whole,
		"two tokens":             "Bearer " + whole + " " + whole,
	} {
		if p, err := v.Bearer(header); !fault.Is(err, fault.Unauthenticated) || !p.Anonymous() {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestNoTokenMeansAnonymous(t *testing.T) {
	t.Parallel()
	v := verifier(t, auth.Options{})
	for _, header := range []string{"", "  ", "Bearer", "Bearer  "} {
		if p, err := v.Bearer(header); err != nil || !p.Anonymous() || p.Roles != 0 {
			t.Errorf("%q: %+v, %v", header, p, err)
		}
	}
}

func TestWithoutKeysEveryTokenIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := verifier(t, auth.Options{}).Token(signed(t, jwt.SigningMethodHS256, secret, good())); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("got %v", err)
	}
}

func TestRolesOfAToken(t *testing.T) {
	t.Parallel()
	v := verifier(t, auth.Options{Secret: secret})
	for _, c := range []struct {
		roles any
		want  schema.Roles
	}{
		{nil, schema.User},
		{[]string{}, 0},
		{[]string{"admin", "SERVICE"}, schema.Admin | schema.Service},
		{"USER ADMIN", schema.User | schema.Admin},
		{[]string{"ANYONE", "OWNER", "KING"}, 0},
	} {
		p, err := v.Token(signed(t, jwt.SigningMethodHS256, secret, with(good(), "roles", c.roles)))
		if err != nil || p.Roles != c.want {
			t.Errorf("%v: %v, %v", c.roles, p.Roles, err)
		}
	}
}

// encoding/json folds the case of names, even of letters like the long s.
func TestClaimsHaveExactNames(t *testing.T) {
	t.Parallel()
	v := verifier(t, auth.Options{Secret: secret})
	c := good()
	c["roles"] = []string{"USER"}
	for _, name := range []string{"SUB", "\u017fub", "Roles", "ROLES", "role\u017f"} {
		c[name] = "ADMIN"
	}
	p, err := v.Token(signed(t, jwt.SigningMethodHS256, secret, c))
	if err != nil || p.Subject != "alice" || p.Roles != schema.User {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestUnusableKeysAreNamed(t *testing.T) {
	t.Parallel()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip("this build makes no small keys:", err)
	}
	for _, o := range []auth.Options{
		{Secret: []byte("short")},
		{Keys: []byte("not pem")},
		{Keys: publicPEM(t, &small.PublicKey)},
		{Keys: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})},
	} {
		if _, err := auth.NewVerifier(o); err == nil {
			t.Errorf("%.40s: accepted", o.Keys)
		}
	}
}

func TestSignedTokensVerify(t *testing.T) {
	t.Parallel()
	token, err := auth.Sign(secret, auth.Principal{Subject: "alice", Roles: schema.User | schema.Service}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := verifier(t, auth.Options{Secret: secret}).Token(token); err != nil || p.Subject != "alice" || p.Roles != schema.User|schema.Service {
		t.Errorf("%+v, %v", p, err)
	}
}

func FuzzBearer(f *testing.F) {
	v, err := auth.NewVerifier(auth.Options{Secret: secret})
	if err != nil {
		f.Fatal(err)
	}
	token, _ := auth.Sign(secret, auth.Principal{Subject: "alice"}, time.Hour)
	f.Add("Bearer " + token)
	f.Add("Bearer eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, header string) {
		if p, err := v.Bearer(header); err != nil && !fault.Is(err, fault.Unauthenticated) || err != nil && !p.Anonymous() {
			t.Errorf("%q: %+v, %v", header, p, err)
		}
	})
}
