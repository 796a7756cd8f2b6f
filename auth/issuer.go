package auth

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"tidings/schema"
)

// Issuer is one maker of tokens with keys of its own: a token that names it in
// iss is checked with these and with no others. At least one of Secret, Keys
// and JWKS is set.
type Issuer struct {
	// Name is what iss must be, letter for letter. Empty: the tokens that name
	// none of the other issuers are this one's.
	Name string
	// Audience must be in aud when it is set.
	Audience string
	// Algorithms narrows what is accepted: HS256, RS256, ES256, EdDSA. Empty:
	// whatever the keys are for.
	Algorithms []string
	// Secret verifies HS256 tokens: at least 32 bytes.
	Secret []byte
	// Keys holds public keys or certificates as PEM blocks: RSA (2048 bits or
	// more) for RS256, P-256 for ES256, Ed25519 for EdDSA. A key serves its one
	// algorithm only.
	Keys []byte
	// JWKS is the https URL, or the file, of a key set (RFC 7517) that may
	// change while the service runs.
	JWKS string
	// RolesClaim is the claim that holds the roles; empty means "roles". A name
	// with dots that no claim has leads into objects: realm_access.roles.
	RolesClaim string
	// Roles says what the values of that claim grant. When it is empty the values
	// are the names of roles; otherwise only those that it names grant anything.
	Roles map[string]schema.Roles
}

// algorithms are all that are known; everything else is refused.
var algorithms = []string{"HS256", "RS256", "ES256", "EdDSA"}

// issuer is an Issuer with its keys read.
type issuer struct {
	Issuer
	fixed     []key
	source    *source // nil without a JWKS
	validator *jwt.Validator
}

func newIssuer(i Issuer, o Options) (*issuer, error) {
	for _, alg := range i.Algorithms {
		if !slices.Contains(algorithms, alg) {
			return nil, fmt.Errorf("unknown algorithm %q; use %s", alg, strings.Join(algorithms, ", "))
		}
	}
	if n := len(i.Secret); n > 0 && n < 32 {
		return nil, fmt.Errorf("the token secret has %d bytes; use at least 32", n)
	}
	fixed, err := parsePEM(i.Keys)
	if err != nil {
		return nil, err
	}
	if len(i.Secret) > 0 {
		fixed = append(fixed, key{alg: "HS256", key: i.Secret})
	}
	out := &issuer{Issuer: i, fixed: fixed}
	out.RolesClaim = cmp.Or(i.RolesClaim, "roles")
	if i.JWKS != "" {
		if out.source, err = newSource(i.JWKS, o); err != nil {
			return nil, err
		}
	}
	opts := []jwt.ParserOption{jwt.WithExpirationRequired(), jwt.WithLeeway(o.Leeway), jwt.WithIssuedAt()}
	if i.Name != "" {
		opts = append(opts, jwt.WithIssuer(i.Name))
	}
	if i.Audience != "" {
		opts = append(opts, jwt.WithAudience(i.Audience))
	}
	if o.Now != nil {
		opts = append(opts, jwt.WithTimeFunc(o.Now))
	}
	out.validator = jwt.NewValidator(opts...)
	return out, nil
}

// errNoKeys says that an issuer's keys could not be fetched yet.
var errNoKeys = errors.New("the keys of the issuer could not be fetched yet")

// keysFor returns the keys that may have signed t. Only alg and kid of its
// header are looked at: a key, or an address of one, that a token brings along
// (jwk, jku, x5c, x5u) is nothing to believe.
func (i *issuer) keysFor(t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, errors.New("the token has extensions that must be understood, and are not")
	}
	if plain, given := t.Header["b64"]; given && plain != true {
		return nil, errors.New("the token's payload is not encoded, which was not said to be critical")
	}
	kid, isString := t.Header["kid"].(string)
	if _, given := t.Header["kid"]; given && !isString {
		return nil, errors.New("the kid is no string")
	}
	alg := t.Method.Alg()
	if len(i.Algorithms) > 0 && !slices.Contains(i.Algorithms, alg) {
		return nil, fmt.Errorf("the issuer does not use %s", alg)
	}
	keys := matching(nil, i.fixed, alg, kid)
	if i.source == nil {
		return jwt.VerificationKeySet{Keys: keys}, nil
	}
	rotating := matching(nil, i.source.current(), alg, kid)
	if len(rotating) == 0 && alg != "HS256" && i.source.await() {
		rotating = matching(nil, i.source.current(), alg, kid)
	}
	keys = append(keys, rotating...)
	if len(keys) == 0 && i.source.current() == nil {
		return nil, errNoKeys
	}
	return jwt.VerificationKeySet{Keys: keys}, nil
}

// matching appends the keys of the algorithm with the id. A key without an id
// matches every token, and a token without one every key.
func matching(to []jwt.VerificationKey, keys []key, alg, kid string) []jwt.VerificationKey {
	for _, k := range keys {
		if k.alg == alg && (kid == "" || k.id == "" || k.id == kid) {
			to = append(to, k.key)
		}
	}
	return to
}

// roles reads the claim that holds them: an array of names, or one string of
// names parted by blanks. Without it the bearer is a plain USER. Names that
// grant nothing are passed over.
func (i *issuer) roles(claims jwt.MapClaims) (schema.Roles, error) {
	names, given, err := namesIn(claimOf(claims, i.RolesClaim))
	if err != nil {
		return 0, err
	}
	if !given {
		return schema.User, nil
	}
	var roles schema.Roles
	for _, name := range names {
		if len(i.Roles) > 0 {
			roles |= i.Roles[name]
		} else {
			roles |= roleNames[strings.ToUpper(name)]
		}
	}
	return roles, nil
}

// claimOf finds a claim by its name or, when none has it, by its path.
func claimOf(claims map[string]any, name string) any {
	if claim, ok := claims[name]; ok {
		return claim
	}
	first, rest, nested := strings.Cut(name, ".")
	if inner, ok := claims[first].(map[string]any); ok && nested {
		return claimOf(inner, rest)
	}
	return nil
}
