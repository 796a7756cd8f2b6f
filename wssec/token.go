package wssec

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"slices"

	"tidings/xmltree"
)

// pkiPath is a token with a path of certificates; valueX509 is one with a single one.
const pkiPath = tokenProfile + "X509PKIPathv1"

// maxChain is how many certificates a token may hold.
const maxChain = 8

// Name is how a message names a certificate that it does not hold: by one of
// three.
type Name struct {
	Thumbprint []byte   // SHA-1 of the certificate (DER)
	KeyID      []byte   // its SubjectKeyIdentifier
	Serial     *big.Int // its serial number; who issued it is compared here
}

// token is what a KeyInfo leads to.
type token struct {
	chain []*x509.Certificate // the signer's first, then what else came
	// element is the BinarySecurityToken that the message holds, none when
	// reference, a SecurityTokenReference, names a certificate by something else.
	element   xmltree.Elem
	reference xmltree.Elem
}

// readBinaryToken reads a BinarySecurityToken: a certificate, or a path of them.
func readBinaryToken(e xmltree.Elem) ([]*x509.Certificate, error) {
	if encoding, given := e.Attr("", "EncodingType"); given && encoding != base64Encoding {
		return nil, refuse(UnsupportedSecurityToken, "the encoding %.200q of a token", encoding)
	}
	data, err := binary(e)
	if err != nil {
		return nil, &Error{InvalidSecurityToken, "a BinarySecurityToken cannot be read", err}
	}
	switch kind, _ := e.Attr("", "ValueType"); kind {
	case valueX509, "":
		return readCertificate(data)
	case pkiPath:
		return readPath(data)
	default:
		return nil, refuse(UnsupportedSecurityToken, "a token of the kind %.200q", kind)
	}
}

func readCertificate(der []byte) ([]*x509.Certificate, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, &Error{InvalidSecurityToken, "a certificate cannot be read", err}
	}
	return []*x509.Certificate{cert}, nil
}

// readPath reads a PkiPath of X.509: a sequence of certificates that ends with
// the signer's.
func readPath(der []byte) ([]*x509.Certificate, error) {
	var raw []asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &raw); err != nil || len(rest) > 0 || len(raw) == 0 || len(raw) > maxChain {
		return nil, &Error{InvalidSecurityToken, "a certificate path cannot be read", err}
	}
	var chain []*x509.Certificate
	for _, r := range slices.Backward(raw) {
		one, err := readCertificate(r.FullBytes)
		if err != nil {
			return nil, err
		}
		chain = append(chain, one...)
	}
	return chain, nil
}

// keyFinder follows a KeyInfo to the certificate that it means.
type keyFinder struct {
	security xmltree.Elem // header
	ids      map[string]xmltree.Elem
	find     func(Name) []*x509.Certificate
}

// token follows a KeyInfo, which holds one reference to a token or one
// certificate. The order of token and signature does not matter.
func (k keyFinder) token(keyInfo xmltree.Elem) (t token, err error) {
	only, err := onlyChild(keyInfo)
	if err != nil {
		return t, err
	}
	if only.Is(SignatureNS, "X509Data") {
		t.chain, err = k.x509Data(only)
		return t, err
	}
	if !only.Is(SecurityNS, "SecurityTokenReference") {
		return t, refuse(UnsupportedSecurityToken, "a KeyInfo that holds %.100s; use a SecurityTokenReference", only.Name().Local)
	}
	t.reference = only
	e, err := onlyChild(only)
	if err != nil {
		return t, err
	}
	switch {
	case e.Is(SecurityNS, "Reference"):
		uri, _ := e.Attr("", "URI")
		if t.element, err = lookUp(k.ids, uri); err != nil {
			return t, &Error{TokenUnavailable, "the token of a signature", err}
		}
		if !t.element.Is(SecurityNS, "BinarySecurityToken") || t.element.Parent() != k.security {
			return t, refuse(TokenUnavailable, "%.100q leads to no BinarySecurityToken of the same header", uri)
		}
		t.chain, err = readBinaryToken(t.element)
	case e.Is(SecurityNS, "Embedded"):
		if t.element, err = onlyChild(e); err != nil {
			return t, err
		}
		if !t.element.Is(SecurityNS, "BinarySecurityToken") {
			return t, refuse(UnsupportedSecurityToken, "an embedded %.100s", t.element.Name().Local)
		}
		t.chain, err = readBinaryToken(t.element)
	case e.Is(SecurityNS, "KeyIdentifier"):
		t.chain, err = k.keyIdentifier(e)
	case e.Is(SignatureNS, "X509Data"):
		t.chain, err = k.x509Data(e)
	default:
		err = refuse(UnsupportedSecurityToken, "a reference by %.100s", e.Name().Local)
	}
	return t, err
}

