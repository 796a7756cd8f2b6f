package wssec

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"io"
	"strings"

	"tidings/xmltree"
)

// CanonicalInclusive is the form of Canonical XML 1.0.
func CanonicalInclusive(w io.Writer, e xmltree.Elem) error {
	return write(w, &canonical{all: true}, e)
}

// SealedMessage is an envelope whose Body holds what encrypts a text, whatever the
// text is; kind is Content or Element.
func SealedMessage(plain []byte, kind string, to *x509.Certificate, content, transport string) (string, error) {
	c, _ := cipherOf(content)
	w := &encrypted{method: Method{content, keyTransport{uri: transport, digest: crypto.SHA1, mgf: crypto.SHA1}}, keyID: "K", dataID: "D"}
	key := make([]byte, c.key)
	data, err := c.seal(key, plain)
	if err != nil {
		return "", err
	}
	wrapped, err := w.method.key.seal(to.PublicKey.(*rsa.PublicKey), key)
	if err != nil {
		return "", err
	}
	part := strings.Replace(string(w.appendData(nil, data)), "#Content", "#"+kind, 1)
	return `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:wsse="` + SecurityNS + `" xmlns:xenc="` + xencNS + `"><s:Header><wsse:Security>` +
		string(w.appendKey(nil, to, wrapped)) + `</wsse:Security></s:Header><s:Body>` + part + `</s:Body></s:Envelope>`, nil
}

// OpenDocument opens a message if it is one.
func OpenDocument(message []byte, keys Keyring, allow Allow) (*Opened, *Error) {
	t, err := xmltree.Scan(message, "")
	if err != nil {
		return nil, refuse(InvalidSecurity, "%v", err)
	}
	for header := range t.Root().Children() {
		for e := range header.Children() {
			if e.Is(SecurityNS, "Security") {
				return Open(t, e, keys, allow)
			}
		}
	}
	return nil, nil
}

// OpenContent decrypts by each cipher, with a key of n bytes.
func OpenContent(data []byte, n uint8) {
	for _, c := range contentCiphers {
		_, _ = c.open(make([]byte, n), data)
		_, _ = c.open(make([]byte, c.key), data)
	}
}

// SealAndOpen encrypts by the n-th cipher and decrypts.
func SealAndOpen(data []byte, n uint8) ([]byte, error) {
	c := contentCiphers[int(n)%len(contentCiphers)]
	key := make([]byte, c.key)
	text, err := c.seal(key, data)
	if err != nil {
		return nil, err
	}
	return c.open(key, text)
}
