package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// maxPassword bounds a password in bytes.
const maxPassword = 256

// Password returns the principal of an account. Unknown users and wrong
// passwords get the same fault, Unauthenticated, after the same time; its cause
// says which it was.
//
// A password that has to be looked at needs leave of tries, which bounds how
// often somebody may be wrong; nil means that anybody may try. Who is refused
// that, or comes while many others are looked at, gets RateLimited. A password
// that was right before is not looked at: nobody locks out those who are in.
// The secrets of NewSecret are passwords too, and cost nothing to look at.
func (a *Accounts) Password(user, password string, tries Tries) (Principal, error) {
	if a == nil || len(password) > maxPassword {
		return Principal{}, wrong("there are no accounts, or the password is too long")
	}
	if generated(password) {
		return a.bySecret(user, password, tries)
	}
	r := a.roster.Load()
	e := r.accounts[user]
	digest := a.digest(user, password, e)
	if e != nil && a.remembered(user, digest) {
		return e.principal(), nil
	}
	if tries == nil {
		tries = anybody{}
	}
	if err := tries.Allow(); err != nil {
		return Principal{}, err
	}
	right, err := a.trials.run(digest, tries, func() bool { return a.look(r, user, password, digest) })
	switch {
	case err != nil:
		return Principal{}, err
	case e == nil:
		return Principal{}, wrong("no account has the name")
	case !right:
		return Principal{}, wrong("the password is wrong for the account %q", user)
	}
	return e.principal(), nil
}

// look compares a password with its hash, and remembers the right one. Who has
// no password is compared with that of another, so that time tells nothing.
func (a *Accounts) look(r *roster, user, password string, digest []byte) bool {
	e := r.accounts[user]
	if e == nil || e.hash == nil {
		if n := len(r.hashes); n > 0 {
			r.hashes[binary.BigEndian.Uint32(a.digest(user, "", nil))%uint32(n)].matches(password)
		}
		return false
	}
	if a.remembered(user, digest) {
		return true
	}
	if !e.hash.matches(password) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.right[user] = digest
	return true
}

// digest is what is remembered of a password: of a name, whose account has this
// hash. With another hash the same password is another one.
func (a *Accounts) digest(user, password string, e *entry) []byte {
	h := hmac.New(sha256.New, a.key)
	var hash []byte
	if e != nil {
		hash = e.Hash
	}
	fmt.Fprintf(h, "%d:%s%d:%s%s", len(user), user, len(hash), hash, password)
	return h.Sum(nil)
}

func (a *Accounts) remembered(user string, digest []byte) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return hmac.Equal(a.right[user], digest)
}
