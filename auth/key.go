package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// key verifies the tokens of one algorithm: what the token says of itself
// cannot make it serve another (RFC 8725, section 3.1).
type key struct {
	id  string // kid; empty when it has none
	alg string
	key jwt.VerificationKey
}

// newKey pins a public key to its algorithm.
func newKey(id string, public crypto.PublicKey) (key, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 || k.N.BitLen() > 8192 {
			return key{}, fmt.Errorf("the RSA key has %d bits; use 2048 to 8192", k.N.BitLen())
		}
		return key{id, "RS256", k}, nil
	case *ecdsa.PublicKey:
		if k.Curve.Params().BitSize != 256 {
			return key{}, fmt.Errorf("the curve is %s; ES256 needs P-256", k.Curve.Params().Name)
		}
		return key{id, "ES256", k}, nil
	case ed25519.PublicKey:
		return key{id, "EdDSA", k}, nil
	}
	return key{}, fmt.Errorf("a key of type %T cannot verify tokens; use RSA, P-256 or Ed25519", public)
}

// parsePEM reads public keys and certificates. They have no ids.
func parsePEM(text []byte) ([]key, error) {
	var keys []key
	for n := 1; ; n++ {
		block, rest := pem.Decode(text)
		if block == nil {
			if len(strings.TrimSpace(string(text))) > 0 {
				return nil, fmt.Errorf("token key %d is not a PEM block", n)
			}
			return keys, nil
		}
		text = rest
		public, err := publicKey(block)
		if err != nil {
			return nil, fmt.Errorf("token key %d: %w", n, err)
		}
		k, err := newKey("", public)
		if err != nil {
			return nil, fmt.Errorf("token key %d: %w", n, err)
		}
		keys = append(keys, k)
	}
}

func publicKey(block *pem.Block) (crypto.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return cert.PublicKey, nil
	}
	return nil, fmt.Errorf("a PEM block %q is not a public key; use PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE", block.Type)
}
