package wssec

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidings/xmltree"
)

// validity is how long an answer with a Timestamp is good for.
const validity = 5 * time.Minute

// Signer signs answers with the key of the service. It is safe for concurrent use.
type Signer struct {
	method string
	sign   func(sum []byte) ([]byte, error)
	token  string
}

// NewSigner returns a signer for a key and its certificate: RSA of 2048 to 8192
// bits, or P-256.
func NewSigner(key crypto.Signer, cert *x509.Certificate) (*Signer, error) {
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(cert.PublicKey) {
		return nil, errors.New("the key is not that of the certificate")
	}
	if err := checkKey(cert); err != nil {
		return nil, fmt.Errorf("the certificate has %w", err)
	}
	s := &Signer{token: base64.StdEncoding.EncodeToString(cert.Raw)}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		s.method = moreNS + "rsa-sha256"
		s.sign = func(sum []byte) ([]byte, error) { return rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum) }
		return s, nil
	case *ecdsa.PrivateKey:
		if k.Curve != elliptic.P256() {
			break
		}
		s.method = moreNS + "ecdsa-sha256"
		s.sign = func(sum []byte) ([]byte, error) { return signP256(k, sum) }
		return s, nil
	}
	return nil, errors.New("the key is neither RSA nor P-256")
}

// signP256 returns r and s as XML Signature writes them.
func signP256(key *ecdsa.PrivateKey, sum []byte) ([]byte, error) {
	r, s, err := ecdsa.Sign(rand.Reader, key, sum)
	if err != nil {
		return nil, err
	}
	value := make([]byte, 64)
	r.FillBytes(value[:32])
	s.FillBytes(value[32:])
	return value, nil
}

// The Ids of what an answer signs, besides those of confirmations.
const (
	bodyID      = "body"
	timestampID = "timestamp"
	tokenID     = "token"
)

// Sign returns the answer with a Security header that holds a Timestamp and a
// signature over it and the Body, and over a SignatureConfirmation of the
// request's signature when confirm is not nil. The answer is an envelope without
// a Security header and without Ids.
func (s *Signer) Sign(answer, confirm []byte, now time.Time) ([]byte, error) {
	framed, err := s.frame(answer, confirm, now)
	if err != nil {
		return nil, err
	}
	tree, err := xmltree.ScanWithin(framed, "utf-8", len(framed))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	body, header := partsOf(tree.Root())
	var security xmltree.Elem
	for e := range header.Children() {
		security = e // the last
	}
	var signed strings.Builder
	signed.WriteString(`<ds:SignedInfo xmlns:ds="` + SignatureNS + `"><ds:CanonicalizationMethod Algorithm="` + exclusiveC14N +
		`"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="` + s.method + `"></ds:SignatureMethod>`)
	for e := range security.Children() {
		if id, given := e.Attr(UtilityNS, "Id"); given && id != tokenID {
			appendReference(&signed, id, e)
		}
	}
	appendReference(&signed, bodyID, body)
	signed.WriteString(`</ds:SignedInfo>`)
	sum := sha256.Sum256([]byte(signed.String())) // it is in canonical form already
	value, err := s.sign(sum[:])
	if err != nil {
		return nil, fmt.Errorf("sign the answer: %w", err)
	}
	_, at := security.Inner()
	out := make([]byte, 0, len(framed)+signed.Len()+len(value)*2+512)
	out = append(append(out, framed[:at]...), `<ds:Signature xmlns:ds="`+SignatureNS+`">`...)
	out = append(out, signed.String()...)
	out = base64.StdEncoding.AppendEncode(append(out, `<ds:SignatureValue>`...), value)
	out = append(out, `</ds:SignatureValue><ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI="#`+tokenID+`" ValueType="`+valueX509+
		`"/></wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature>`...)
	return append(out, framed[at:]...), nil
}

