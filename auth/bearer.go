package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
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
	// The keys and the rules of the one maker of tokens, or of all tokens that
	// name none of Issuers; see Issuer. Issuer is its name.
	Secret, Keys     []byte
	JWKS             string
	Issuer, Audience string
	RolesClaim       string
	Roles            map[string]schema.Roles
	// Issuers are further makers of tokens, each with a name of its own.
	Issuers []Issuer
	// Leeway forgives clocks that differ. Zero means none.
	Leeway time.Duration
	// Refresh is how often each JWKS is read again; zero means 10 minutes. A
	// token with an unknown kid causes it too, at most every 30 seconds.
	Refresh time.Duration
	// Transport fetches each JWKS; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Revoked are tokens that are refused although they are good; nil: none are.
	Revoked *Revocations
	// Now tells the time that tokens are checked at; nil means time.Now.
	Now func() time.Time
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Verifier checks bearer tokens (RFC 7519, RFC 8725). It is safe for concurrent
// use. Run keeps the keys of each JWKS fresh; without a JWKS it need not run.
type Verifier struct {
	issuers map[string]*issuer
	parser  *jwt.Parser
	// verified spares the signature of a token that was found good a while ago.
	verified *verified
	revoked  *Revocations
	leeway   time.Duration
}

// NewVerifier reads the keys, but for those of a URL, which Run fetches. An
// unusable key is an error that says which and why.
func NewVerifier(o Options) (*Verifier, error) {
	v := &Verifier{
		issuers: map[string]*issuer{},
		// Claims are checked by the issuer's validator, once the issuer is known.
		parser:   jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithoutClaimsValidation()),
		verified: newVerified(o.Now),
		revoked:  cmp.Or(o.Revoked, new(Revocations)),
		leeway:   o.Leeway,
	}
	if first := o.first(); first.signs() {
		if err := v.add(first, o); err != nil {
			return nil, err
		}
	}
	for n, i := range o.Issuers {
		if i.Name == "" {
			return nil, fmt.Errorf("issuer %d has no name: give it the iss of its tokens", n+1)
		}
		if !i.signs() {
			return nil, fmt.Errorf("issuer %q has no keys: give it a JWKS, PEM keys or a secret", i.Name)
		}
		if err := v.add(i, o); err != nil {
			return nil, fmt.Errorf("issuer %q: %w", i.Name, err)
		}
	}
	return v, nil
}

func (v *Verifier) add(i Issuer, o Options) error {
	if v.issuers[i.Name] != nil {
		return errors.New("the issuer is there twice; remove one")
	}
	read, err := newIssuer(i, o)
	v.issuers[i.Name] = read
	return err
}

func (o Options) first() Issuer {
	return Issuer{
		Name: o.Issuer, Audience: o.Audience, Secret: o.Secret, Keys: o.Keys, JWKS: o.JWKS,
		RolesClaim: o.RolesClaim, Roles: o.Roles,
	}
}

func (i Issuer) signs() bool { return len(i.Secret)+len(i.Keys)+len(i.JWKS) > 0 }

// Run reads the keys of every JWKS again and again until ctx ends, and then
// returns nil. It is called once.
func (v *Verifier) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, i := range v.issuers {
		if i.source != nil {
			wg.Go(func() { i.source.run(ctx) })
		}
	}
	<-ctx.Done()
	return nil
}

// Ready returns nil when tokens of at least one issuer can be checked, or when
// there is no issuer. An issuer that is away must not take the others with it.
func (v *Verifier) Ready() error {
	for _, i := range v.issuers {
		if len(i.fixed) > 0 || i.source.current() != nil {
			return nil
		}
	}
	if len(v.issuers) == 0 {
		return nil
	}
	return errors.New("no key that verifies tokens could be fetched yet")
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
	sum := tokenSum(sha256.Sum256([]byte(raw)))
	who, ok := v.verified.get(sum)
	if !ok {
		var err error
		if who, err = v.verify(raw); err != nil {
			return Principal{}, err
		}
		if len(raw) <= maxVerifiedToken {
			v.verified.put(sum, who)
		}
	}
	if err := v.standing(who); err != nil {
		return Principal{}, err
	}
	return who, nil
}

// verify checks a token whatever was found before.
func (v *Verifier) verify(raw string) (Principal, error) {
	// A map keeps the names of claims as they are written: encoding/json would
	// take "ROLES" for a field called roles, and whoever may name a claim of
	// their own would grant themselves what they like.
	claims := jwt.MapClaims{}
	var from *issuer
	_, err := v.parser.ParseWithClaims(raw, claims, func(t *jwt.Token) (any, error) {
		if from = v.issuerOf(claims); from == nil {
			return nil, jwt.ErrTokenInvalidIssuer
		}
		return from.keysFor(t)
	})
	if err == nil {
		err = from.validator.Validate(claims)
	}
	if err != nil {
		return Principal{}, fault.Wrap(err, fault.Unauthenticated, "%s", explain(err))
	}
	p, err := from.principal(claims)
	if err == nil {
		p.Expires = p.Expires.Add(v.leeway) // as long as the token is taken, so is its bearer
	}
	return p, err
}

// issuerOf returns whose keys a token is checked with; nil: nobody's. The claim
// is not proven yet: whoever names an issuer must have its signature.
func (v *Verifier) issuerOf(claims jwt.MapClaims) *issuer {
	name, _ := claims["iss"].(string)
	if i := v.issuers[name]; i != nil {
		return i
	}
	if len(v.issuers) == 1 {
		for _, i := range v.issuers {
			return i // its validator says what is wrong with the name
		}
	}
	return v.issuers[""]
}

// principal reads the claims of a token that is good.
func (i *issuer) principal(claims jwt.MapClaims) (Principal, error) {
	sub, err := claims.GetSubject()
	if err != nil || sub == "" {
		return Principal{}, fault.New(fault.Unauthenticated, "the token has no sub claim")
	}
	exp, err := claims.GetExpirationTime()
	if err != nil || exp.Year() > 9999 {
		return Principal{}, fault.New(fault.Unauthenticated, "the token's exp claim is not a time in seconds")
	}
	roles, err := i.roles(claims)
	if err != nil {
		return Principal{}, err
	}
	id, _ := claims["jti"].(string) // one of another type names nothing
	p := Principal{Subject: sub, Roles: roles, Expires: exp.Time, TokenID: id}
	if iat, err := claims.GetIssuedAt(); err == nil && iat != nil { // the validator has looked at it
		p.IssuedAt = iat.Time
	}
	return p, nil
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
	case errors.Is(err, errNoKeys):
		return "the token cannot be checked at present: its issuer cannot be reached; try again later"
	}
	return "the token is not valid"
}

// namesIn reads a claim that lists names.
func namesIn(claim any) (names []string, given bool, err error) {
	switch claim := claim.(type) {
	case nil:
		return nil, false, nil
	case string:
		return strings.Fields(claim), true, nil
	case []any:
		for _, name := range claim {
			if s, ok := name.(string); ok {
				names = append(names, s)
			}
		}
		return names, true, nil
	}
	return nil, false, fault.New(fault.Unauthenticated, "the token's roles claim is no list of names")
}
