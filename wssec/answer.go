package wssec

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidings/xmltree"
)

// validity is how long an answer with a Timestamp is good for.
const validity = 5 * time.Minute

// signer signs with one key.
type signer struct {
	method string
	hash   crypto.Hash
	sign   func(sum []byte) ([]byte, error)
	token  string // the certificate
}

// signer is that of the key, which is RSA, P-256 or P-384.
func (k Key) signer() (*signer, error) {
	s := &signer{token: base64.StdEncoding.EncodeToString(k.Certificate.Raw), hash: crypto.SHA256}
	switch private := k.Private.(type) {
	case *rsa.PrivateKey:
		s.method = moreNS + "rsa-sha256"
		s.sign = func(sum []byte) ([]byte, error) { return rsa.SignPKCS1v15(nil, private, s.hash, sum) }
		return s, nil
	case *ecdsa.PrivateKey:
		s.method = moreNS + "ecdsa-sha256"
		if private.Curve == elliptic.P384() {
			s.method, s.hash = moreNS+"ecdsa-sha384", crypto.SHA384
		}
		s.sign = func(sum []byte) ([]byte, error) { return signECDSA(private, sum) }
		return s, nil
	}
	return nil, fmt.Errorf("a %T signs nothing here", k.Private)
}

// signECDSA returns r and s as XML Signature writes them.
func signECDSA(key *ecdsa.PrivateKey, sum []byte) ([]byte, error) {
	r, s, err := ecdsa.Sign(rand.Reader, key, sum)
	if err != nil {
		return nil, err
	}
	size := (key.Curve.Params().BitSize + 7) / 8
	value := make([]byte, 2*size)
	r.FillBytes(value[:size])
	s.FillBytes(value[size:])
	return value, nil
}

// The Ids of what an answer signs, besides those of confirmations.
const (
	bodyID      = "body"
	timestampID = "timestamp"
	tokenID     = "token"
)

// Sign returns the answer with a Security header that holds a Timestamp and a
// signature over it and the Body, by the first key of the ring, and over a
// SignatureConfirmation of the request's signature when confirm is not nil. The
// answer is an envelope without a Security header and without Ids.
func (r Keyring) Sign(answer, confirm []byte, now time.Time) ([]byte, error) {
	if len(r) == 0 {
		return nil, errors.New("there is no key to sign with")
	}
	s, err := r[0].signer()
	if err != nil {
		return nil, err
	}
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
	info := s.signedInfo(security, body)
	h := s.hash.New()
	h.Write([]byte(info)) // it is in canonical form already
	value, err := s.sign(h.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("sign the answer: %w", err)
	}
	_, at := security.Inner()
	out := make([]byte, 0, len(framed)+len(info)+len(value)*2+512)
	out = append(append(out, framed[:at]...), `<ds:Signature xmlns:ds="`+SignatureNS+`">`...)
	out = append(append(out, info...), `<ds:SignatureValue>`...)
	out = base64.StdEncoding.AppendEncode(out, value)
	out = append(out, `</ds:SignatureValue><ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI="#`+tokenID+`" ValueType="`+valueX509+
		`"/></wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature>`...)
	return append(out, framed[at:]...), nil
}

// signedInfo refers to the Body, and to all in the Security header but the token.
func (s *signer) signedInfo(security, body xmltree.Elem) string {
	var out strings.Builder
	out.WriteString(`<ds:SignedInfo xmlns:ds="` + SignatureNS + `"><ds:CanonicalizationMethod Algorithm="` + exclusiveC14N +
		`"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="` + s.method + `"></ds:SignatureMethod>`)
	for e := range security.Children() {
		if id, given := e.Attr(UtilityNS, "Id"); given && id != tokenID {
			appendReference(&out, id, e)
		}
	}
	appendReference(&out, bodyID, body)
	out.WriteString(`</ds:SignedInfo>`)
	return out.String()
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
func (s *signer) frame(answer, confirm []byte, now time.Time) ([]byte, error) {
	tree, err := xmltree.ScanWithin(answer, "utf-8", len(answer))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	body, header := partsOf(tree.Root())
	if !body.Exists() {
		return nil, errors.New("the answer has no Body")
	}
	src, envelope := tree.Source(), qualifier(tree.Root())
	bodyFrom, _ := body.Span()
	from, to, open, shut := bodyFrom, bodyFrom, "<"+envelope+"Header>", "</"+envelope+"Header>"
	if header.Exists() { // an empty one may have no end tag: it is written anew
		from, to = header.Span()
		if _, inner := header.Inner(); inner < to {
			from, to, open, shut = inner, inner, "", ""
		}
	}
	named := bodyFrom + len("<") + len(qualifier(body)) + len("Body")
	out := make([]byte, 0, len(src)+len(s.token)+1024)
	out = append(append(out, src[:from]...), open...)
	out = s.appendSecurity(out, confirm, now)
	out = append(append(out, shut...), src[to:named]...)
	out = append(out, ` xmlns:wsu="`+UtilityNS+`" wsu:Id="`+bodyID+`"`...)
	return append(out, src[named:]...), nil
}

func (s *signer) appendSecurity(out, confirm []byte, now time.Time) []byte {
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
	out = append(out, `<wsse:Security xmlns:wsse="`+SecurityNS+`">`...)
	return append(appendTimestamp(out, "", now), `</wsse:Security>`...)
}

func appendTimestamp(out []byte, id string, now time.Time) []byte {
	const layout = "2006-01-02T15:04:05.000Z"
	out = append(append(append(out, `<wsu:Timestamp xmlns:wsu="`+UtilityNS+`"`...), id...), `><wsu:Created>`...)
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
