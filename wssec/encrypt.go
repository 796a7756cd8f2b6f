package wssec

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" // a name for a certificate, not a proof
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"tidings/xmltree"
)

// preferred is the method of messages that answer none that was encrypted. SHA-1
// is what every stack has for OAEP, which does not rest on collisions being hard.
var preferred = Method{xenc11NS + "aes256-gcm", keyTransport{uri: oaepMGF1P, digest: digests[SignatureNS+"sha1"], mgf: digests[SignatureNS+"sha1"]}}

// Encrypt encrypts the content of the Body of an envelope of ours for the owner of
// a certificate, which has an RSA key; the zero Method means AES-256-GCM and
// RSA-OAEP. It puts the key first in the Security header, which it makes where
// there is none: an envelope that is to be signed, too, was signed before.
func Encrypt(envelope []byte, to *x509.Certificate, by Method) ([]byte, error) {
	if by == (Method{}) {
		by = preferred
	}
	public, ok := to.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("encrypt for a certificate: its key is not of RSA")
	}
	c, ok := cipherOf(by.content)
	if !ok {
		return nil, fmt.Errorf("encrypt by %q: there is no such algorithm", by.content)
	}
	t, err := xmltree.ScanWithin(envelope, "utf-8", len(envelope))
	if err != nil {
		return nil, fmt.Errorf("encrypt an envelope: %w", err)
	}
	key := make([]byte, c.key)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	body, _ := partsOf(t.Root())
	if !body.Exists() {
		return nil, errors.New("encrypt an envelope: it has no Body")
	}
	from, end := body.Inner()
	data, err := c.seal(key, []byte(t.Source()[from:end]))
	if err != nil {
		return nil, err
	}
	wrapped, err := by.key.seal(public, key)
	if err != nil {
		return nil, fmt.Errorf("encrypt a key: %w", err)
	}
	w := &encrypted{method: by, keyID: "EK-" + rand.Text(), dataID: "ED-" + rand.Text()}
	return w.insert(t, w.appendKey(nil, to, wrapped), w.appendData(nil, data)), nil
}

// encrypted writes the two elements of an encrypted message.
type encrypted struct {
	method        Method
	keyID, dataID string
}

func (w *encrypted) appendKey(out []byte, to *x509.Certificate, wrapped []byte) []byte {
	thumb := sha1.Sum(to.Raw)
	k := w.method.key
	out = fmt.Appendf(out, `<xenc:EncryptedKey xmlns:xenc="%s" xmlns:ds="%s" Id="%s"><xenc:EncryptionMethod Algorithm="%s">`, xencNS, SignatureNS, w.keyID, k.uri)
	if k.uri != rsa15 {
		out = fmt.Appendf(out, `<ds:DigestMethod Algorithm="%s"/>`, nameOf(digests, k.digest))
	}
	if k.uri == oaep11 {
		out = fmt.Appendf(out, `<xenc11:MGF xmlns:xenc11="%s" Algorithm="%s"/>`, xenc11NS, nameOf(mgfs, k.mgf))
	}
	out = fmt.Appendf(out, `</xenc:EncryptionMethod><ds:KeyInfo><wsse:SecurityTokenReference xmlns:wsse="%s"><wsse:KeyIdentifier EncodingType="%s" ValueType="%s">%s</wsse:KeyIdentifier></wsse:SecurityTokenReference></ds:KeyInfo>`,
		SecurityNS, base64Encoding, valueThumbSHA1, base64.StdEncoding.EncodeToString(thumb[:]))
	out = appendCipherValue(out, wrapped)
	return fmt.Appendf(out, `<xenc:ReferenceList><xenc:DataReference URI="#%s"/></xenc:ReferenceList></xenc:EncryptedKey>`, w.dataID)
}

func (w *encrypted) appendData(out, data []byte) []byte {
	out = slices.Grow(out, base64.StdEncoding.EncodedLen(len(data))+1024)
	out = fmt.Appendf(out, `<xenc:EncryptedData xmlns:xenc="%s" Id="%s" Type="%sContent"><xenc:EncryptionMethod Algorithm="%s"/>`, xencNS, w.dataID, xencNS, w.method.content)
	out = fmt.Appendf(out, `<ds:KeyInfo xmlns:ds="%s"><wsse:SecurityTokenReference xmlns:wsse="%s" xmlns:wsse11="%s" wsse11:TokenType="%s"><wsse:Reference URI="#%s"/></wsse:SecurityTokenReference></ds:KeyInfo>`,
		SignatureNS, SecurityNS, Security11, encryptedKeyToken, w.keyID)
	return append(appendCipherValue(out, data), "</xenc:EncryptedData>"...)
}

const (
	base64Encoding    = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"
	encryptedKeyToken = "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#EncryptedKey"
)

func appendCipherValue(out, data []byte) []byte {
	out = append(out, "<xenc:CipherData><xenc:CipherValue>"...)
	return append(base64.StdEncoding.AppendEncode(out, data), "</xenc:CipherValue></xenc:CipherData>"...)
}

func nameOf[V comparable](names map[string]V, v V) string {
	for name, value := range names {
		if value == v {
			return name
		}
	}
	return ""
}

// insert writes the envelope with the key in its header and the data in its body.
func (w *encrypted) insert(t *xmltree.Tree, key, data []byte) []byte {
	src, root := t.Source(), t.Root()
	body, header := partsOf(root)
	from, to := body.Inner()
	gap, before, after := keyPlace(root, header, body)
	out := make([]byte, 0, len(src)+len(key)+len(data)+512)
	out = append(append(out, src[:gap.from]...), before...)
	out = append(append(out, key...), after...)
	out = append(append(out, src[gap.to:from]...), data...)
	return append(out, src[to:]...)
}

// keyPlace is what in the source gives way to the key, and what has to be
// written around it.
func keyPlace(envelope, header, body xmltree.Elem) (gap part, before, after string) {
	const open, shut = `<wsse:Security xmlns:wsse="` + SecurityNS + `">`, `</wsse:Security>`
	name := qualifier(envelope) + "Header>"
	if !header.Exists() {
		at, _ := body.Span()
		return part{at, at}, "<" + name + open, shut + "</" + name
	}
	for block := range header.Children() {
		if block.Is(SecurityNS, "Security") {
			at, _ := block.Inner()
			return part{at, at}, "", ""
		}
	}
	from, to := header.Span()
	if at, end := header.Inner(); end < to {
		return part{at, at}, open, shut
	}
	return part{from, to}, "<" + name + open, shut + "</" + name // it is an empty tag
}
