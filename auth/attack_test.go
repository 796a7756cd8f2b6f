package auth_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
)

// raw is a token of a header and claims in the very bytes that are given, with
// a good HS256 signature.
func raw(header, claims string) string {
	signed := b64([]byte(header)) + "." + b64([]byte(claims))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(signed))
	return signed + "." + b64(mac.Sum(nil))
}

const plainHeader = `{"alg":"HS256","typ":"JWT"}`

// claimsWith are good claims with more members, which begin with a comma.
func claimsWith(more string) string {
	return fmt.Sprintf(`{"iss":"issuer","aud":"tidings","sub":"alice","exp":%d%s}`, time.Now().Add(time.Hour).Unix(), more)
}

func TestTokensThatAreSignedButNotRightAreRefused(t *testing.T) {
	t.Parallel()
	v := verifier(t, auth.Options{Secret: secret, Issuer: "issuer", Audience: "tidings"})
	if p, err := v.Token(raw(plainHeader, claimsWith(""))); err != nil || p.Subject != "alice" {
		t.Fatalf("a good one: %+v %v", p, err)
	}
	deep := strings.Repeat("[", 4000) + strings.Repeat("]", 4000)
	for name, token := range map[string]string{
		"alg in small letters":      raw(`{"alg":"hs256"}`, claimsWith("")),
		"alg with a blank":          raw(`{"alg":"HS256 "}`, claimsWith("")),
		"None":                      raw(`{"alg":"None"}`, claimsWith("")),
		"NONE without a signature":  b64([]byte(`{"alg":"NONE"}`)) + "." + b64([]byte(claimsWith(""))) + ".",
		"no alg":                    raw(`{"typ":"JWT"}`, claimsWith("")),
		"alg null":                  raw(`{"alg":null}`, claimsWith("")),
		"alg as a list":             raw(`{"alg":["HS256"]}`, claimsWith("")),
		"alg twice, none last":      raw(`{"alg":"HS256","alg":"none"}`, claimsWith("")),
		"crit":                      raw(`{"alg":"HS256","crit":["exp"],"exp":1}`, claimsWith("")),
		"crit of nothing":           raw(`{"alg":"HS256","crit":[]}`, claimsWith("")),
		"crit null":                 raw(`{"alg":"HS256","crit":null}`, claimsWith("")),
		"b64 without crit":          raw(`{"alg":"HS256","b64":false}`, claimsWith("")),
		"kid of 1 MB":               raw(`{"alg":"HS256","kid":"`+strings.Repeat("k", 1<<20)+`"}`, claimsWith("")),
		"header deeply nested":      raw(`{"alg":"HS256","x":`+strings.Repeat("[", 10_001)+strings.Repeat("]", 10_001)+`}`, claimsWith("")),
		"header no object":          raw(`["HS256"]`, claimsWith("")),
		"header with more behind":   raw(plainHeader+`{}`, claimsWith("")),
		"claims no object":          raw(plainHeader, `"alice"`),
		"claims with more behind":   raw(plainHeader, claimsWith("")+`{}`),
		"claims in UTF-16":          raw(plainHeader, "\xff\xfe{\x00}\x00"),
		"roles deeply nested":       raw(plainHeader, claimsWith(`,"roles":{"a":`+deep+`}`)),
		"sub a number":              raw(plainHeader, claimsWith(`,"sub":7`)),
		"sub null":                  raw(plainHeader, claimsWith(`,"sub":null`)),
		"exp a text":                raw(plainHeader, claimsWith(`,"exp":"9999999999"`)),
		"exp true":                  raw(plainHeader, claimsWith(`,"exp":true`)),
		"exp null":                  raw(plainHeader, claimsWith(`,"exp":null`)),
		"exp a list":                raw(plainHeader, claimsWith(`,"exp":[9999999999]`)),
		"exp huge":                  raw(plainHeader, claimsWith(`,"exp":1e300`)),
		"exp beyond int64":          raw(plainHeader, claimsWith(`,"exp":9223372036854775808`)),
		"exp beyond floats":         raw(plainHeader, claimsWith(`,"exp":1e999`)),
		"exp negative":              raw(plainHeader, claimsWith(`,"exp":-9999999999`)),
		"exp zero":                  raw(plainHeader, claimsWith(`,"exp":0`)),
		"exp twice, expired last":   raw(plainHeader, claimsWith(`,"exp":1`)),
		"nbf a text":                raw(plainHeader, claimsWith(`,"nbf":"1"`)),
		"nbf in the future":         raw(plainHeader, claimsWith(`,"nbf":9999999999`)),
		"iat in the future":         raw(plainHeader, claimsWith(`,"iat":9999999999`)),
		"iss twice, foreign last":   raw(plainHeader, claimsWith(`,"iss":"evil"`)),
		"aud twice, foreign last":   raw(plainHeader, claimsWith(`,"aud":"evil"`)),
		"aud an object":             raw(plainHeader, claimsWith(`,"aud":{"tidings":true}`)),
		"aud of no strings":         raw(plainHeader, claimsWith(`,"aud":[["tidings"]]`)),
		"a token within (JWE)":      raw(plainHeader, claimsWith("")) + ".x.y",
		"a line break in the token": strings.Replace(raw(plainHeader, claimsWith("")), ".", ".\n", 1),
		"padding":                   raw(plainHeader, claimsWith("")) + "=",
		"standard base64":           strings.Replace(raw(plainHeader, claimsWith(`,"x":"?????"`)), "_", "/", 1),
		"an empty part":             "." + b64([]byte(claimsWith(""))) + ".",
	} {
		if p, err := v.Token(token); !fault.Is(err, fault.Unauthenticated) || !p.Anonymous() {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// Of a claim that is there twice the last one counts, as RFC 7519, 4 allows:
// for the signature's owner and for us it is the same one.
func TestWhatIsOddInATokenAndDoesNoHarmIsTaken(t *testing.T) {
	t.Parallel()
	v := verifier(t, auth.Options{Secret: secret, Issuer: "issuer", Audience: "tidings"})
	for name, c := range map[string]struct{ token, subject string }{
		"sub twice":          {raw(plainHeader, claimsWith(`,"sub":"bob"`)), "bob"},
		"exp a float":        {raw(plainHeader, claimsWith(fmt.Sprintf(`,"exp":%d.5`, time.Now().Unix()+60))), "alice"},
		"exp with exponent":  {raw(plainHeader, claimsWith(`,"exp":4.0e9`)), "alice"},
		"several audiences":  {raw(plainHeader, claimsWith(`,"aud":["other","tidings"]`)), "alice"},
		"keys of its own":    {raw(`{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"},"jku":"https://evil.example","x5u":"https://evil.example","x5c":["AAAA"]}`, claimsWith("")), "alice"},
		"claims of no use":   {raw(plainHeader, claimsWith(`,"x":[[[[{}]]]],"Roles":["ADMIN"]`)), "alice"},
		"roles of odd types": {raw(plainHeader, claimsWith(`,"roles":[["ADMIN"],{"a":1},7,null]`)), "alice"},
	} {
		p, err := v.Token(c.token)
		if err != nil || p.Subject != c.subject || p.Roles&^2 != 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestSignaturesOfTheWrongFormAreRefused(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	v := verifier(t, auth.Options{Keys: k.pem})
	of := func(alg string) string { return b64([]byte(`{"alg":"`+alg+`"}`)) + "." + b64([]byte(claimsWith(""))) }
	sum := sha256.Sum256([]byte(of("ES256")))
	der, err := ecdsa.SignASN1(rand.Reader, k.ec, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	order := k.ec.Params().N.FillBytes(make([]byte, 32))
	for name, token := range map[string]string{
		"ES256 of zeros":             of("ES256") + "." + b64(make([]byte, 64)),
		"ES256 of the order":         of("ES256") + "." + b64(append(append([]byte{}, order...), order...)),
		"ES256 as ASN.1":             of("ES256") + "." + b64(der),
		"ES256 too long":             of("ES256") + "." + b64(make([]byte, 96)),
		"ES256 empty":                of("ES256") + ".",
		"ES384 of a P-256 key":       of("ES384") + "." + b64(make([]byte, 96)),
		"EdDSA of zeros":             of("EdDSA") + "." + b64(make([]byte, ed25519.SignatureSize)),
		"EdDSA as long as Ed448":     of("EdDSA") + "." + b64(make([]byte, 114)),
		"EdDSA's signature, Ed25519": of("Ed25519") + "." + b64(ed25519.Sign(k.ed, []byte(of("Ed25519")))),
		"EdDSA's signature, ES256":   of("ES256") + "." + b64(ed25519.Sign(k.ed, []byte(of("ES256")))),
		"RS256 of zeros":             of("RS256") + "." + b64(make([]byte, 256)),
		"RS256 of ones":              of("RS256") + "." + b64(append(make([]byte, 255), 1)),
	} {
		if p, err := v.Token(token); !fault.Is(err, fault.Unauthenticated) || !p.Anonymous() {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}
