package wssec_test

import (
	"crypto"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/wssec"
)

func TestEveryAlgorithmIsVerified(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		seal seal
	}{
		{"rsa-sha256", seal{pair: readPair(t, "partner")}},
		{"rsa-sha384", seal{pair: readPair(t, "partner"), method: more + "rsa-sha384", hash: crypto.SHA384}},
		{"rsa-sha512", seal{pair: readPair(t, "partner"), method: more + "rsa-sha512", hash: crypto.SHA512}},
		{"sha256-rsa-MGF1", seal{pair: readPair(t, "partner"), method: "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1", hash: crypto.SHA256}},
		{"ecdsa-sha256 on P-256", seal{pair: readPair(t, "partner-ec")}},
		{"ecdsa-sha384 on P-384", seal{pair: readPair(t, "partner-p384"), method: more + "ecdsa-sha384", hash: crypto.SHA384}},
		{"ecdsa-sha256 on P-384", seal{pair: readPair(t, "partner-p384")}},
		{"digests with SHA-384", seal{pair: readPair(t, "partner-ec"), digest: more + "sha384", sum: crypto.SHA384}},
		{"digests with SHA-512", seal{pair: readPair(t, "partner-ec"), digest: xenc + "sha512", sum: crypto.SHA512}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			data := test.seal.message(t, unsigned)
			m := parse(t, data)
			signed, err := wssec.Verify(m, trust{pinned: partners(t)}, sent)
			if err != nil {
				t.Fatal(err)
			}
			if !signed.Certificate.Equal(test.seal.cert) || !signed.Covers(m.Body) || signed.Until != sent.Add(6*time.Minute) {
				t.Errorf("%v until %v", signed.Certificate.Subject, signed.Until)
			}
		})
	}
}

