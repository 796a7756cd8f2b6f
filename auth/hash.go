package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// passwordHash tells whether a password is the right one, slowly.
type passwordHash interface{ matches(password string) bool }

// maxBcrypt is how many bytes of a password bcrypt looks at.
const maxBcrypt = 72

// maxBcryptCost takes some 3 seconds of a core. Strangers can have a password
// looked at as often as wrong ones are allowed, and each step up doubles it.
const maxBcryptCost = 16

// HashPassword returns the hash that Account.Hash wants, by argon2id with 19 MiB
// and two passes.
func HashPassword(password string) ([]byte, error) {
	if len(password) > maxPassword {
		return nil, fmt.Errorf("the password has more than %d bytes", maxPassword)
	}
	h := argonHash{memory: 19 << 10, time: 2, threads: 1, salt: make([]byte, 16)}
	if _, err := rand.Read(h.salt); err != nil {
		return nil, err
	}
	h.sum = make([]byte, 32)
	h.sum = h.of(password)
	letters := base64.RawStdEncoding
	return fmt.Appendf(nil, "$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", h.memory, h.time, h.threads, letters.EncodeToString(h.salt), letters.EncodeToString(h.sum)), nil
}

// parseHash reads a hash of bcrypt, or one of argon2id in the PHC string format.
func parseHash(text string) (passwordHash, error) {
	if strings.HasPrefix(text, "$argon2id$") {
		return parseArgon(text)
	}
	cost, err := bcrypt.Cost([]byte(text))
	if err != nil {
		return nil, errors.New("the password is no hash of bcrypt or argon2id: make one with `api soap password`")
	}
	if cost > maxBcryptCost {
		return nil, fmt.Errorf("the bcrypt hash is out of bounds: its cost is %d, of at most %d", cost, maxBcryptCost)
	}
	return bcryptHash(text), nil
}

type bcryptHash string

func (h bcryptHash) matches(password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(h), []byte(password)) == nil && len(password) <= maxBcrypt
}

type argonHash struct {
	memory, time uint32 // KiB, passes
	threads      uint8
	salt, sum    []byte
}

func (h argonHash) matches(password string) bool {
	return hmac.Equal(h.of(password), h.sum)
}

// of is the sum of a password, as long as the hash's own.
func (h argonHash) of(password string) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, uint32(len(h.sum)))
}

// parseArgon reads $argon2id$v=19$m=19456,t=2,p=1$salt$hash. What would take too
// much of a process is refused, and what protects too little.
func parseArgon(text string) (passwordHash, error) {
	var h argonHash
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[2] != "v=19" {
		return nil, errors.New("the argon2id hash is not of the form $argon2id$v=19$m=19456,t=2,p=1$salt$hash")
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); n != 3 || err != nil ||
		fmt.Sprintf("m=%d,t=%d,p=%d", h.memory, h.time, h.threads) != parts[3] {
		return nil, errors.New("the argon2id hash does not say m, t and p, such as m=19456,t=2,p=1")
	}
	if h.memory < 7<<10 || h.memory > 256<<10 || h.time < 1 || h.time > 16 || h.threads < 1 || h.threads > 16 {
		return nil, errors.New("the argon2id hash is out of bounds: m is 7168 to 262144 KiB, t 1 to 16, p 1 to 16")
	}
	var err, err2 error
	h.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	h.sum, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	if errors.Join(err, err2) != nil || len(h.salt) < 8 || len(h.salt) > 64 || len(h.sum) < 16 || len(h.sum) > 64 {
		return nil, errors.New("the argon2id hash has a salt or a sum that is not of 8 to 64 and 16 to 64 bytes in base64")
	}
	return h, nil
}
