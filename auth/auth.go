// Package auth turns a token, a password, a digest or a certificate into a Principal.
//
// It knows no transport: the edge hands it the text of a header or of a
// message and gets back who is calling, or a fault with the code
// Unauthenticated. What the Principal may do is written in the schema and is
// checked by resource and graphql. It is the door for golang-jwt and x/crypto.
package auth

import (
	"context"
	"fmt"
	"strings"

	"tidings/schema"
)

type contextKey struct{}

// NewContext returns a context that carries p. The edge calls it once a request.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the Principal that NewContext stored, and the anonymous
// one when there is none. Below the edge the Principal is an argument.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}

// roleNames are the roles that credentials may carry, by the words of the contract.
var roleNames = map[string]schema.Roles{
	"USER":    schema.User,
	"ADMIN":   schema.Admin,
	"SERVICE": schema.Service,
}

// ParseRoles reads role names such as "USER" or "admin". Anyone and Owner are
// not granted by credentials and are refused like every unknown name.
func ParseRoles(names ...string) (schema.Roles, error) {
	var roles schema.Roles
	for _, name := range names {
		r, ok := roleNames[strings.ToUpper(strings.TrimSpace(name))]
		if !ok {
			return 0, fmt.Errorf("unknown role %q; use USER, ADMIN or SERVICE", name)
		}
		roles |= r
	}
	return roles, nil
}

// RoleNames returns the names of the roles in r, in a fixed order.
func RoleNames(r schema.Roles) []string {
	names := []string{}
	for _, name := range []string{"USER", "ADMIN", "SERVICE"} {
		if r.Has(roleNames[name]) {
			names = append(names, name)
		}
	}
	return names
}
