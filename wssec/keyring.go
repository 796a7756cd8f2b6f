package wssec

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha1" // a name for a certificate, not a proof
	"crypto/x509"

	"tidings/xmltree"
)

// The ways to name a certificate in a KeyIdentifier.
const (
	tokenProfile   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#"
	valueSKI       = tokenProfile + "X509SubjectKeyIdentifier"
	valueX509      = tokenProfile + "X509v3"
	valueThumbSHA1 = "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#ThumbprintSHA1"
)

// find returns our key that a KeyInfo names: by the certificate, its issuer and
// number, its subject key identifier or its thumbprint, in place or by a
// reference to a token in the header. Without a KeyInfo it is the only key there
// is. Of two certificates with the same number the issuer does not matter: a
// wrong choice among our own keys decrypts nothing.
func (r Keyring) find(info xmltree.Elem, security xmltree.Elem) (*rsa.PrivateKey, *Error) {
	if len(r) == 0 {
		return nil, refuse(UnsupportedSecurityToken, "the message is encrypted, and there is no key to decrypt with")
	}
	if !info.Exists() {
		private, ok := r[0].Private.(*rsa.PrivateKey)
		if len(r) > 1 || !ok {
			return nil, refuse(InvalidSecurity, "an EncryptedKey does not say which of our keys it is for")
		}
		return private, nil
	}
	is, err := named(info, security)
	if err != nil {
		return nil, err
	}
	for _, k := range r {
		if private, ok := k.Private.(*rsa.PrivateKey); ok && is(k.Certificate) {
			return private, nil
		}
	}
	return nil, refuse(TokenUnavailable, "the message is encrypted for a key that is not ours")
}

// named reads a KeyInfo to the question whether it means a certificate.
func named(info, security xmltree.Elem) (func(*x509.Certificate) bool, *Error) {
	for e := range info.Children() {
		switch {
		case e.Is(SecurityNS, "SecurityTokenReference"):
			return named(e, security)
		case e.Is(SignatureNS, "X509Data"):
			return named(e, security)
		case e.Is(SecurityNS, "KeyIdentifier"):
			kind, _ := e.Attr("", "ValueType")
			return identified(kind, e.Text())
		case e.Is(SignatureNS, "X509Certificate"):
			return identified(valueX509, e.Text())
		case e.Is(SignatureNS, "X509SKI"):
			return identified(valueSKI, e.Text())
		case e.Is(SignatureNS, "X509IssuerSerial"):
			return numbered(e)
		case e.Is(SecurityNS, "Reference"):
			uri, _ := e.Attr("", "URI")
			for token := range security.Children() {
				if id, ok := token.Attr(UtilityNS, "Id"); ok && token.Is(SecurityNS, "BinarySecurityToken") && uri == "#"+id {
					return identified(valueX509, token.Text())
				}
			}
			return nil, refuse(TokenUnavailable, "the reference %.100q leads to no token", uri)
		}
	}
	return nil, refuse(UnsupportedSecurityToken, "an EncryptedKey names its key in a way that is not known")
}

func identified(kind, text string) (func(*x509.Certificate) bool, *Error) {
	value, err := decodeBase64(text)
	if err != nil || len(value) == 0 {
		return nil, refuse(InvalidSecurityToken, "an identifier of a key is not base64")
	}
	switch kind {
	case valueX509:
		return func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, value) }, nil
	case valueSKI:
		return func(c *x509.Certificate) bool { return bytes.Equal(keyIdentifier(c), value) }, nil
	case valueThumbSHA1:
		return func(c *x509.Certificate) bool {
			sum := sha1.Sum(c.Raw)
			return bytes.Equal(sum[:], value)
		}, nil
	}
	return nil, refuse(UnsupportedSecurityToken, "keys are not identified by %.200q here", kind)
}

// keyIdentifier is the subject key identifier, by RFC 5280, 4.2.1.2 (1) where the
// certificate does not tell it.
func keyIdentifier(c *x509.Certificate) []byte {
	if len(c.SubjectKeyId) > 0 {
		return c.SubjectKeyId
	}
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok {
		sum := sha1.Sum(x509.MarshalPKCS1PublicKey(key))
		return sum[:]
	}
	return nil
}

func numbered(e xmltree.Elem) (func(*x509.Certificate) bool, *Error) {
	for child := range e.Children() {
		if child.Is(SignatureNS, "X509SerialNumber") {
			number := xmltree.Trim(child.Text())
			return func(c *x509.Certificate) bool { return c.SerialNumber.String() == number }, nil
		}
	}
	return nil, refuse(InvalidSecurityToken, "an X509IssuerSerial has no number")
}
