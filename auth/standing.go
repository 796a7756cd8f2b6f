package auth

import "tidings/fault"

// Standing returns why the token that a caller came with was revoked since; nil
// when it was not, or when the caller had none. That it has expired is no reason:
// it is for work that was begun while it was good. The fault is Unauthenticated.
func (v *Verifier) Standing(who Principal) error { return v.standing(who) }

// Standing returns why a caller who came by an account counts no more: there is
// no account of the subject that grants the same roles; nil for all who came by a
// token. The fault is Unauthenticated.
func (a *Accounts) Standing(who Principal) error {
	if !who.Expires.IsZero() {
		return nil
	}
	if a != nil {
		for _, e := range a.roster.Load().accounts {
			if e.Subject == who.Subject && who.Roles&^e.Roles == 0 {
				return nil
			}
		}
	}
	return fault.New(fault.Unauthenticated, "the account is not there any more, or has other roles")
}
