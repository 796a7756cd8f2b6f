package boot

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"tidings/auth"
	"tidings/schema"
)

// DevAccount is an account that development mode makes.
type DevAccount struct {
	User, Password string
	Roles          schema.Roles
}

// Credentials says who may come in.
type Credentials struct {
	Verifier *auth.Verifier
	// Revoked are the tokens that the verifier refuses although they are good.
	Revoked  *auth.Revocations
	Accounts *auth.Accounts
	// Secret signs development tokens; nil outside development mode.
	Secret []byte
	// Partner is the development account for SOAP; zero outside development mode.
	Partner DevAccount
}

// Credentials reads keys and accounts. In development mode missing ones are
// made; otherwise the service refuses to start without keys.
func (c Config) Credentials(log *slog.Logger) (Credentials, error) {
	var out Credentials
	accounts, err := parseAccounts(c.Accounts)
	if err != nil {
		return out, err
	}
	tokens, err := c.tokens()
	if err != nil {
		return out, err
	}
	secret := tokens.Secret
	if c.Dev && !c.givenKeys() {
		if secret, err = DevSecret(c.Data); err != nil {
			return out, err
		}
	}
	if c.Dev && len(secret) > 0 {
		out.Secret = secret
	}
	if c.Dev && c.Accounts == "" && len(secret) > 0 {
		out.Partner = DevAccount{User: "partner", Password: devPassword(secret, "partner"), Roles: schema.User | schema.Service}
		hash, err := auth.HashPassword(out.Partner.Password)
		if err != nil {
			return out, err
		}
		accounts = append(accounts, auth.Account{User: out.Partner.User, Hash: hash, Roles: out.Partner.Roles})
	}
	if len(secret) == 0 && !c.givenKeys() {
		return out, errors.New("no key verifies tokens: set TIDINGS_JWT_JWKS, TIDINGS_JWT_KEYS_FILE or TIDINGS_JWT_SECRET_FILE, or use --dev to try the service")
	}
	if out.Accounts, err = auth.NewAccounts(accounts); err != nil {
		return out, fmt.Errorf("TIDINGS_ACCOUNTS: %w", err)
	}
	out.Revoked = new(auth.Revocations)
	tokens.Secret, tokens.Revoked, tokens.Logger = secret, out.Revoked, log
	out.Verifier, err = auth.NewVerifier(tokens)
	if err != nil {
		return out, fmt.Errorf("the keys of tokens (TIDINGS_JWT_…): %w", err)
	}
	return out, nil
}

// DevSecret returns the development key that is kept in the data directory,
// and makes one when there is none: tokens stay good across restarts, and no
// two installations share a key.
func DevSecret(dir string) ([]byte, error) {
	path := filepath.Join(dir, "dev.key")
	if err := makeSecret(dir, path); err != nil {
		return nil, fmt.Errorf("make the development key: %w", err)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the development key: %w", err)
	}
	return key, nil
}

// makeSecret writes a new key unless there is one. Processes that start
// together agree on the one that was linked first.
func makeSecret(dir, path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "dev.key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(rand.Text() + rand.Text())
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// devPassword derives an account's password from the development key, so that
// it needs no file of its own.
func devPassword(secret []byte, user string) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("password of " + user))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))[:20]
}

// parseAccounts reads lines of name:hash:roles[:subject]. Empty lines and
// those that begin with # are left out.
func parseAccounts(text string) ([]auth.Account, error) {
	var accounts []auth.Account
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, ":", 4)
		if len(parts) < 3 {
			return nil, fmt.Errorf("TIDINGS_ACCOUNTS line %d: want name:bcrypt hash:ROLE,ROLE[:subject]", i+1)
		}
		roles, err := auth.ParseRoles(list(parts[2])...)
		if err != nil {
			return nil, fmt.Errorf("TIDINGS_ACCOUNTS line %d: %w", i+1, err)
		}
		acc := auth.Account{User: parts[0], Hash: []byte(parts[1]), Roles: roles}
		if len(parts) == 4 {
			acc.Subject = parts[3]
		}
		accounts = append(accounts, acc)
	}
	return accounts, nil
}
