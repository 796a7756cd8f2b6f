package wssec_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"tidings/wssec"
)

// A forger has a message that was signed and changes it, or wraps what was signed
// in a message of their own.
func TestWrappedAndTamperedMessagesAreRefused(t *testing.T) {
	t.Parallel()
	data := string(seal{pair: readPair(t, "partner")}.message(t, unsigned))
	if _, err := verify(t, []byte(data)); err != nil {
		t.Fatal(err)
	}
	from, to := strings.Index(data, "<soap:Body"), strings.Index(data, "</soap:Body>")+len("</soap:Body>")
	body := data[from:to]
	forged := strings.NewReplacer("alice", "mallory").Replace(body)
	unnamed := strings.Replace(forged, ` wsu:Id="body"`, "", 1)
	renamed := strings.Replace(forged, `"body"`, `"forged"`, 1)
	put := func(before, what, newBody string) string {
		return strings.Replace(strings.Replace(data, body, newBody, 1), before, what+before, 1)
	}
	const security, header = "</wsse:Security>", "</soap:Header>"
	for name, text := range map[string]string{
		"changed text":                              strings.Replace(data, "alice", "mallory", 1),
		"an element more":                           strings.Replace(data, "</p:amount>", "</p:amount><p:amount>2</p:amount>", 1),
		"an attribute more":                         strings.Replace(data, "<p:to>", `<p:to a="">`, 1),
		"the body in a header block":                put(header, `<w:Wrapper xmlns:w="urn:w">`+body+`</w:Wrapper>`, renamed),
		"the body in a header block, none named":    put(header, `<w:Wrapper xmlns:w="urn:w">`+body+`</w:Wrapper>`, unnamed),
		"the body in Security":                      put(security, body, renamed),
		"the body in an element of Security":        put(security, `<w:Wrapper xmlns:w="urn:w">`+body+`</w:Wrapper>`, renamed),
		"the body as a header block":                put(header, body, renamed),
		"the body in the signature":                 put("</ds:Signature>", `<ds:Object>`+body+`</ds:Object>`, renamed),
		"the body within the body":                  strings.Replace(data, body, strings.Replace(renamed, "</soap:Body>", body+"</soap:Body>", 1), 1),
		"two bodies, the signed one first":          strings.Replace(data, body, body+renamed, 1),
		"two bodies, the signed one last":           strings.Replace(data, body, renamed+body, 1),
		"two elements with one Id":                  put(header, `<w:Wrapper xmlns:w="urn:w">`+body+`</w:Wrapper>`, forged),
		"two elements with one Id, one unqualified": put(header, body, strings.Replace(forged, "wsu:Id", "Id", 1)),
		"an Id of an undeclared prefix":             put(header, body, strings.Replace(forged, "wsu:Id", "v:Id", 1)),
		"an Id of a foreign namespace":              strings.Replace(data, `<soap:Body wsu:Id=`, `<soap:Body xmlns:f="urn:f" f:Id=`, 1),
		"an unqualified Id in the payload":          put(header, `<w:Wrapper xmlns:w="urn:w" Id="body">`+body[strings.Index(body, ">")+1:len(body)-len("</soap:Body>")]+`</w:Wrapper>`, unnamed),
		"xml:id instead of Id":                      strings.Replace(data, `<soap:Body wsu:Id=`, `<soap:Body xml:id=`, 1),
		"the prefix wsu bound to something else":    strings.Replace(data, `<soap:Body wsu:Id=`, `<soap:Body xmlns:wsu="urn:other" wsu:Id=`, 1),
		"a second Security header":                  strings.Replace(data, header, `<wsse:Security/>`+header, 1),
		"a second signature":                        strings.Replace(data, security, data[strings.Index(data, "<ds:Signature "):strings.Index(data, security)]+security, 1),
		"a second Timestamp":                        strings.Replace(data, "<wsu:Timestamp ", `<wsu:Timestamp><wsu:Created>2026-11-20T12:01:00Z</wsu:Created></wsu:Timestamp><wsu:Timestamp `, 1),
		"a document type":                           `<!DOCTYPE soap:Envelope [<!ATTLIST p:Pay Id ID #IMPLIED>]>` + data,
		"an attribute twice":                        strings.Replace(data, `<soap:Body wsu:Id="body"`, `<soap:Body wsu:Id="body" wsu:Id="forged"`, 1),
		"an attribute twice, by two prefixes":       strings.Replace(data, `<soap:Body wsu:Id="body"`, `<soap:Body xmlns:v="`+wssec.UtilityNS+`" wsu:Id="body" v:Id="forged"`, 1),
		"an inner prefix bound to something else":   strings.Replace(data, `xmlns:p="urn:p"`, `xmlns:p="urn:other"`, 1),
		"a Timestamp that was changed":              strings.Replace(data, "12:05:00Z", "13:05:00Z", 1),
		"another value of the signature":            strings.Replace(data, "<ds:SignatureValue>", "<ds:SignatureValue>AAAA", 1),
		"no signature value":                        data[:strings.Index(data, "<ds:SignatureValue>")] + "<ds:SignatureValue></ds:SignatureValue>" + data[strings.Index(data, "<ds:KeyInfo>"):],
		"a digest for what was changed":             rehash(t, data),
		"no signature":                              data[:strings.Index(data, "<ds:Signature ")] + data[strings.Index(data, "</ds:Signature>")+len("</ds:Signature>"):],
		"a signature within an element of Security": strings.Replace(strings.Replace(data, "<ds:Signature ", `<w:W xmlns:w="urn:w"><ds:Signature `, 1), "</ds:Signature>", "</ds:Signature></w:W>", 1),
		"no Timestamp":                              data[:strings.Index(data, "<wsu:Timestamp")] + data[strings.Index(data, "<ds:Signature "):],
		"a token that leads elsewhere":              strings.Replace(data, `URI="#token"`, `URI="#other"`, 1),
		"a token outside of the header":             strings.Replace(strings.Replace(data, token(t, data), "", 1), header, token(t, data)+header, 1),
		"a key by name":                             strings.Replace(data, direct, `<ds:KeyName>partner</ds:KeyName>`, 1),
		"a key in the message":                      strings.Replace(data, direct, keyValue(t), 1),
		"a key by an address":                       strings.Replace(data, direct, `<ds:RetrievalMethod URI="http://127.0.0.1:1/"/>`, 1),
		"the certificate of another partner":        strings.Replace(data, token(t, data), tokenOf(readPair(t, "partner-ec").cert), 1),
		"the certificate of a stranger":             strings.Replace(data, token(t, data), tokenOf(readPair(t, "other").cert), 1),
		"two references to certificates":            strings.Replace(data, direct, direct+strings.Replace(direct, `wsu:Id="str"`, "", 1), 1),
		"text in KeyInfo":                           strings.Replace(data, direct, direct+"x", 1),
		"an element in a digest":                    strings.Replace(data, "<ds:DigestValue>", "<ds:DigestValue><x/>", 1),
		"a transform more":                          strings.Replace(data, "</ds:Transforms>", `<ds:Transform Algorithm="`+excC14N+`"></ds:Transform></ds:Transforms>`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if text == data {
				t.Fatal("the message was not changed")
			}
			start := time.Now()
			if _, err := verify(t, []byte(text)); err == nil {
				t.Error("it was accepted")
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A partner signs what may not be signed, or in a way in which it may not. The
// signatures themselves are right.
func TestPartnersCannotSignAsTheyLike(t *testing.T) {
	t.Parallel()
	p := readPair(t, "partner")
	replace := func(old, by string) func(string) string {
		return func(info string) string { return strings.Replace(info, old, by, 1) }
	}
	const transform = `<ds:Transform Algorithm="` + excC14N + `"></ds:Transform>`
	for name, test := range map[string]struct {
		seal  seal
		text  string
		codes []wssec.Code
	}{
		"the Body is not covered":         {seal: seal{ids: []string{"stamp"}}},
		"the Timestamp is not covered":    {seal: seal{ids: []string{"body"}}},
		"the payload instead of the Body": {seal: seal{ids: []string{"pay", "stamp"}}, text: strings.Replace(unsigned, "<p:Pay ", `<p:Pay wsu:Id="pay" `, 1)},
		"a part of a header block":        {seal: seal{ids: []string{"body", "stamp", "inner"}}, text: strings.Replace(unsigned, ">x</x:Other>", `><x:in wsu:Id="inner"/></x:Other>`, 1)},
		"the Header":                      {seal: seal{ids: []string{"body", "stamp", "header"}}, text: strings.Replace(unsigned, "<soap:Header>", `<soap:Header wsu:Id="header">`, 1)},
		"the Envelope":                    {seal: seal{ids: []string{"body", "stamp", "all"}}, text: strings.Replace(unsigned, "<soap:Envelope ", `<soap:Envelope wsu:Id="all" `, 1)},
		"the Security header":             {seal: seal{ids: []string{"body", "stamp", "security"}}, text: strings.Replace(unsigned, "<wsse:Security>", `<wsse:Security wsu:Id="security">`, 1)},
		"an empty URI":                    {seal: seal{edit: replace(`URI="#body"`, `URI=""`)}},
		"no URI":                          {seal: seal{edit: replace(` URI="#body"`, ``)}},
		"an external URI":                 {seal: seal{edit: replace(`URI="#body"`, `URI="http://127.0.0.1:1/x"`)}},
		"a file":                          {seal: seal{edit: replace(`URI="#body"`, `URI="file:///etc/passwd"`)}},
		"an XPointer":                     {seal: seal{edit: replace(`URI="#body"`, `URI="#xpointer(id('body'))"`)}},
		"an unknown Id":                   {seal: seal{ids: []string{"body", "stamp", "nothing"}}},
		"an attachment":                   {seal: seal{edit: replace(`URI="#body"`, `URI="cid:body"`)}},
		"the same twice":                  {seal: seal{ids: []string{"body", "body", "stamp"}}},
		"the same by two Ids":             {seal: seal{ids: []string{"body", "again", "stamp"}}, text: strings.Replace(unsigned, `<soap:Body wsu:Id="body">`, `<soap:Body wsu:Id="body" Id="again">`, 1)},
		"two elements with one Id":        {text: strings.Replace(unsigned, "<p:Pay ", `<p:Pay wsu:Id="body" `, 1)},
		"XSLT":                            {seal: seal{edit: replace(transform, `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"></ds:Transform>`+transform)}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"XPath":                           {seal: seal{edit: replace(transform, `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>0</ds:XPath></ds:Transform>`+transform)}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"XPath Filter 2":                  {seal: seal{edit: replace(transform, `<ds:Transform Algorithm="http://www.w3.org/2002/06/xmldsig-filter2"></ds:Transform>`)}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"base64":                          {seal: seal{edit: replace(transform, `<ds:Transform Algorithm="`+dsNS+`base64"></ds:Transform>`)}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"with comments":                   {seal: seal{edit: replace(transform, `<ds:Transform Algorithm="`+excC14N+`WithComments"></ds:Transform>`)}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"three transforms":                {seal: seal{edit: replace(transform, strings.Repeat(`<ds:Transform Algorithm="`+dsNS+`enveloped-signature"></ds:Transform>`, 2)+transform)}},
		"an STR-Transform of the Body":    {seal: seal{edit: replace(transform, `<ds:Transform Algorithm="`+strAlg+`"><wsse:TransformationParameters xmlns:wsse="`+wssec.SecurityNS+`"><ds:CanonicalizationMethod Algorithm="`+excC14N+`"></ds:CanonicalizationMethod></wsse:TransformationParameters></ds:Transform>`)}},
		"a Manifest":                      {seal: seal{edit: replace(`<ds:Reference `, `<ds:Manifest></ds:Manifest><ds:Reference `)}},
		"many prefixes":                   {seal: seal{edit: replace(transform, `<ds:Transform Algorithm="`+excC14N+`"><ec:InclusiveNamespaces xmlns:ec="`+excC14N+`" PrefixList="`+strings.Repeat("p ", 65)+`"></ec:InclusiveNamespaces></ds:Transform>`)}},
		"many references":                 {seal: seal{ids: many(17)}, text: blocks(17)},
		"very many references":            {seal: seal{ids: many(500)}, text: blocks(500)},
		"HMAC with the public key":        {seal: seal{pair: pair{hmacKey{p.key, p.cert.Raw}, p.cert}, method: dsNS + "hmac-sha1", hash: crypto.SHA256}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"a length of the HMAC":            {seal: seal{edit: replace(`rsa-sha256"></ds:SignatureMethod>`, `rsa-sha256"><ds:HMACOutputLength>1</ds:HMACOutputLength></ds:SignatureMethod>`)}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"SHA-1":                           {seal: seal{method: dsNS + "rsa-sha1", hash: crypto.SHA1}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"digests with SHA-1":              {seal: seal{digest: dsNS + "sha1", sum: crypto.SHA1}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"MD5":                             {seal: seal{method: more + "rsa-md5", hash: crypto.SHA256}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"DSA":                             {seal: seal{method: dsNS + "dsa-sha1", hash: crypto.SHA256}, codes: []wssec.Code{wssec.UnsupportedAlgorithm}},
		"a key of another kind":           {seal: seal{method: more + "ecdsa-sha256", hash: crypto.SHA256}, codes: []wssec.Code{wssec.FailedCheck}},
		"ASN.1 instead of r and s":        {seal: seal{pair: pair{asn1Key{readPair(t, "partner-ec").key}, readPair(t, "partner-ec").cert}, method: more + "ecdsa-sha256", hash: crypto.SHA256}, codes: []wssec.Code{wssec.FailedCheck}},
		"inclusive form without one":      {seal: seal{edit: replace(transform, ``)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.seal.key == nil {
				test.seal.pair = p
			}
			if test.text == "" {
				test.text = unsigned
			}
			data := test.seal.message(t, test.text)
			start := time.Now()
			_, err := verify(t, data)
			if err == nil {
				t.Fatal("it was accepted")
			}
			if len(test.codes) > 0 {
				refused(t, err, test.codes...)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// Keys of strangers are not used, and those that would cost too much are refused
// before anybody is asked about them.
func TestHugeKeysAreRefusedInBoundedTime(t *testing.T) {
	t.Parallel()
	small := newRSA(t, 1024, 65537)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	everybody := believer{}
	for name, cert := range map[string]*x509.Certificate{
		"a modulus of 1,024 bits":   selfSigned(t, &small.PublicKey, p256),
		"a modulus of 65,536 bits":  selfSigned(t, &rsa.PublicKey{N: odd(65536), E: 65537}, p256),
		"a huge exponent":           selfSigned(t, &rsa.PublicKey{N: odd(8192), E: 1<<31 - 1}, p256),
		"a curve that is not known": selfSigned(t, &mustECDSA(t, elliptic.P224()).PublicKey, p256),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := seal{pair: pair{p256, cert}, method: more + "rsa-sha256", hash: crypto.SHA256}.message(t, unsigned)
			start := time.Now()
			_, err := wssec.Verify(parse(t, data), everybody, sent)
			if err == nil {
				t.Error("it was accepted")
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// What is refused before a certificate is believed costs its sender more than us.
func TestStrangersAreAskedAboutBeforeTheirKeysAreUsed(t *testing.T) {
	t.Parallel()
	data := seal{pair: readPair(t, "other")}.message(t, unsigned)
	_, err := verify(t, data)
	refused(t, err, wssec.FailedAuthentication)
	broken := strings.Replace(string(data), "alice", "mallory", 1)
	_, err = verify(t, []byte(broken))
	refused(t, err, wssec.FailedAuthentication)
}

func TestAPrefixInAValueIsProtectedByThePrefixList(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/foreign/wss4j-direct.xml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `xmlns:xsd="http://www.w3.org/2001/XMLSchema"`, `xmlns:xsd="urn:other"`, 1)
	m := parse(t, []byte(text))
	_, err = wssec.Verify(m, trust{pinned: partners(t)}, created(t, m))
	refused(t, err, wssec.FailedCheck)
}

// believer believes everybody.
type believer struct{}

func (believer) Find(wssec.Name) []*x509.Certificate              { return nil }
func (believer) Believe([]*x509.Certificate) (sha1 bool, _ error) { return true, nil }

// hmacKey signs by HMAC, with a key that everybody knows: the certificate.
type hmacKey struct {
	crypto.Signer
	known []byte
}

// asn1Key is a key whose signatures are written as ASN.1.
type asn1Key struct{ crypto.Signer }

func many(n int) []string {
	ids := []string{"body", "stamp"}
	for i := range n - 2 {
		ids = append(ids, fmt.Sprint("b", i))
	}
	return ids
}

func blocks(n int) string {
	var out strings.Builder
	for i := range n - 2 {
		fmt.Fprintf(&out, `<x:B xmlns:x="urn:x" wsu:Id="b%d"/>`, i)
	}
	return strings.Replace(unsigned, "<soap:Header>", "<soap:Header>"+out.String(), 1)
}

// rehash changes the message and puts the right digest into the reference.
func rehash(tb testing.TB, data string) string {
	tb.Helper()
	digest := func(text string) string {
		h := sha256.New()
		if err := wssec.Canonical(h, parse(tb, []byte(text)).Body); err != nil {
			tb.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(h.Sum(nil))
	}
	changed := strings.Replace(data, "alice", "mallory", 1)
	return strings.Replace(changed, digest(data), digest(changed), 1)
}

func token(tb testing.TB, data string) string {
	tb.Helper()
	from, to := strings.Index(data, "<wsse:BinarySecurityToken"), strings.Index(data, "</wsse:BinarySecurityToken>")
	return data[from : to+len("</wsse:BinarySecurityToken>")]
}

func tokenOf(cert *x509.Certificate) string {
	return strings.Replace(theToken, "TOKEN", base64.StdEncoding.EncodeToString(cert.Raw), 1)
}

func keyValue(tb testing.TB) string {
	tb.Helper()
	k := readPair(tb, "partner").key.Public().(*rsa.PublicKey)
	return `<ds:KeyValue><ds:RSAKeyValue><ds:Modulus>` + base64.StdEncoding.EncodeToString(k.N.Bytes()) + `</ds:Modulus><ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>`
}

func newRSA(tb testing.TB, bits, e int) *rsa.PrivateKey {
	tb.Helper()
	p, err := rand.Prime(rand.Reader, bits/2)
	if err != nil {
		tb.Fatal(err)
	}
	q, err := rand.Prime(rand.Reader, bits/2)
	if err != nil {
		tb.Fatal(err)
	}
	return &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: e}}
}

func odd(bits int) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return n.Add(n, big.NewInt(1))
}

func mustECDSA(tb testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	tb.Helper()
	k, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// selfSigned is a certificate for a key, by another.
func selfSigned(tb testing.TB, public any, by *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	t := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: sent.AddDate(-1, 0, 0), NotAfter: sent.AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, t, t, public, by)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}
