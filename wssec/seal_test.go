package wssec_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"tidings/wssec"
	"tidings/xmltree"
)

const (
	dsNS       = "http://www.w3.org/2000/09/xmldsig#"
	more       = "http://www.w3.org/2001/04/xmldsig-more#"
	xenc       = "http://www.w3.org/2001/04/xmlenc#"
	excC14N    = "http://www.w3.org/2001/10/xml-exc-c14n#"
	incC14N    = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
	tokens     = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#"
	envelope11 = "http://schemas.xmlsoap.org/soap/envelope/"
	strAlg     = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#STR-Transform"
	direct     = `<wsse:SecurityTokenReference wsu:Id="str"><wsse:Reference URI="#token" ValueType="` + tokens + `X509v3"/></wsse:SecurityTokenReference>`
	theToken   = `<wsse:BinarySecurityToken wsu:Id="token" ValueType="` + tokens + `X509v3">TOKEN</wsse:BinarySecurityToken>`
)

// sent is when the messages of these tests were made.
var sent = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// unsigned is a message before it is sealed: TOKEN and SIGNATURE are put in.
const unsigned = `<soap:Envelope xmlns:soap="` + envelope11 + `" xmlns:wsse="` + wssec.SecurityNS + `" xmlns:wsu="` + wssec.UtilityNS + `">` +
	`<soap:Header><x:Other xmlns:x="urn:x" wsu:Id="other">x</x:Other><wsse:Security>` + theToken +
	`<wsu:Timestamp wsu:Id="stamp"><wsu:Created>2026-11-20T12:00:00Z</wsu:Created><wsu:Expires>2026-11-20T12:05:00Z</wsu:Expires></wsu:Timestamp>SIGNATURE</wsse:Security></soap:Header>` +
	`<soap:Body wsu:Id="body"><p:Pay xmlns:p="urn:p"><p:to>alice</p:to><p:amount>1</p:amount></p:Pay></soap:Body></soap:Envelope>`

// seal is how a message is signed. The zero value with a pair signs the Body and
// the Timestamp with the method that is usual for the key.
type seal struct {
	pair
	method, digest string
	hash, sum      crypto.Hash
	ids            []string
	keyInfo        string
	edit           func(signedInfo string) string // before it is signed
}

func (s seal) withDefaults() seal {
	if s.digest == "" {
		s.digest, s.sum = xenc+"sha256", crypto.SHA256
	}
	if _, isRSA := s.key.(*rsa.PrivateKey); s.method == "" && isRSA {
		s.method, s.hash = more+"rsa-sha256", crypto.SHA256
	} else if s.method == "" {
		s.method, s.hash = more+"ecdsa-sha256", crypto.SHA256
	}
	if s.ids == nil {
		s.ids = []string{"body", "stamp"}
	}
	if s.keyInfo == "" {
		s.keyInfo = direct
	}
	return s
}

// message returns a message of the text, signed.
func (s seal) message(tb testing.TB, text string) []byte {
	tb.Helper()
	s = s.withDefaults()
	text = strings.Replace(text, "TOKEN", base64.StdEncoding.EncodeToString(s.cert.Raw), 1)
	doc := root(tb, []byte(text))
	info := `<ds:SignedInfo xmlns:ds="` + dsNS + `"><ds:CanonicalizationMethod Algorithm="` + excC14N + `"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="` +
		s.method + `"></ds:SignatureMethod>`
	for _, id := range s.ids {
		info += s.reference(tb, doc, id)
	}
	info += `</ds:SignedInfo>`
	if s.edit != nil {
		info = s.edit(info)
	}
	value := s.sign(tb, []byte(info))
	return []byte(strings.Replace(text, "SIGNATURE", `<ds:Signature xmlns:ds="`+dsNS+`">`+info+`<ds:SignatureValue>`+base64.StdEncoding.EncodeToString(value)+
		`</ds:SignatureValue><ds:KeyInfo>`+s.keyInfo+`</ds:KeyInfo></ds:Signature>`, 1))
}

func (s seal) reference(tb testing.TB, doc xmltree.Elem, id string) string {
	tb.Helper()
	h := s.sum.New()
	if e := findID(doc, id); e.Exists() {
		if err := wssec.Canonical(h, e); err != nil {
			tb.Fatal(err)
		}
	}
	return `<ds:Reference URI="#` + id + `"><ds:Transforms><ds:Transform Algorithm="` + excC14N + `"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="` +
		s.digest + `"></ds:DigestMethod><ds:DigestValue>` + base64.StdEncoding.EncodeToString(h.Sum(nil)) + `</ds:DigestValue></ds:Reference>`
}

func (s seal) sign(tb testing.TB, data []byte) []byte {
	tb.Helper()
	h := s.hash.New()
	h.Write(data)
	sum := h.Sum(nil)
	var value []byte
	var err error
	switch k := s.key.(type) {
	case *rsa.PrivateKey:
		if strings.HasSuffix(s.method, "MGF1") {
			value, err = rsa.SignPSS(rand.Reader, k, s.hash, sum, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		} else {
			value, err = rsa.SignPKCS1v15(nil, k, s.hash, sum)
		}
	case hmacKey:
		mac := hmac.New(sha256.New, k.known)
		mac.Write(data)
		value = mac.Sum(nil)
	case asn1Key:
		value, err = k.Sign(rand.Reader, sum, s.hash)
	case *ecdsa.PrivateKey:
		size := (k.Curve.Params().BitSize + 7) / 8
		r, t, e := ecdsa.Sign(rand.Reader, k, sum)
		value, err = make([]byte, 2*size), e
		r.FillBytes(value[:size])
		t.FillBytes(value[size:])
	}
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

// find returns the first element with an Id of either kind.
func findID(e xmltree.Elem, id string) xmltree.Elem {
	for _, space := range []string{"", wssec.UtilityNS} {
		if value, given := e.Attr(space, "Id"); given && value == id {
			return e
		}
	}
	for child := range e.Children() {
		if found := findID(child, id); found.Exists() {
			return found
		}
	}
	return xmltree.Elem{}
}

// verify verifies a message of these tests, believing its usual partners.
func verify(tb testing.TB, data []byte) (*wssec.Signed, error) {
	tb.Helper()
	m, err := parts(data)
	if err != nil {
		return nil, err
	}
	return wssec.Verify(m, trust{pinned: partners(tb)}, sent.Add(time.Minute))
}
