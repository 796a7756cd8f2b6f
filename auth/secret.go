package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// The form of a secret: the prefix, then 20 random bytes and 5 that follow from
// them, in 40 letters. Nobody types such a thing by chance: what has the form was
// generated, and so cannot be guessed.
const (
	secretPrefix = "tds_"
	secretSum    = "sha256:"
	secretRandom = 20
	secretCheck  = 5
)

var secretLetters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

// NewSecret returns a secret of 160 random bits for a program that calls.
func NewSecret() string {
	random := make([]byte, secretRandom)
	_, _ = rand.Read(random) // never fails
	return secretOf(random)
}

// DerivedSecret returns the secret that a key has for a name: always the same.
func DerivedSecret(key []byte, name string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("secret of " + name))
	return secretOf(h.Sum(nil)[:secretRandom])
}

func secretOf(random []byte) string {
	return secretPrefix + secretLetters.EncodeToString(slices.Concat(random, checkOf(random)))
}

// SumSecret is what Account.Secrets may have in the place of a secret: then it is
// known without being readable, and serves as a password but not in digests.
func SumSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return secretSum + hex.EncodeToString(sum[:])
}

func checkOf(random []byte) []byte {
	h := sha256.New()
	h.Write([]byte("tidings secret"))
	h.Write(random)
	return h.Sum(nil)[:secretCheck]
}

// generated reports whether NewSecret may have made the text.
func generated(text string) bool {
	letters, ok := strings.CutPrefix(text, secretPrefix)
	if !ok || len(letters) != secretLetters.EncodedLen(secretRandom+secretCheck) {
		return false
	}
	random, err := secretLetters.DecodeString(letters)
	return err == nil && len(random) == secretRandom+secretCheck && string(checkOf(random[:secretRandom])) == string(random[secretRandom:])
}

// secretive reports whether a text looks as if it should not be shown.
func secretive(text string) bool {
	return strings.Contains(text, secretPrefix) || strings.Contains(text, "$")
}

// secret is one of an account's.
type secret struct {
	sum   [sha256.Size]byte
	plain string // empty: only its sum is known
}

func parseSecret(text string) (secret, error) {
	if digits, ok := strings.CutPrefix(text, secretSum); ok {
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != sha256.Size {
			return secret{}, errors.New("sha256: is followed by 64 hexadecimal digits, as `api soap secret` prints them")
		}
		return secret{sum: [sha256.Size]byte(sum)}, nil
	}
	if !generated(text) {
		return secret{}, errors.New("it was not made by `api soap secret`: others are not accepted, since a secret that somebody thought of can be guessed")
	}
	return secret{sum: sha256.Sum256([]byte(text)), plain: text}, nil
}

// bySecret finds the account of a name and a secret. Unknown names are refused
// after the same work.
func (a *Accounts) bySecret(user, text string, tries Tries) (Principal, error) {
	sum := sha256.Sum256([]byte(text))
	e := a.roster.Load().accounts[user]
	right := false
	for _, s := range a.secretsOf(e) {
		right = hmac.Equal(s.sum[:], sum[:]) || right
	}
	return a.verdict(e, right, "secret", tries)
}

// Digest is the proof of somebody who has a secret, without the secret (OASIS
// Web Services Security UsernameToken Profile 1.1, section 3): Sum is the SHA-1
// of nonce, time and secret.
type Digest struct {
	User    string
	Nonce   []byte
	Created string // the time as it was written
	Sum     []byte
}

// Digest returns the principal of an account whose secret the digest was made
// with. Passwords make no digests. It neither looks at the time nor knows whether
// the digest has come before: the caller does. Errors and tries are those of
// Password; who is right is not refused for the tries of others.
func (a *Accounts) Digest(d Digest, tries Tries) (Principal, error) {
	if a == nil {
		return Principal{}, wrong("there are no accounts")
	}
	e := a.roster.Load().accounts[d.User]
	right := false
	for _, s := range a.secretsOf(e) {
		h := sha1.New() // as the profile has it; without the secret nobody can make use of its weakness
		h.Write(d.Nonce)
		h.Write([]byte(d.Created))
		h.Write([]byte(s.plain))
		right = hmac.Equal(h.Sum(nil), d.Sum) && s.plain != "" || right
	}
	return a.verdict(e, right, "digest", tries)
}

// secretsOf are an account's secrets, or one of nobody's.
func (a *Accounts) secretsOf(e *entry) []secret {
	if e == nil || len(e.secrets) == 0 {
		return []secret{{sum: [sha256.Size]byte(a.decoy), plain: string(a.decoy)}}
	}
	return e.secrets
}

func (a *Accounts) verdict(e *entry, right bool, what string, tries Tries) (Principal, error) {
	if right && e != nil {
		return e.principal(), nil
	}
	if tries == nil {
		tries = anybody{}
	}
	if err := tries.Allow(); err != nil {
		return Principal{}, err
	}
	tries.Wrong()
	if e == nil {
		return Principal{}, wrong("no account has the name")
	}
	return Principal{}, wrong("the %s is wrong for the account %q", what, e.User)
}
