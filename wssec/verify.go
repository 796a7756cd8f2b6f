package wssec

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"io"
	"slices"
	"time"

	"tidings/xmltree"
)

// Namespaces of envelopes, whose elements may bear Ids.
const (
	soap11NS = "http://schemas.xmlsoap.org/soap/envelope/"
	soap12NS = "http://www.w3.org/2003/05/soap-envelope"
)

// Message is an envelope whose parts were found by who carries it out: those
// very elements are what a signature must cover.
type Message struct {
	Envelope, Body xmltree.Elem
	Security       xmltree.Elem // the header for us, a child of the Header
}

// Trust says whose signatures count. Its methods may run concurrently.
type Trust interface {
	// Find returns the certificates, of those known, that a name may mean.
	Find(Name) []*x509.Certificate
	// Believe returns an error unless the owner of a chain is known and the
	// chain valid now; it begins with the signer's own certificate. The owner may be
	// allowed to sign with SHA-1. That the signer has the key is proved later.
	Believe(chain []*x509.Certificate) (allowSHA1 bool, err error)
}

// Signed is what a signature proves.
type Signed struct {
	Certificate *x509.Certificate // of who signed
	// Sum is of all that was signed, and of the key. It is the same for the same
	// message sent again, whatever was done to the value of its signature and
	// whichever certificate of the key is named: remember it to refuse replays
	// until Until.
	Sum   [sha256.Size]byte
	Until time.Time
	// Value is the SignatureValue, which an answer may confirm.
	Value []byte
	// Eleven says that the sender knows WS-Security 1.1.
	Eleven  bool
	covered []xmltree.Elem
}

// Covers reports whether the signature covers an element with all that is in it,
// attributes and text included, as a whole or within one around it.
func (s *Signed) Covers(e xmltree.Elem) bool {
	for ; e.Exists(); e = e.Parent() {
		if slices.Contains(s.covered, e) {
			return true
		}
	}
	return false
}

// Verify checks the one signature of a message. It must cover the Body and the
// Timestamp, which must be recent, and may cover header blocks and what stands in
// the Security header besides; nothing else, and by no other transform than the
// canonical forms and the STR-Transform. The error is an *Error.
//
// A message without a signature is refused as well: whether there is one is
// asked by HasSignature. Work is bounded: keys of strangers are not used, and no
// element is canonicalised twice.
func Verify(m Message, t Trust, now time.Time) (*Signed, error) {
	element, stamp, err := signedParts(m)
	if err != nil {
		return nil, err
	}
	s, err := readSignature(element)
	if err != nil {
		return nil, err
	}
	ids, err := elementsByID(m.Envelope)
	if err != nil {
		return nil, err
	}
	token, err := keyFinder{m.Security, ids, t.Find}.token(s.keyInfo)
	if err != nil {
		return nil, err
	}
	v := &verification{Message: m, signature: s, ids: ids, token: token}
	if err := v.believe(t); err != nil {
		return nil, err
	}
	if err := v.checkSignedInfo(); err != nil {
		return nil, err
	}
	if err := v.checkReferences(stamp); err != nil {
		return nil, err
	}
	until, err := checkSignedTime(stamp, now)
	if err != nil {
		return nil, err
	}
	return &Signed{
		Certificate: token.chain[0], Sum: v.sum, Until: until, Value: s.value,
		Eleven: knowsEleven(m.Security), covered: v.covered,
	}, nil
}

// HasSignature reports whether a Security header holds a signature.
func HasSignature(security xmltree.Elem) bool {
	for e := range security.Children() {
		if e.Is(SignatureNS, "Signature") {
			return true
		}
	}
	return false
}

// signedParts finds the signature and the Timestamp, each of which there must be
// exactly one of.
func signedParts(m Message) (signature, stamp xmltree.Elem, err error) {
	for e := range m.Security.Children() {
		switch {
		case e.Is(SignatureNS, "Signature") && !signature.Exists():
			signature = e
		case e.Is(UtilityNS, "Timestamp") && !stamp.Exists():
			stamp = e
		case e.Is(SignatureNS, "Signature"), e.Is(UtilityNS, "Timestamp"):
			return signature, stamp, refuse(InvalidSecurity, "the header holds more than one %s", e.Name().Local)
		}
	}
	if !signature.Exists() || !stamp.Exists() {
		return signature, stamp, refuse(InvalidSecurity, "a signed message needs a Signature and a Timestamp")
	}
	return signature, stamp, nil
}

// knowsEleven reports whether something of WS-Security 1.1 stands in the header.
func knowsEleven(e xmltree.Elem) bool {
	if e.Name().Space == Security11 {
		return true
	}
	for a := range e.Attributes() {
		if a.Name.Space == Security11 || a.Name.Local == "ValueType" && a.Value == valueThumbSHA1 {
			return true
		}
	}
	for child := range e.Children() {
		if knowsEleven(child) {
			return true
		}
	}
	return false
}

// verification is the check of one signature.
type verification struct {
	Message
	*signature
	ids     map[string]xmltree.Elem
	token   token
	weak    bool // SHA-1 is allowed
	sum     [sha256.Size]byte
	seen    []xmltree.Elem // that references lead to
	covered []xmltree.Elem
}

