package auth

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Sign returns an HS256 token for p that ends after ttl. It is for development
// and tests: in production an identity provider makes the tokens.
func Sign(secret []byte, p Principal, ttl time.Duration) (string, error) {
	now := time.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, struct {
		jwt.RegisteredClaims
		Roles []string `json:"roles"`
	}{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   p.Subject,
			ID:        p.TokenID,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
		},
		Roles: RoleNames(p.Roles),
	})
	return t.SignedString(secret)
}
