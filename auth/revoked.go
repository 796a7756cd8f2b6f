package auth

import (
	"errors"
	"sync"
	"time"

	"tidings/fault"
)

// Revocation takes tokens back that have not expired yet: one by its jti, or
// those that were issued before a time, of one subject or of everybody. A token
// that does not say when it was issued (iat) counts as issued long ago.
type Revocation struct {
	TokenID string    `json:"jti,omitempty"`
	Subject string    `json:"sub,omitempty"`
	Before  time.Time `json:"before,omitzero"`
	// At is when it was revoked.
	At time.Time `json:"at"`
}

// Check returns what is wrong with a revocation, nil when nothing is.
func (r Revocation) Check() error {
	switch {
	case r.TokenID != "" && (r.Subject != "" || !r.Before.IsZero()):
		return errors.New("a revocation names one token by its id, or those issued before a time: not both")
	case r.TokenID == "" && r.Before.IsZero():
		return errors.New("a revocation names a token by its id, or a time before which tokens were issued")
	case r.At.IsZero():
		return errors.New("a revocation says when it was made")
	}
	return nil
}

// Revocations are the tokens that are taken back. The zero value is empty. It is
// safe for concurrent use.
type Revocations struct {
	mu       sync.RWMutex
	tokens   map[string]time.Time // by jti: when it was revoked
	subjects map[string]time.Time // by subject: what was issued before
	all      time.Time            // of everybody: what was issued before
	changed  chan struct{}        // closed by the next one; nil: nobody waits
}

// Add takes tokens back, from now on. The error is that of Check.
func (r *Revocations) Add(x Revocation) error {
	if err := x.Check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tokens == nil {
		r.tokens, r.subjects = map[string]time.Time{}, map[string]time.Time{}
	}
	switch {
	case x.TokenID != "":
		if _, known := r.tokens[x.TokenID]; known {
			return nil
		}
		r.tokens[x.TokenID] = x.At
	case x.Subject != "":
		if !x.Before.After(r.subjects[x.Subject]) {
			return nil
		}
		r.subjects[x.Subject] = x.Before
	default:
		if !x.Before.After(r.all) {
			return nil
		}
		r.all = x.Before
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return nil
}

// Forget drops the revocations of tokens that were all issued before a time:
// when that is longer ago than tokens live, none of them is good anyhow.
func (r *Revocations) Forget(issued time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range []map[string]time.Time{r.tokens, r.subjects} {
		for name, at := range m {
			if at.Before(issued) {
				delete(m, name)
			}
		}
	}
	if r.all.Before(issued) {
		r.all = time.Time{}
	}
}

// Len is how many there are.
func (r *Revocations) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := len(r.tokens) + len(r.subjects)
	if !r.all.IsZero() {
		n++
	}
	return n
}

// next returns a channel that is closed when the next one is added.
func (r *Revocations) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// has reports whether the bearer's token was taken back. Who has credentials
// of another kind, which do not expire, is none of its.
func (r *Revocations) has(who Principal) bool {
	if who.Expires.IsZero() {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if who.IssuedAt.Before(r.all) || who.IssuedAt.Before(r.subjects[who.Subject]) {
		return true
	}
	_, revoked := r.tokens[who.TokenID]
	return revoked && who.TokenID != ""
}

// Valid returns why the credentials that a caller came with count no more: they
// have expired, by the wall clock, or were revoked; nil while they do. The fault
// is Unauthenticated.
func (v *Verifier) Valid(who Principal) error {
	if !who.Expires.IsZero() && !v.verified.now().Before(who.Expires) {
		return fault.New(fault.Unauthenticated, "the token has expired")
	}
	return v.standing(who)
}

func (v *Verifier) standing(who Principal) error {
	if v.revoked.has(who) {
		return fault.New(fault.Unauthenticated, "the token was revoked")
	}
	return nil
}

// Changed returns a channel that is closed when tokens are revoked. Who looks
// with Valid after having asked for it overlooks none.
func (v *Verifier) Changed() <-chan struct{} { return v.revoked.next() }
