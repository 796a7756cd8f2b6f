package bus

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Access says as whom a process comes to an external server, and how the two
// know each other; and for an embedded server, as whom others may come to it.
// The zero value is nobody, in the clear. Files are read at each connect, so
// that what replaced them counts: see [Bus.Renew].
type Access struct {
	// Creds is a file of a JWT with its seed, as nsc writes it; NKey one of a
	// user's seed. External servers only.
	Creds, NKey string
	// User and Password, or Token. The files hold the password or the token and
	// count where the value itself is empty.
	User, Password, PasswordFile string
	Token, TokenFile             string
	// CA is a file of the authorities (PEM) that must have issued the other
	// side's certificate; Cert and Key are files of this side's own. Each of them
	// makes TLS a condition. An embedded server with a CA takes only clients that
	// show a certificate.
	CA, Cert, Key string
	// ServerName is the name that the server's certificate must have. Empty: the
	// host of the URL.
	ServerName string
	// Open takes secret files that others on this machine may read.
	Open bool
}

// Secret files hold what nobody else may read.
func (a Access) secretFiles() []string {
	return []string{a.Creds, a.NKey, a.PasswordFile, a.TokenFile, a.Key}
}

// Files are all files that Access names.
func (a Access) Files() []string {
	var named []string
	for _, name := range append(a.secretFiles(), a.CA, a.Cert) {
		if name != "" {
			named = append(named, name)
		}
	}
	return named
}

// AccessError says which file of Access cannot be used, and why. It never holds
// what is in the file.
type AccessError struct {
	// Field is that of Access: Creds, NKey, PasswordFile, TokenFile, CA, Cert or Key.
	Field, File string
	Err         error
}

func (e *AccessError) Error() string { return fmt.Sprintf("the file %s: %v", e.File, e.Err) }

// Unwrap returns the reason.
func (e *AccessError) Unwrap() error { return e.Err }

// material is what the files of Access held when they were read.
type material struct {
	sum             [sha256.Size]byte // of all of it
	jwt             func() (string, error)
	sign            func(nonce []byte) ([]byte, error)
	nkey            string // public
	password, token string
	pair            *tls.Certificate
	roots           *x509.CertPool
	expires         time.Time // of the JWT; zero: never, or there is none
}

// Check reads the files of a, and refuses what cannot be used: the error is an
// *AccessError where a file is to blame.
func (a Access) Check() error {
	_, err := a.read()
	return err
}

func (a Access) read() (*material, error) {
	if err := a.coherent(); err != nil {
		return nil, err
	}
	m, sum := &material{password: a.Password, token: a.Token}, sha256.New()
	for _, part := range []struct {
		field, file string
		secret      bool
		take        func(text []byte) error
	}{
		{"Creds", a.Creds, true, func(text []byte) error { return m.option(nats.UserCredentialBytes(text)) }},
		{"NKey", a.NKey, true, m.seed},
		{"PasswordFile", a.PasswordFile, true, func(text []byte) error { m.password = string(bytes.TrimSpace(text)); return nil }},
		{"TokenFile", a.TokenFile, true, func(text []byte) error { m.token = string(bytes.TrimSpace(text)); return nil }},
		{"CA", a.CA, false, m.authorities},
		{"Key", a.Key, true, func([]byte) error { return nil }},
		{"Cert", a.Cert, false, func([]byte) error { return m.certificate(a.Cert, a.Key) }},
	} {
		if part.file == "" {
			continue
		}
		text, err := readFile(part.file, part.secret && !a.Open)
		if err == nil {
			err = part.take(text)
		}
		if err != nil {
			return nil, &AccessError{Field: part.field, File: part.file, Err: err}
		}
		fmt.Fprintf(sum, "%s %d\n", part.field, len(text))
		sum.Write(text)
	}
	m.sum = [sha256.Size]byte(sum.Sum(nil))
	return m, nil
}

// coherent refuses settings that do not fit each other.
func (a Access) coherent() error {
	ways := 0
	for _, given := range []bool{a.Creds != "", a.NKey != "", a.User != "", a.Token != "" || a.TokenFile != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return errors.New("credentials, an NKey, a user with a password, and a token are four ways to say who comes: choose one")
	case a.User == "" && (a.Password != "" || a.PasswordFile != ""):
		return errors.New("there is a password but no user whose it is")
	case a.User != "" && a.Password == "" && a.PasswordFile == "":
		return errors.New("there is a user but no password")
	case (a.Cert == "") != (a.Key == ""):
		return errors.New("a certificate and its key belong together: name both files")
	}
	return nil
}

// option takes what the library makes of a file of credentials, whose errors
// do not quote it.
func (m *material) option(o nats.Option) error {
	var got nats.Options
	if err := o(&got); err != nil {
		return err
	}
	jwt, err := got.UserJWT()
	if err != nil {
		return errors.New("there is no user JWT in it: it has to be a file as `nsc generate creds` writes it")
	}
	if _, err := got.SignatureCB([]byte("try")); err != nil {
		return errors.New("there is no user seed in it: it has to be a file as `nsc generate creds` writes it")
	}
	m.jwt, m.sign, m.expires = func() (string, error) { return jwt, nil }, got.SignatureCB, expiry(jwt)
	return nil
}

// seed keeps the key itself: the library would read the file again to sign.
func (m *material) seed(text []byte) error {
	key, err := nkeys.ParseDecoratedUserNKey(text)
	if err == nil {
		m.nkey, err = key.PublicKey()
	}
	if err != nil {
		return errors.New("there is no seed of a user's NKey in it (SU…)")
	}
	m.sign = key.Sign
	return nil
}

func (m *material) authorities(text []byte) error {
	m.roots = x509.NewCertPool()
	if !m.roots.AppendCertsFromPEM(text) {
		return errors.New("there is no certificate (PEM) in it")
	}
	return nil
}

func (m *material) certificate(cert, key string) error {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("with the key %s: %w", key, err)
	}
	m.pair = &pair
	return nil
}

// expiry reads when a JWT ends; zero: it does not, or cannot be read here.
func expiry(jwt string) time.Time {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(body, &claims) != nil || claims.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(claims.Expires, 0)
}
