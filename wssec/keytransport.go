package wssec

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // for OAEP, where its collisions do no harm
	_ "crypto/sha256"
	_ "crypto/sha512"
)

// keyTransport is how the key of some content is encrypted for an RSA key.
type keyTransport struct {
	uri    string
	digest crypto.Hash // of OAEP
	mgf    crypto.Hash
	label  string // OAEPparams
}

// The algorithms. rsa15 tells who asks often enough what was encrypted, unless
// every answer is the same: only partners that know nothing else may use it.
const (
	oaepMGF1P = xencNS + "rsa-oaep-mgf1p"
	oaep11    = xenc11NS + "rsa-oaep"
	rsa15     = xencNS + "rsa-1_5"
)

// digests are the hashes of OAEP, by the name that DigestMethod has for them.
var digests = map[string]crypto.Hash{
	SignatureNS + "sha1": crypto.SHA1,
	xencNS + "sha256":    crypto.SHA256,
	"http://www.w3.org/2001/04/xmldsig-more#sha384": crypto.SHA384,
	xencNS + "sha512": crypto.SHA512,
}

// mgfs are the mask generation functions of XML Encryption 1.1.
var mgfs = map[string]crypto.Hash{
	xenc11NS + "mgf1sha1":   crypto.SHA1,
	xenc11NS + "mgf1sha256": crypto.SHA256,
	xenc11NS + "mgf1sha384": crypto.SHA384,
	xenc11NS + "mgf1sha512": crypto.SHA512,
}

// open decrypts a key of n bytes. With rsa-1_5 it returns a random key instead of
// an error, in the same time: what was decrypted by it shows then as wrong.
func (k keyTransport) open(key *rsa.PrivateKey, data []byte, n int) ([]byte, error) {
	if k.uri == rsa15 {
		random := make([]byte, n)
		if _, err := rand.Read(random); err != nil {
			return nil, err
		}
		//lint:ignore SA1019 for partners that know nothing else; its error is of a wrong length only, and leaves the random key
		_ = rsa.DecryptPKCS1v15SessionKey(nil, key, data, random)
		return random, nil
	}
	plain, err := key.Decrypt(nil, data, &rsa.OAEPOptions{Hash: k.digest, MGFHash: k.mgf, Label: []byte(k.label)})
	if err != nil || len(plain) != n {
		return nil, errContent
	}
	return plain, nil
}

// seal encrypts a key.
func (k keyTransport) seal(to *rsa.PublicKey, key []byte) ([]byte, error) {
	if k.uri == rsa15 {
		//lint:ignore SA1019 for partners that know nothing else
		return rsa.EncryptPKCS1v15(rand.Reader, to, key)
	}
	return rsa.EncryptOAEPWithOptions(rand.Reader, to, key, &rsa.OAEPOptions{Hash: k.digest, MGFHash: k.mgf, Label: []byte(k.label)})
}
