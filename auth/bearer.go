package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tidings/fault"
	"tidings/schema"
)

// maxToken bounds a token's length in bytes: larger than any that a proxy
// would let through as a header, small enough to parse for strangers.
const maxToken = 16 << 10

// Options says which tokens are accepted. Without a secret and without keys
// every token is refused; anonymous callers are still served.
type Options struct {
	// Secret verifies HS256 tokens. Empty: HS256 is refused. At least 32 bytes.
	Secret []byte
	// Keys holds public keys or certificates as PEM blocks: RSA (2048 bits or
	// more) for RS256, P-256 for ES256, Ed25519 for EdDSA. A key serves its
	// one algorithm only, so a token cannot choose how it is verified.
	Keys []byte
	// Issuer and Audience must be in the token when they are set.
	Issuer, Audience string
	// Leeway forgives clocks that differ. Zero means none.
	Leeway time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// Verifier checks bearer tokens (RFC 7519, RFC 8725). It is immutable and safe
// for concurrent use.
type Verifier struct {
	keys   map[string][]jwt.VerificationKey // by algorithm
	parser *jwt.Parser
	leeway time.Duration
}

// NewVerifier reads the keys. An unusable key is an error that says which and why.
func NewVerifier(o Options) (*Verifier, error) {
	v := &Verifier{keys: map[string][]jwt.VerificationKey{}, leeway: o.Leeway}
	if len(o.Secret) > 0 && len(o.Secret) < 32 {
		return nil, fmt.Errorf("the token secret has %d bytes; use at least 32", len(o.Secret))
	}
	if len(o.Secret) > 0 {
		v.keys["HS256"] = []jwt.VerificationKey{o.Secret}
	}
	for n, rest := 1, o.Keys; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if len(strings.TrimSpace(string(rest))) > 0 {
				return nil, fmt.Errorf("token key %d is not a PEM block", n)
			}
			break
		}
		if err := v.addKey(block); err != nil {
			return nil, fmt.Errorf("token key %d: %w", n, err)
		}
	}
	v.parser = jwt.NewParser(v.parserOptions(o)...)
	return v, nil
}

func (v *Verifier) parserOptions(o Options) []jwt.ParserOption {
	algs := slices.Sorted(func(yield func(string) bool) {
		for alg := range v.keys {
			if !yield(alg) {
				return
			}
		}
	})
	opts := []jwt.ParserOption{jwt.WithValidMethods(algs), jwt.WithExpirationRequired(), jwt.WithLeeway(o.Leeway), jwt.WithIssuedAt()}
	if o.Issuer != "" {
		opts = append(opts, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		opts = append(opts, jwt.WithAudience(o.Audience))
	}
	if o.Now != nil {
		opts = append(opts, jwt.WithTimeFunc(o.Now))
	}
	return opts
}

func (v *Verifier) addKey(block *pem.Block) error {
	key, err := publicKey(block)
	if err != nil {
		return err
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 {
			return fmt.Errorf("the RSA key has %d bits; use at least 2048", k.N.BitLen())
		}
		v.keys["RS256"] = append(v.keys["RS256"], k)
	case *ecdsa.PublicKey:
		if k.Curve.Params().BitSize != 256 {
			return fmt.Errorf("the curve is %s; ES256 needs P-256", k.Curve.Params().Name)
		}
		v.keys["ES256"] = append(v.keys["ES256"], k)
	case ed25519.PublicKey:
		v.keys["EdDSA"] = append(v.keys["EdDSA"], k)
	default:
		return fmt.Errorf("a key of type %T cannot verify tokens; use RSA, P-256 or Ed25519", key)
	}
	return nil
}

func publicKey(block *pem.Block) (crypto.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return cert.PublicKey, nil
	}
	return nil, fmt.Errorf("a PEM block %q is not a public key; use PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE", block.Type)
}

// Bearer reads the value of an Authorization header. Absent or empty means
// anonymous; everything else must be "Bearer" and a valid token, otherwise the
// fault is Unauthenticated.
func (v *Verifier) Bearer(header string) (Principal, error) {
	header = strings.TrimSpace(header)
	if header == "" {
		return Principal{}, nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Principal{}, fault.New(fault.Unauthenticated, "the Authorization header must be of the form \"Bearer <token>\"")
	}
	if token = strings.TrimSpace(token); token == "" {
		return Principal{}, nil
	}
	return v.Token(token)
}

// Token checks a bare token. The fault is Unauthenticated, its message says
// what is wrong with the token as far as its bearer may know.
func (v *Verifier) Token(raw string) (Principal, error) {
	if len(raw) > maxToken {
		return Principal{}, fault.New(fault.Unauthenticated, "the token is too long")
	}
	// A map keeps the names of claims as they are written: encoding/json would
	// take "ROLES" for a field called roles, and whoever may name a claim of
	// their own would grant themselves what they like.
	claims := jwt.MapClaims{}
	_, err := v.parser.ParseWithClaims(raw, claims, func(t *jwt.Token) (any, error) {
		return jwt.VerificationKeySet{Keys: v.keys[t.Method.Alg()]}, nil
	})
	if err != nil {
		return Principal{}, fault.Wrap(err, fault.Unauthenticated, "%s", explain(err))
	}
	p, err := principal(claims)
	if err == nil {
		p.Expires = p.Expires.Add(v.leeway) // as long as the token is taken, so is its bearer
	}
	return p, err
}

// principal reads the claims of a token that is good.
func principal(claims jwt.MapClaims) (Principal, error) {
	sub, err := claims.GetSubject()
	if err != nil || sub == "" {
		return Principal{}, fault.New(fault.Unauthenticated, "the token has no sub claim")
	}
	exp, err := claims.GetExpirationTime()
	if err != nil || exp.Year() > 9999 {
		return Principal{}, fault.New(fault.Unauthenticated, "the token's exp claim is not a time in seconds")
	}
	roles, err := rolesOf(claims["roles"])
	if err != nil {
		return Principal{}, err
	}
	id, _ := claims["jti"].(string) // one of another type names nothing
	return Principal{Subject: sub, Roles: roles, Expires: exp.Time, TokenID: id}, nil
}

func explain(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "the token has expired"
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return "the token is not valid yet"
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return "the token lacks a required claim"
	case errors.Is(err, jwt.ErrTokenInvalidIssuer), errors.Is(err, jwt.ErrTokenInvalidAudience):
		return "the token was made for somebody else"
	}
	return "the token is not valid"
}

// rolesOf reads the roles claim: an array of names, or one string of names
// parted by blanks. Without it the bearer is a plain USER. Names that the
// service does not know grant nothing.
func rolesOf(claim any) (schema.Roles, error) {
	var names []string
	switch claim := claim.(type) {
	case nil:
		return schema.User, nil
	case string:
		names = strings.Fields(claim)
	case []any:
		for _, name := range claim {
			if s, ok := name.(string); ok {
				names = append(names, s)
			}
		}
	default:
		return 0, fault.New(fault.Unauthenticated, "the token's roles claim is no list of names")
	}
	var roles schema.Roles
	for _, name := range names {
		roles |= roleNames[strings.ToUpper(name)]
	}
	return roles, nil
}
