package auth

import (
	"time"

	"tidings/schema"
)

// Principal is who is calling. The zero value is anonymous.
type Principal struct {
	// Subject names the caller; empty means anonymous.
	Subject string `json:"sub,omitempty"`
	// Roles that the credentials grant: User, Admin, Service. Never Anyone or Owner.
	Roles schema.Roles `json:"roles,omitempty"`
	// Expires is when the credentials end; zero means never.
	Expires time.Time `json:"exp,omitzero"`
	// IssuedAt is when the token was made; zero when it does not say.
	IssuedAt time.Time `json:"iat,omitzero"`
	// TokenID is the token's jti; empty when it has none.
	TokenID string `json:"jti,omitempty"`
}

// Anonymous reports whether nobody is known to be calling.
func (p Principal) Anonymous() bool { return p.Subject == "" }

// May reports whether the rule allows p to act on a record that owner owns.
// An empty owner is nobody's.
func (p Principal) May(rule schema.Rule, owner string) bool {
	return rule.Allows(p.Roles, p.Subject != "" && owner == p.Subject)
}
