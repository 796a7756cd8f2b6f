package boot_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tidings/cmd/internal/boot"
	"tidings/schema"
)

func TestIssuersAndRolesAreRead(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	issuers, err := json.Marshal([]map[string]any{{
		"issuer": "https://partner.example.org", "audience": "tidings", "algorithms": []string{"EdDSA"},
		"keys":       string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"rolesClaim": "scope", "roles": map[string]string{"urn:write": "USER,SERVICE"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Repeat("s", 32)
	c, _, err := read([]string{"--jwt-roles", "a=b=ADMIN, editor=USER,editor=SERVICE", "--jwt-roles-claim", "groups"},
		[]string{"TIDINGS_JWT_SECRET=" + secret, "TIDINGS_JWT_ISSUERS=" + string(issuers)})
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := c.Credentials(nil)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Hour).Unix()
	for _, c := range []struct {
		method jwt.SigningMethod
		key    any
		claims jwt.MapClaims
		want   schema.Roles
	}{
		{jwt.SigningMethodEdDSA, private, jwt.MapClaims{"iss": "https://partner.example.org", "aud": "tidings", "scope": "urn:write"}, schema.User | schema.Service},
		{jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"groups": []string{"a=b"}}, schema.Admin},
		{jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"groups": "editor"}, schema.User | schema.Service},
	} {
		c.claims["sub"], c.claims["exp"] = "alice", end
		token, err := jwt.NewWithClaims(c.method, c.claims).SignedString(c.key)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := credentials.Verifier.Token(token); err != nil || p.Roles != c.want {
			t.Errorf("%v: %+v, %v", c.claims, p, err)
		}
	}
}

func TestWrongIssuersAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ setting, want string }{
		{"TIDINGS_JWT_ISSUERS={}", "array"},
		{`TIDINGS_JWT_ISSUERS=[{"issuer":"a","secrets":"x"}]`, "secrets"},
		{`TIDINGS_JWT_ISSUERS=[] []`, "follows"},
		{`TIDINGS_JWT_ISSUERS=[{"issuer":"a"}]`, `"a" has no keys`},
		{`TIDINGS_JWT_ISSUERS=[{"issuer":"a","jwks":"http://a.example.org"}]`, "TLS"},
		{`TIDINGS_JWT_ISSUERS=[{"issuer":"a","jwks":"x","roles":{"a":"KING"}}]`, "KING"},
		{"TIDINGS_JWT_JWKS=/does/not/exist", "/does/not/exist"},
		{"TIDINGS_JWT_ROLES=editor", "editor"},
		{"TIDINGS_JWT_ROLES=editor=KING", "KING"},
	} {
		config, _, err := read(nil, []string{c.setting})
		if err == nil {
			_, err = config.Credentials(nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "TIDINGS_JWT") {
			t.Errorf("%s: %v", c.setting, err)
		}
	}
	if _, _, err := read(nil, []string{"TIDINGS_JWT_REFRESH=1s"}); err == nil {
		t.Error("a refresh every second was accepted")
	}
}

func TestDevelopmentWithKeysOfItsOwnMakesNone(t *testing.T) {
	t.Parallel()
	c := boot.Config{Dev: true, Data: t.TempDir(), JWTJWKS: "https://idp.example.org/keys"}
	credentials, err := c.Credentials(nil)
	if err != nil || len(credentials.Secret) > 0 {
		t.Errorf("%q, %v", credentials.Secret, err)
	}
}