func (k keyFinder) keyIdentifier(e xmltree.Elem) ([]*x509.Certificate, error) {
	data, err := binary(e)
	if err != nil {
		return nil, err
	}
	switch kind, _ := e.Attr("", "ValueType"); kind {
	case valueX509:
		return readCertificate(data)
	case valueSKI:
		return k.one(certificateName{Name: Name{KeyID: data}})
	case valueThumbSHA1:
		return k.one(certificateName{Name: Name{Thumbprint: data}})
	default:
		return nil, refuse(UnsupportedSecurityToken, "a key identifier of the kind %.200q", kind)
	}
}

// x509Data reads a certificate, a name of one, or both: then they must agree.
func (k keyFinder) x509Data(e xmltree.Elem) (chain []*x509.Certificate, err error) {
	var certificate xmltree.Elem
	var names []certificateName
	for child := range e.Children() {
		switch {
		case child.Is(SignatureNS, "X509Certificate") && !certificate.Exists():
			certificate = child
			continue
		case child.Is(SignatureNS, "X509IssuerSerial") && !child.HasElements():
			continue // zeep leaves it empty
		case len(names) == 2:
			return nil, refuse(InvalidSecurity, "X509Data holds more than a certificate and two names of it")
		}
		n, err := readCertificateName(child)
		if err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	if !certificate.Exists() && len(names) == 0 {
		return nil, refuse(InvalidSecurity, "X509Data is empty")
	}
	if !certificate.Exists() {
		return k.one(names...)
	}
	data, err := binary(certificate)
	if err != nil {
		return nil, err
	}
	if chain, err = readCertificate(data); err != nil {
		return nil, err
	}
	for _, n := range names {
		if !n.fits(chain[0]) {
			return nil, refuse(InvalidSecurityToken, "X509Data names another certificate than it holds")
		}
	}
	return chain, nil
}

// certificateName is a Name, with its issuer where it has a serial number.
type certificateName struct {
	Name
	issuer string
}

func readCertificateName(e xmltree.Elem) (n certificateName, err error) {
	switch {
	case e.Is(SignatureNS, "X509SKI"):
		n.KeyID, err = binary(e)
	case e.Is(SignatureNS, "X509IssuerSerial"):
		parts, err := sequence(e, SignatureNS, "X509IssuerName", "X509SerialNumber")
		if err != nil {
			return n, err
		}
		n.issuer = parts[0].Text()
		n.Serial, err = readSerial(xmltree.Trim(parts[1].Text()))
		return n, err
	default:
		err = refuse(UnsupportedSecurityToken, "X509Data with %.100s", e.Name().Local)
	}
	return n, err
}

func readSerial(digits string) (*big.Int, error) {
	const most = 64 // twenty bytes have 49
	n, ok := new(big.Int).SetString(digits[:min(len(digits), most+1)], 10)
	if !ok || len(digits) > most {
		return nil, refuse(InvalidSecurity, "the serial number %.100q", digits)
	}
	return n, nil
}

func (n certificateName) fits(cert *x509.Certificate) bool {
	if n.Serial != nil {
		return n.Serial.Cmp(cert.SerialNumber) == 0 && sameName(n.issuer, cert.RawIssuer)
	}
	if n.KeyID != nil {
		return bytes.Equal(n.KeyID, cert.SubjectKeyId)
	}
	sum := sha1.Sum(cert.Raw) // a name, not a proof
	return bytes.Equal(n.Thumbprint, sum[:])
}

// one returns the certificate that all names mean. It is one of those known, so
// it may be believed; what it has signed is proved later.
func (k keyFinder) one(names ...certificateName) ([]*x509.Certificate, error) {
	for _, cert := range k.find(names[0].Name) {
		if !slices.ContainsFunc(names, func(n certificateName) bool { return !n.fits(cert) }) {
			return []*x509.Certificate{cert}, nil
		}
	}
	n := names[0]
	return nil, refuse(TokenUnavailable, "no known certificate has the thumbprint %x, the key identifier %x or the issuer %.200q with the serial number %v", n.Thumbprint, n.KeyID, n.issuer, n.Serial)
}

func onlyChild(e xmltree.Elem) (only xmltree.Elem, err error) {
	for child := range e.Children() {
		if only.Exists() {
			return only, refuse(InvalidSecurity, "%.100s holds more than one element", e.Name().Local)
		}
		only = child
	}
	if !only.Exists() || !e.Blank() {
		return only, refuse(InvalidSecurity, "%.100s holds no element, or text", e.Name().Local)
	}
	return only, nil
}
