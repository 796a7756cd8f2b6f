package boot

import (
	"strings"
	"time"

	"tidings/auth"
)

// DevToken signs a token with the key of development: JWT_SECRET, or the one in the
// data directory, which is made when it is not there. Roles are separated by commas.
func (c Config) DevToken(sub, roles string, ttl time.Duration) (string, error) {
	set, err := auth.ParseRoles(strings.Split(roles, ",")...)
	if err != nil {
		return "", Usage(err)
	}
	secret := []byte(c.JWTSecret)
	if len(secret) == 0 {
		if secret, err = DevSecret(c.Data); err != nil {
			return "", err
		}
	}
	return auth.Sign(secret, auth.Principal{Subject: sub, Roles: set}, ttl)
}
