package wssec

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// Key is one of our own keys with the certificate that partners know it by.
type Key struct {
	Private     crypto.Signer // RSA; one of another kind decrypts nothing
	Certificate *x509.Certificate
}

// Keyring is our own keys. There are several while one takes over from another:
// messages may be encrypted for any. It is not changed.
type Keyring []Key

// Keys is the keyring in force. It is safe for concurrent use; nil, like the zero
// value, has no key.
type Keys struct{ ring atomic.Pointer[Keyring] }

// Ring returns the keyring in force.
func (k *Keys) Ring() Keyring {
	if k == nil || k.ring.Load() == nil {
		return nil
	}
	return *k.ring.Load()
}

// Replace puts another keyring into force.
func (k *Keys) Replace(r Keyring) { k.ring.Store(&r) }

// ParseKeys reads private keys and their certificates, both as PEM, in any order.
// Certificates without a key, such as those of authorities, are passed over. The
// keyring is in the order of the keys; errors show nothing that is secret.
func ParseKeys(keys, certificates []byte) (Keyring, error) {
	var certs []*x509.Certificate
	for block := range blocks(certificates) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil, fmt.Errorf("what should be the certificates holds %.40q that is none", block.Type)
		}
		certs = append(certs, cert)
	}
	var r Keyring
	for block := range blocks(keys) {
		private, err := parseKey(block)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(certs, func(c *x509.Certificate) bool { return isKeyOf(private, c) })
		if i < 0 {
			return nil, fmt.Errorf("key %d has no certificate", len(r)+1)
		}
		if err := checkKey(certs[i]); err != nil {
			return nil, fmt.Errorf("key %d is %w", len(r)+1, err)
		}
		r = append(r, Key{private, certs[i]})
	}
	if len(r) == 0 {
		return nil, errors.New("there is no private key")
	}
	return r, nil
}

func blocks(text []byte) func(yield func(*pem.Block) bool) {
	return func(yield func(*pem.Block) bool) {
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if !yield(block) {
				return
			}
		}
	}
}

// parseKey reads a key of any of the three kinds of PEM.
func parseKey(block *pem.Block) (crypto.Signer, error) {
	var key any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("what should be a private key is %.40q; use one that is not encrypted", block.Type)
	}
	private, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, fmt.Errorf("a %.40q cannot be read", block.Type) // its cause may show parts of it
	}
	return private, nil
}

func isKeyOf(private crypto.Signer, c *x509.Certificate) bool {
	public, ok := private.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}