func appendReference(out *strings.Builder, id string, e xmltree.Elem) {
	h := sha256.New()
	write(h, &canonical{}, e) // a hash takes everything
	out.WriteString(`<ds:Reference URI="#` + id + `"><ds:Transforms><ds:Transform Algorithm="` + exclusiveC14N +
		`"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="` + xencNS + `sha256"></ds:DigestMethod><ds:DigestValue>` +
		base64.StdEncoding.EncodeToString(h.Sum(nil)) + `</ds:DigestValue></ds:Reference>`)
}

// frame writes the answer with what is to be signed: the Security header without
// the signature, and the Id of the Body.
func (s *Signer) frame(answer, confirm []byte, now time.Time) ([]byte, error) {
	tree, err := xmltree.ScanWithin(answer, "utf-8", len(answer))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	body, header := partsOf(tree.Root())
	if !body.Exists() {
		return nil, errors.New("the answer has no Body")
	}
	src := tree.Source()
	envelope := qualifier(tree.Root())
	bodyFrom, _ := body.Span()
	at, open, shut := bodyFrom, "<"+envelope+"Header>", "</"+envelope+"Header>"
	if header.Exists() {
		_, at = header.Inner()
		open, shut = "", ""
	}
	named := bodyFrom + len("<") + len(qualifier(body)) + len("Body")
	out := make([]byte, 0, len(src)+len(s.token)+1024)
	out = append(append(out, src[:at]...), open...)
	out = s.appendSecurity(out, confirm, now)
	out = append(append(out, shut...), src[at:named]...)
	out = append(out, ` xmlns:wsu="`+UtilityNS+`" wsu:Id="`+bodyID+`"`...)
	return append(out, src[named:]...), nil
}

func (s *Signer) appendSecurity(out, confirm []byte, now time.Time) []byte {
	out = append(out, `<wsse:Security xmlns:wsse="`+SecurityNS+`" xmlns:wsu="`+UtilityNS+`">`...)
	out = appendTimestamp(out, ` wsu:Id="`+timestampID+`"`, now)
	if confirm != nil {
		out = append(out, `<wsse11:SignatureConfirmation xmlns:wsse11="`+Security11+`" wsu:Id="confirmation" Value="`...)
		out = append(base64.StdEncoding.AppendEncode(out, confirm), `"></wsse11:SignatureConfirmation>`...)
	}
	out = append(out, `<wsse:BinarySecurityToken EncodingType="`+base64Encoding+`" ValueType="`+valueX509+`" wsu:Id="`+tokenID+`">`...)
	return append(append(out, s.token...), `</wsse:BinarySecurityToken></wsse:Security>`...)
}

// AppendTimestamp writes a Security header that holds a Timestamp alone, which
// .NET wants in the answer to a message that had one.
func AppendTimestamp(out []byte, now time.Time) []byte {
	out = append(out, `<wsse:Security xmlns:wsse="`+SecurityNS+`" xmlns:wsu="`+UtilityNS+`">`...)
	return append(appendTimestamp(out, "", now), `</wsse:Security>`...)
}

func appendTimestamp(out []byte, id string, now time.Time) []byte {
	const layout = "2006-01-02T15:04:05.000Z"
	out = append(append(append(out, `<wsu:Timestamp`...), id...), `><wsu:Created>`...)
	out = append(now.UTC().AppendFormat(out, layout), `</wsu:Created><wsu:Expires>`...)
	return append(now.Add(validity).UTC().AppendFormat(out, layout), `</wsu:Expires></wsu:Timestamp>`...)
}

// partsOf finds the Body and the Header of an envelope.
func partsOf(envelope xmltree.Elem) (body, header xmltree.Elem) {
	for e := range envelope.Children() {
		switch {
		case e.Is(envelope.Name().Space, "Body"):
			body = e
		case e.Is(envelope.Name().Space, "Header"):
			header = e
		}
	}
	return body, header
}

func qualifier(e xmltree.Elem) string {
	if e.Prefix() == "" {
		return ""
	}
	return e.Prefix() + ":"
}
