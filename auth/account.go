package auth

import (
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"tidings/fault"
	"tidings/schema"
)

// Account is one name that may call, and by what it is known. It needs a
// password, a secret or a certificate at least.
type Account struct {
	User    string       // what the caller sends
	Hash    []byte       // of the password, by bcrypt or argon2id; empty: there is no password
	Subject string       // who the caller becomes; empty means User
	Roles   schema.Roles // what the caller may do
	// Secrets were made by NewSecret, or are their sums by SumSecret; eight at most.
	Secrets []string
	// Certificates are those that mean the account.
	Certificates []CertificateRule
	// Partner says what the messages of the account may be like; its Name is not read.
	Partner Partner
}

// Partner is what the messages of an account may be like, beyond what is safe
// with everybody. The zero value allows nothing of the kind. It must not be changed.
type Partner struct {
	Name string // of the account; empty: nobody's

	AllowSHA1  bool // SHA-1 in signatures
	AllowCBC   bool // encryption in CBC mode
	AllowRSA15 bool // keys that are wrapped by RSAES-PKCS1-v1_5

	// RequireSignature refuses messages that the account did not sign.
	RequireSignature bool
	// Encryption is the certificate that answers are encrypted for; nil: none.
	Encryption *x509.Certificate
}

// maxSecrets is how many secrets an account may have: an old and a new one while
// it is exchanged, of a few programs.
const maxSecrets = 8

// Accounts checks passwords, secrets and certificates. It is safe for concurrent
// use. A nil *Accounts knows nobody.
//
// A partner sends the password with every request of a batch, and its hash is
// slow by design: the last password that was right for an account is therefore
// remembered as a keyed digest under a key of this process alone.
type Accounts struct {
	key    []byte
	decoy  []byte // a secret of nobody's
	trials *trials
	roster atomic.Pointer[roster]

	mu    sync.RWMutex
	right map[string][]byte // user → digest of the password that was right
}

// roster are the accounts in force. It is not changed.
type roster struct {
	accounts map[string]*entry
	hashes   []passwordHash // of all accounts: what unknown names are compared with
	// allowances of all accounts, of which any may make use.
	allowances Partner
	certificates
}

// entry is an account as it is looked up.
type entry struct {
	Account
	hash    passwordHash // nil: there is no password
	secrets []secret
}

// NewAccounts returns the accounts of the list; authorities are those whose
// certificates are believed (ParseAuthorities). The error names the account
// that is to blame and shows nothing that is secret.
func NewAccounts(list []Account, authorities ...*x509.Certificate) (*Accounts, error) {
	a := &Accounts{key: make([]byte, 32), decoy: make([]byte, 32), trials: newTrials(), right: map[string][]byte{}}
	for _, random := range [][]byte{a.key, a.decoy} {
		if _, err := rand.Read(random); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
	}
	return a, a.Replace(list, authorities...)
}

// Replace puts others in the place of all accounts and authorities, at once.
// With an error, that of NewAccounts, those in force stay.
func (a *Accounts) Replace(list []Account, authorities ...*x509.Certificate) error {
	r := &roster{accounts: map[string]*entry{}, certificates: newCertificates(authorities)}
	for _, acc := range list {
		if err := r.add(acc); err != nil {
			return fmt.Errorf("account %s: %w", shown(acc.User), err)
		}
	}
	a.roster.Store(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.right, func(user string, _ []byte) bool { return r.accounts[user] == nil })
	return nil
}

func (r *roster) add(acc Account) (err error) {
	if acc.User == "" || r.accounts[acc.User] != nil {
		return errors.New("the name is empty or used twice")
	}
	if len(acc.Hash) == 0 && len(acc.Secrets) == 0 && len(acc.Certificates) == 0 {
		return errors.New("it has no password, no secret and no certificate: give it one, or remove it")
	}
	if len(acc.Secrets) > maxSecrets {
		return fmt.Errorf("it has more than %d secrets: remove those that are not in use", maxSecrets)
	}
	if acc.Subject == "" {
		acc.Subject = acc.User
	}
	acc.Partner.Name = acc.User
	e := &entry{Account: acc}
	if len(acc.Hash) > 0 {
		if e.hash, err = parseHash(string(acc.Hash)); err != nil {
			return err
		}
		r.hashes = append(r.hashes, e.hash)
	}
	for i, text := range acc.Secrets {
		s, err := parseSecret(text)
		if err != nil {
			return fmt.Errorf("secret %d: %w", i+1, err)
		}
		e.secrets = append(e.secrets, s)
	}
	for i, rule := range acc.Certificates {
		if err := r.certificates.add(rule, e); err != nil {
			return fmt.Errorf("certificate %d: %w", i+1, err)
		}
	}
	if c := acc.Partner.Encryption; c != nil {
		if err := strong(c); err != nil {
			return fmt.Errorf("the encryption certificate: %w", err)
		}
	}
	r.allowances.AllowCBC = r.allowances.AllowCBC || acc.Partner.AllowCBC
	r.allowances.AllowRSA15 = r.allowances.AllowRSA15 || acc.Partner.AllowRSA15
	r.accounts[acc.User] = e
	return nil
}

// Partner returns what the messages of an account may be like. The zero value is
// that of a name that no account has.
func (a *Accounts) Partner(user string) Partner {
	if a == nil {
		return Partner{}
	}
	if e := a.roster.Load().accounts[user]; e != nil {
		return e.Partner
	}
	return Partner{}
}

// Allowances are what some account may use although it is weak: messages are
// decrypted before it is known whose they are.
func (a *Accounts) Allowances() Partner {
	if a == nil {
		return Partner{}
	}
	return a.roster.Load().allowances
}

func (e *entry) principal() Principal { return Principal{Subject: e.Subject, Roles: e.Roles} }

// wrong refuses a caller. All causes have one text; which it was is for the log.
func wrong(format string, args ...any) *fault.Error {
	return fault.Wrap(fmt.Errorf(format, args...), fault.Unauthenticated, "the credentials are wrong")
}

// shown is a name as errors show it: what was put in its place by mistake may be
// secret.
func shown(name string) string {
	if secretive(name) {
		return "with a secret for a name"
	}
	return fmt.Sprintf("%.60q", name)
}
