package wssec

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha1" // a name for a certificate, not a proof
	"crypto/x509"
	"errors"

	"tidings/xmltree"
)

// The ways to name a certificate in a KeyIdentifier.
const (
	tokenProfile   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#"
	valueSKI       = tokenProfile + "X509SubjectKeyIdentifier"
	valueX509      = tokenProfile + "X509v3"
	valueThumbSHA1 = "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#ThumbprintSHA1"
)

// find returns our key whose certificate the KeyInfo of an EncryptedKey means, in
// any of the ways in which a signature may name its own. Without a KeyInfo it is
// the only key there is.
func (r Keyring) find(info, security xmltree.Elem) (*rsa.PrivateKey, *Error) {
	switch {
	case len(r) == 0:
		return nil, refuse(UnsupportedSecurityToken, "the message is encrypted, and there is no key to decrypt with")
	case !info.Exists() && len(r) == 1:
		return r.keyOf(r[0].Certificate)
	case !info.Exists():
		return nil, refuse(InvalidSecurity, "an EncryptedKey does not say which of our keys it is for")
	}
	ids, err := elementsByID(security.Parent().Parent())
	if err != nil {
		return nil, asError(err)
	}
	t, err := keyFinder{security, ids, r.named}.token(info)
	if err != nil {
		return nil, asError(err)
	}
	return r.keyOf(t.chain[0])
}

func (r Keyring) keyOf(c *x509.Certificate) (*rsa.PrivateKey, *Error) {
	for _, k := range r {
		if private, ok := k.Private.(*rsa.PrivateKey); ok && k.Certificate.Equal(c) {
			return private, nil
		}
	}
	return nil, refuse(TokenUnavailable, "the message is encrypted for a certificate that is not ours, or has no RSA key")
}

// named returns our certificates that a name may mean.
func (r Keyring) named(n Name) (found []*x509.Certificate) {
	for _, k := range r {
		c, sum := k.Certificate, sha1.Sum(k.Certificate.Raw)
		if bytes.Equal(n.Thumbprint, sum[:]) || n.KeyID != nil && bytes.Equal(n.KeyID, c.SubjectKeyId) || n.Serial != nil && n.Serial.Cmp(c.SerialNumber) == 0 {
			found = append(found, c)
		}
	}
	return found
}

func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{InvalidSecurity, "a reference to a key", err}
}