// believe asks whether the signer is known before the key is used.
func (v *verification) believe(t Trust) error {
	for _, cert := range v.token.chain {
		if err := checkKey(cert); err != nil {
			return &Error{InvalidSecurityToken, "a certificate is refused", err}
		}
	}
	weak, err := t.Believe(v.token.chain)
	if err != nil {
		return &Error{FailedAuthentication, "the signer is not believed", err}
	}
	v.weak = weak
	return nil
}

func (v *verification) checkSignedInfo() error {
	if v.method.hash == crypto.SHA1 && !v.weak {
		return refuse(UnsupportedAlgorithm, "SHA-1 is not allowed in signatures of this partner")
	}
	h, all := v.method.hash.New(), sha256.New()
	if err := write(io.MultiWriter(h, all), &canonical{all: v.form.inclusive, inclusive: v.form.prefixes}, v.signedInfo); err != nil {
		return err
	}
	cert := v.token.chain[0]
	all.Write(cert.RawSubjectPublicKeyInfo)
	all.Sum(v.sum[:0])
	if err := v.method.verify(cert.PublicKey, v.method.hash, h.Sum(nil), v.value); err != nil {
		return &Error{FailedCheck, "the signature is not one of its certificate", err}
	}
	return nil
}

// checkReferences holds what is signed against what must and what may be.
func (v *verification) checkReferences(stamp xmltree.Elem) error {
	for _, r := range v.references {
		if r.hash == crypto.SHA1 && !v.weak {
			return refuse(UnsupportedAlgorithm, "SHA-1 is not allowed in digests of this partner")
		}
		e, err := v.target(r)
		if err != nil {
			return err
		}
		same, err := v.matches(r, e)
		if err != nil {
			return err
		}
		if !same {
			return refuse(FailedCheck, "%s %.100q was changed after it was signed", e.Name().Local, r.uri)
		}
		v.seen = append(v.seen, e)
		if r.dereferenced {
			e = v.token.element
		}
		v.covered = append(v.covered, e)
	}
	for _, must := range []xmltree.Elem{v.Body, stamp} {
		if !slices.Contains(v.covered, must) {
			return refuse(FailedCheck, "the signature does not cover the %s", must.Name().Local)
		}
	}
	return nil
}

// target is the element of a reference. Its place decides whether it may be
// signed: the Body, a header block, a part of the Security header, or the
// reference to the token.
func (v *verification) target(r reference) (xmltree.Elem, error) {
	e, err := lookUp(v.ids, r.uri)
	if err != nil {
		return e, err
	}
	var allowed bool
	switch header := v.Security.Parent(); {
	case r.dereferenced:
		allowed = e == v.token.reference
	case e == v.Security, e == v.keyInfo.Parent():
	case e == v.Body, e.Parent() == header, e.Parent() == v.Security, e == v.token.reference:
		allowed = e.Exists()
	}
	if !allowed || slices.Contains(v.seen, e) {
		return e, refuse(FailedCheck, "%s %.100q stands where nothing is signed, or is signed twice", e.Name().Local, r.uri)
	}
	return e, nil
}

// matches reports whether an element has the digest of its reference.
func (v *verification) matches(r reference, e xmltree.Elem) (bool, error) {
	if !r.dereferenced {
		return r.matches(e, false), nil
	}
	// The STR-Transform makes of the reference the token that it leads to.
	if v.token.element.Exists() {
		return r.matches(v.token.element, true), nil
	}
	for _, encoded := range []bool{true, false} {
		made, err := v.makeUpToken(encoded)
		if err != nil {
			return false, err
		}
		if r.matches(made, true) {
			return true, nil
		}
	}
	return false, nil
}

func (r reference) matches(e xmltree.Elem, undone bool) bool {
	h := r.hash.New()
	c := canonical{all: r.form.inclusive, inclusive: r.form.prefixes, undone: undone}
	return write(h, &c, e) == nil && bytes.Equal(h.Sum(nil), r.digest)
}

// makeUpToken writes the token for a reference to a certificate that the message
// does not hold. encoded has it repeat the EncodingType of the reference: some
// stacks do that, others do not.
func (v *verification) makeUpToken(encoded bool) (xmltree.Elem, error) {
	name, declaration := "BinarySecurityToken", "xmlns"
	if prefix := v.token.reference.Prefix(); prefix != "" {
		name, declaration = prefix+":"+name, "xmlns:"+prefix
	}
	text := []byte("<" + name + " " + declaration + `="` + SecurityNS + `" ValueType="` + valueX509 + `"`)
	for child := range v.token.reference.Children() {
		if encoding, given := child.Attr("", "EncodingType"); given && encoded {
			text = append(xmltree.AppendText(append(text, ` EncodingType="`...), encoding), '"')
		}
	}
	text = base64.StdEncoding.AppendEncode(append(text, '>'), v.token.chain[0].Raw)
	tree, err := xmltree.Scan(append(text, "</"+name+">"...), "utf-8")
	if err != nil {
		return xmltree.Elem{}, &Error{InvalidSecurity, "the token of a reference cannot be made up", err}
	}
	return tree.Root(), nil
}