func TestEveryReferenceToACertificateIsFollowed(t *testing.T) {
	t.Parallel()
	p := readPair(t, "partner")
	sum := sha1.Sum(p.cert.Raw)
	text := base64.StdEncoding.EncodeToString
	reference := func(content string) string {
		return `<wsse:SecurityTokenReference>` + content + `</wsse:SecurityTokenReference>`
	}
	issuer := func(name string) string {
		return reference(`<ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>` + name + `</ds:X509IssuerName><ds:X509SerialNumber> 4660 </ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data>`)
	}
	for name, keyInfo := range map[string]string{
		"direct":                    direct,
		"thumbprint":                reference(`<wsse:KeyIdentifier ValueType="http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#ThumbprintSHA1">` + text(sum[:]) + `</wsse:KeyIdentifier>`),
		"subject key identifier":    reference(`<wsse:KeyIdentifier ValueType="` + tokens + `X509SubjectKeyIdentifier">` + text(p.cert.SubjectKeyId) + `</wsse:KeyIdentifier>`),
		"key identifier with X.509": reference(`<wsse:KeyIdentifier ValueType="` + tokens + `X509v3">` + text(p.cert.Raw) + `</wsse:KeyIdentifier>`),
		"X509SKI":                   reference(`<ds:X509Data><ds:X509SKI>` + text(p.cert.SubjectKeyId) + `</ds:X509SKI></ds:X509Data>`),
		"X509Data without STR":      `<ds:X509Data><ds:X509Certificate>` + text(p.cert.Raw) + `</ds:X509Certificate></ds:X509Data>`,
		"embedded":                  reference(`<wsse:Embedded><wsse:BinarySecurityToken ValueType="` + tokens + `X509v3">` + text(p.cert.Raw) + `</wsse:BinarySecurityToken></wsse:Embedded>`),
		"issuer by RFC 2253":        issuer(`CN=partner,O=Example\, Inc.,C=DE`),
		"issuer with quotes":        issuer(`CN=partner, O="Example, Inc.", C=DE`),
		"issuer the other way":      issuer(`C=DE; O=Example\2C Inc.; CN=Partner`),
		"issuer with numbers":       issuer(`2.5.4.3=#1307706172746e6572,OID.2.5.4.10=Example\, Inc.,c=de`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := verify(t, seal{pair: p, keyInfo: keyInfo}.message(t, unsigned)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("another issuer", func(t *testing.T) {
		t.Parallel()
		_, err := verify(t, seal{pair: p, keyInfo: issuer(`CN=partner,O=Example,C=DE`)}.message(t, unsigned))
		refused(t, err, wssec.TokenUnavailable)
	})
}

// witness believes everybody and keeps the chain.
type witness struct{ chain []*x509.Certificate }

func (w *witness) Find(wssec.Name) []*x509.Certificate { return nil }

func (w *witness) Believe(chain []*x509.Certificate) (bool, error) {
	w.chain = chain
	return false, nil
}

func TestACertificatePathEndsWithTheSigner(t *testing.T) {
	t.Parallel()
	p, ca := readPair(t, "partner"), readPair(t, "other")
	path := func(certs ...*x509.Certificate) string {
		var raw []asn1.RawValue
		for _, cert := range certs {
			raw = append(raw, asn1.RawValue{FullBytes: cert.Raw})
		}
		der, err := asn1.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(unsigned, theToken, `<wsse:BinarySecurityToken wsu:Id="token" ValueType="`+tokens+`X509PKIPathv1">`+base64.StdEncoding.EncodeToString(der)+`</wsse:BinarySecurityToken>`, 1)
	}
	w := &witness{}
	signed, err := wssec.Verify(parse(t, seal{pair: p}.message(t, path(ca.cert, p.cert))), w, sent)
	if err != nil {
		t.Fatal(err)
	}
	if !signed.Certificate.Equal(p.cert) || len(w.chain) != 2 || !w.chain[1].Equal(ca.cert) {
		t.Errorf("signed by %v", signed.Certificate.Subject)
	}
	_, err = wssec.Verify(parse(t, seal{pair: p}.message(t, path(p.cert, ca.cert))), w, sent)
	refused(t, err, wssec.FailedCheck)
	_, err = wssec.Verify(parse(t, seal{pair: p}.message(t, path(slices.Repeat([]*x509.Certificate{p.cert}, 9)...))), w, sent)
	refused(t, err, wssec.InvalidSecurityToken)
}

func TestTheOrderOfTokenAndSignatureDoesNotMatter(t *testing.T) {
	t.Parallel()
	text := strings.Replace(strings.Replace(unsigned, theToken, "", 1), "SIGNATURE", "SIGNATURE"+theToken, 1)
	if _, err := verify(t, seal{pair: readPair(t, "partner")}.message(t, text)); err != nil {
		t.Error(err)
	}
}

func TestHeaderBlocksAndTokensMayBeSigned(t *testing.T) {
	t.Parallel()
	data := seal{pair: readPair(t, "partner"), ids: []string{"token", "other", "stamp", "body"}}.message(t, unsigned)
	m := parse(t, data)
	signed, err := wssec.Verify(m, trust{pinned: partners(t)}, sent)
	if err != nil || !signed.Covers(findID(m.Envelope, "other")) || !signed.Covers(findID(m.Envelope, "token")) {
		t.Error("what was signed is not covered", err)
	}
}

func TestUnqualifiedIdsCountOnElementsOfTheEnvelope(t *testing.T) {
	t.Parallel()
	text := strings.Replace(unsigned, `<soap:Body wsu:Id=`, `<soap:Body Id=`, 1)
	if _, err := verify(t, seal{pair: readPair(t, "partner")}.message(t, text)); err != nil {
		t.Error(err)
	}
}

func TestCommentsAndCDATAChangeNothing(t *testing.T) {
	t.Parallel()
	data := string(seal{pair: readPair(t, "partner")}.message(t, unsigned))
	data = strings.Replace(data, "alice", "al<!-- x --><![CDATA[ic]]>e", 1)
	signed, err := verify(t, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if m := parse(t, []byte(data)); !strings.Contains(exclusive(t, m.Body), "<p:to>alice</p:to>") {
		t.Error(signed, exclusive(t, m.Body))
	}
}

func TestTheSumIsOfWhatWasSigned(t *testing.T) {
	t.Parallel()
	s := seal{pair: readPair(t, "partner-ec")}
	first, err := verify(t, s.message(t, unsigned))
	if err != nil {
		t.Fatal(err)
	}
	again, err := verify(t, s.message(t, unsigned)) // ECDSA: another value
	if err != nil {
		t.Fatal(err)
	}
	other, err := verify(t, s.message(t, strings.Replace(unsigned, "alice", "bob", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if first.Sum != again.Sum || first.Sum == other.Sum || string(first.Value) == string(again.Value) {
		t.Error("the sum is not that of the signed content")
	}
}

// A certificate that is renewed often keeps its key: who has overheard a message
// must not get it through once more by putting the other one into it.
func TestTheSumIsTheSameForAnotherCertificateOfTheKey(t *testing.T) {
	t.Parallel()
	p := readPair(t, "partner-ec")
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(9), NotBefore: sent.Add(-time.Hour), NotAfter: sent.Add(time.Hour)}, p.cert, p.key.Public(), p.key)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	text, encode := string(seal{pair: p}.message(t, unsigned)), base64.StdEncoding.EncodeToString
	both := trust{pinned: []*x509.Certificate{p.cert, renewed}}
	first, err := wssec.Verify(parse(t, []byte(text)), both, sent)
	if err != nil {
		t.Fatal(err)
	}
	second, err := wssec.Verify(parse(t, []byte(strings.Replace(text, encode(p.cert.Raw), encode(der), 1))), both, sent)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Certificate.Equal(renewed) || first.Sum != second.Sum {
		t.Error("the sum is that of the certificate, too")
	}
}

func TestTheTimestampMustBeRecent(t *testing.T) {
	t.Parallel()
	m := parse(t, seal{pair: readPair(t, "partner")}.message(t, unsigned))
	for _, test := range []struct {
		after time.Duration
		good  bool
	}{{-2 * time.Minute, false}, {-30 * time.Second, true}, {5*time.Minute + 30*time.Second, true}, {7 * time.Minute, false}} {
		_, err := wssec.Verify(m, trust{pinned: partners(t)}, sent.Add(test.after))
		if test.good {
			if err != nil {
				t.Errorf("after %v: %v", test.after, err)
			}
			continue
		}
		refused(t, err, wssec.MessageExpired)
	}
	lasting := strings.Replace(unsigned, `<wsu:Expires>2026-11-20T12:05:00Z</wsu:Expires>`, `<wsu:Expires>2036-11-20T12:05:00Z</wsu:Expires>`, 1)
	m = parse(t, seal{pair: readPair(t, "partner")}.message(t, lasting))
	_, err := wssec.Verify(m, trust{pinned: partners(t)}, sent.Add(7*time.Minute))
	refused(t, err, wssec.MessageExpired)
}
