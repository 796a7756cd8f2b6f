package boot

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

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

	kept []*kept // the files of the accounts
}

// Credentials reads keys and accounts. In development mode missing ones are
// made; otherwise the service refuses to start without keys.
func (c Config) Credentials(log *slog.Logger) (Credentials, error) {
	var out Credentials
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
	if c.Dev && len(secret) > 0 {
		out.Partner = DevAccount{User: "partner", Password: auth.DerivedSecret(secret, "partner"), Roles: schema.User | schema.Service}
	}
	if len(secret) == 0 && !c.givenKeys() {
		return out, errors.New("no key verifies tokens: set TIDINGS_JWT_JWKS, TIDINGS_JWT_KEYS_FILE or TIDINGS_JWT_SECRET_FILE, or use --dev to try the service")
	}
	if out.Accounts, out.kept, err = c.accounts(out.Partner); err != nil {
		return out, err
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
