package boot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tidings/auth"
	"tidings/schema"
)

// issuer is an auth.Issuer as TIDINGS_JWT_ISSUERS writes it.
type issuer struct {
	Issuer     string            `json:"issuer"`
	Audience   string            `json:"audience"`
	Algorithms []string          `json:"algorithms"`
	JWKS       string            `json:"jwks"`
	Keys       string            `json:"keys"`
	Secret     string            `json:"secret"`
	RolesClaim string            `json:"rolesClaim"`
	Roles      map[string]string `json:"roles"`
}

// givenKeys reports whether some key was configured, so that development mode
// makes none.
func (c Config) givenKeys() bool {
	return c.JWTSecret != "" || c.JWTKeys != "" || c.JWTJWKS != "" || c.JWTIssuers != ""
}

// tokens says which tokens are accepted.
func (c Config) tokens() (auth.Options, error) {
	o := auth.Options{
		Secret: []byte(c.JWTSecret), Keys: []byte(c.JWTKeys), JWKS: c.JWTJWKS,
		Issuer: c.JWTIssuer, Audience: c.JWTAudience, RolesClaim: c.JWTClaim,
		Leeway: c.JWTLeeway, Refresh: c.JWTRefresh,
	}
	granted := map[string]string{}
	for _, pair := range list(c.JWTRoles) {
		// The value may hold an equals sign, a role never does.
		i := strings.LastIndexByte(pair, '=')
		if i <= 0 {
			return o, fmt.Errorf("TIDINGS_JWT_ROLES: %q is not of the form value=ROLE", pair)
		}
		granted[pair[:i]] = strings.Trim(granted[pair[:i]]+","+pair[i+1:], ",")
	}
	var err error
	if o.Roles, err = rolesBy(granted); err != nil {
		return o, fmt.Errorf("TIDINGS_JWT_ROLES: %w", err)
	}
	if o.Issuers, err = parseIssuers(c.JWTIssuers); err != nil {
		return o, fmt.Errorf("TIDINGS_JWT_ISSUERS: %w", err)
	}
	return o, nil
}

// parseIssuers reads an array of issuers. Members that do not exist are refused.
func parseIssuers(text string) ([]auth.Issuer, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var given []issuer
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil {
		return nil, fmt.Errorf("want a JSON array of objects: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the array")
	}
	var issuers []auth.Issuer
	for _, i := range given {
		roles, err := rolesBy(i.Roles)
		if err != nil {
			return nil, fmt.Errorf("issuer %q: %w", i.Issuer, err)
		}
		issuers = append(issuers, auth.Issuer{
			Name: i.Issuer, Audience: i.Audience, Algorithms: i.Algorithms,
			JWKS: i.JWKS, Keys: []byte(i.Keys), Secret: []byte(i.Secret),
			RolesClaim: i.RolesClaim, Roles: roles,
		})
	}
	return issuers, nil
}

// rolesBy reads what values of a claim grant; nil when there are none.
func rolesBy(granted map[string]string) (map[string]schema.Roles, error) {
	if len(granted) == 0 {
		return nil, nil
	}
	by := map[string]schema.Roles{}
	for value, names := range granted {
		roles, err := auth.ParseRoles(strings.Split(names, ",")...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", value, err)
		}
		by[value] = roles
	}
	return by, nil
}
