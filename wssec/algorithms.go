package wssec

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha1" // for partners that are allowed to
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
)

// The algorithms of signatures that are believed; what is not here is refused. Those with SHA-1
// count for partners that are allowed to use it.
var (
	digestMethods = map[string]crypto.Hash{
		SignatureNS + "sha1": crypto.SHA1,
		xencNS + "sha256":    crypto.SHA256,
		moreNS + "sha384":    crypto.SHA384,
		xencNS + "sha512":    crypto.SHA512,
		moreNS + "sha512":    crypto.SHA512, // an identifier that some use in error
	}
	signatureMethods = map[string]signatureMethod{
		SignatureNS + "rsa-sha1": {crypto.SHA1, verifyPKCS1},
		moreNS + "rsa-sha256":    {crypto.SHA256, verifyPKCS1},
		moreNS + "rsa-sha384":    {crypto.SHA384, verifyPKCS1},
		moreNS + "rsa-sha512":    {crypto.SHA512, verifyPKCS1},
		"http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1": {crypto.SHA256, verifyPSS},
		moreNS + "ecdsa-sha256":                                  {crypto.SHA256, verifyECDSA},
		moreNS + "ecdsa-sha384":                                  {crypto.SHA384, verifyECDSA},
	}
)

const moreNS = "http://www.w3.org/2001/04/xmldsig-more#"

type signatureMethod struct {
	hash   crypto.Hash
	verify func(key any, h crypto.Hash, digest, signature []byte) error
}

// The sizes of RSA keys. Larger ones cost their user nothing and us a lot.
const (
	minRSA = 2048
	maxRSA = 8192
)

var errKeyKind = errors.New("the key of the certificate is not of the signature's kind")

func verifyPKCS1(key any, h crypto.Hash, digest, signature []byte) error {
	k, ok := key.(*rsa.PublicKey)
	if !ok {
		return errKeyKind
	}
	return rsa.VerifyPKCS1v15(k, h, digest, signature)
}

func verifyPSS(key any, h crypto.Hash, digest, signature []byte) error {
	k, ok := key.(*rsa.PublicKey)
	if !ok {
		return errKeyKind
	}
	return rsa.VerifyPSS(k, h, digest, signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
}

// verifyECDSA reads r and s as XML Signature writes them: both in full length,
// one behind the other, not as ASN.1.
func verifyECDSA(key any, _ crypto.Hash, digest, signature []byte) error {
	k, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return errKeyKind
	}
	size := (k.Curve.Params().BitSize + 7) / 8
	if len(signature) != 2*size {
		return fmt.Errorf("a signature of %d bytes; r and s of this curve have %d", len(signature), 2*size)
	}
	r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
	if !ecdsa.Verify(k, digest, r, s) {
		return errors.New("verification error")
	}
	return nil
}

// checkKey refuses keys that are too weak, and those whose use would cost too
// much. It is asked before a key is used, whoever it belongs to.
func checkKey(cert *x509.Certificate) error {
	switch k := cert.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < minRSA || bits > maxRSA {
			return fmt.Errorf("an RSA key of %d bits; use %d to %d", bits, minRSA, maxRSA)
		}
		return nil
	case *ecdsa.PublicKey:
		if name := k.Curve.Params().Name; name != "P-256" && name != "P-384" {
			return fmt.Errorf("a key on the curve %s; use P-256 or P-384", name)
		}
		return nil
	}
	return fmt.Errorf("a key of the kind %s; use RSA, P-256 or P-384", cert.PublicKeyAlgorithm)
}
