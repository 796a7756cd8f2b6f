package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"

	"golang.org/x/crypto/bcrypt"

	"tidings/fault"
	"tidings/schema"
)

// Account is one name that may log in with a password.
type Account struct {
	User    string       // what the caller sends
	Hash    []byte       // bcrypt hash of the password
	Subject string       // who the caller becomes; empty means User
	Roles   schema.Roles // what the caller may do
}

// HashPassword returns the bcrypt hash that Account.Hash wants.
func HashPassword(password string) ([]byte, error) {
	return bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
}

// Accounts checks passwords. It is safe for concurrent use. A nil *Accounts
// knows nobody.
//
// A partner sends the password with every request of a batch, and bcrypt is
// slow by design: the last password that was right for an account is therefore
// remembered as a keyed digest under a key of this process alone.
type Accounts struct {
	accounts map[string]Account
	decoy    []byte // compared for unknown users, so that time tells nothing
	key      []byte
	trials   *trials

	mu    sync.RWMutex
	right map[string][]byte // user → digest of the password that bcrypt accepted
}

// NewAccounts returns the accounts of the list. Two of one name are an error.
func NewAccounts(list []Account) (*Accounts, error) {
	a := &Accounts{accounts: map[string]Account{}, key: make([]byte, 32), trials: newTrials(), right: map[string][]byte{}}
	if _, err := rand.Read(a.key); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	cost := bcrypt.MinCost
	for _, acc := range list {
		if _, twice := a.accounts[acc.User]; twice || acc.User == "" {
			return nil, fmt.Errorf("account name %q is empty or used twice", acc.User)
		}
		c, err := bcrypt.Cost(acc.Hash)
		if err != nil {
			return nil, fmt.Errorf("account %q: the hash is not of bcrypt: %w", acc.User, err)
		}
		cost = max(cost, c)
		if acc.Subject == "" {
			acc.Subject = acc.User
		}
		a.accounts[acc.User] = acc
	}
	decoy, err := bcrypt.GenerateFromPassword([]byte(rand.Text()), cost)
	if err != nil {
		return nil, fmt.Errorf("hash: %w", err)
	}
	a.decoy = decoy
	return a, nil
}

// Password returns the principal of an account. Unknown users and wrong
// passwords get the same fault, Unauthenticated, after the same time.
//
// A password that has to be looked at needs leave of tries, which bounds how
// often somebody may be wrong; nil means that anybody may try. Who is refused
// that, or comes while many others are looked at, gets RateLimited. A password
// that was right before is not looked at: nobody locks out those who are in.
func (a *Accounts) Password(user, password string, tries Tries) (Principal, error) {
	refused := fault.New(fault.Unauthenticated, "the user name or the password is wrong")
	if a == nil || len(password) > 72 { // the length that bcrypt takes
		return Principal{}, refused
	}
	acc, known := a.accounts[user]
	digest := a.digest(user, password)
	if known && a.remembered(user, digest) {
		return acc.principal(), nil
	}
	if tries == nil {
		tries = anybody{}
	}
	if err := tries.Allow(); err != nil {
		return Principal{}, err
	}
	right, err := a.trials.run(digest, tries, func() bool { return a.look(user, password, digest) })
	if err != nil {
		return Principal{}, err
	}
	if !right {
		return Principal{}, refused
	}
	return acc.principal(), nil
}

// look compares a password by bcrypt, and remembers the right one.
func (a *Accounts) look(user, password string, digest []byte) bool {
	acc, known := a.accounts[user]
	if known && a.remembered(user, digest) {
		return true
	}
	hash := acc.Hash
	if !known {
		hash = a.decoy
	}
	if err := bcrypt.CompareHashAndPassword(hash, []byte(password)); err != nil || !known {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.right[user] = digest
	return true
}

func (a *Accounts) digest(user, password string) []byte {
	h := hmac.New(sha256.New, a.key)
	fmt.Fprintf(h, "%d:%s%s", len(user), user, password)
	return h.Sum(nil)
}

func (a *Accounts) remembered(user string, digest []byte) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return hmac.Equal(a.right[user], digest)
}

func (acc Account) principal() Principal {
	return Principal{Subject: acc.Subject, Roles: acc.Roles}
}
