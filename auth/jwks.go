package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// maxKeys bounds what one set may hold: a token without a kid is tried with
// every key of its algorithm.
const maxKeys = 64

// jwk is one JSON Web Key (RFC 7517; RFC 7518, section 6; RFC 8037). Private
// members are not read.
type jwk struct {
	Type  string   `json:"kty"`
	Use   string   `json:"use"`
	Ops   []string `json:"key_ops"`
	Alg   string   `json:"alg"`
	ID    string   `json:"kid"`
	N     string   `json:"n"`
	E     string   `json:"e"`
	Curve string   `json:"crv"`
	X     string   `json:"x"`
	Y     string   `json:"y"`
}

// parseJWKS reads a key set. Keys that are for something else or of a kind that
// is not known are left out (RFC 7517, section 5), and so are those that are
// broken: one bad key must not lock out the bearers of all others. A set in
// which no key is left is an error that says why.
func parseJWKS(text []byte) ([]key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("the key set is not JSON: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has %d keys; at most %d are read", len(set.Keys), maxKeys)
	}
	var keys []key
	var left []error
	for i, raw := range set.Keys {
		k, err := parseJWK(raw)
		if err != nil {
			left = append(left, fmt.Errorf("key %d: %w", i+1, err))
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("the key set holds no key that can verify tokens: %w", errors.Join(left...))
	}
	return keys, nil
}

func parseJWK(raw []byte) (key, error) {
	var j jwk
	if err := json.Unmarshal(raw, &j); err != nil {
		return key{}, err
	}
	if j.Use != "" && j.Use != "sig" {
		return key{}, fmt.Errorf("its use is %q, not sig", j.Use)
	}
	if len(j.Ops) > 0 && !slices.Contains(j.Ops, "verify") {
		return key{}, errors.New("its key_ops do not have verify")
	}
	public, err := j.public()
	if err != nil {
		return key{}, err
	}
	k, err := newKey(j.ID, public)
	if err == nil && j.Alg != "" && j.Alg != k.alg {
		err = fmt.Errorf("its alg is %q; a key of this kind is used for %s alone", j.Alg, k.alg)
	}
	return k, err
}

func (j *jwk) public() (crypto.PublicKey, error) {
	switch {
	case j.Type == "RSA":
		return j.rsa()
	case j.Type == "EC" && j.Curve == "P-256":
		return j.p256()
	case j.Type == "OKP" && j.Curve == "Ed25519":
		x, err := number("x", j.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, errors.Join(err, fmt.Errorf("x has %d bytes, not %d", len(x), ed25519.PublicKeySize))
		}
		return ed25519.PublicKey(x), nil
	}
	return nil, fmt.Errorf("kty %q with crv %q is not supported; use RSA, EC with P-256, or OKP with Ed25519", j.Type, j.Curve)
}

func (j *jwk) rsa() (crypto.PublicKey, error) {
	n, errN := number("n", j.N)
	e, errE := number("e", j.E)
	if err := errors.Join(errN, errE); err != nil {
		return nil, err
	}
	exponent := new(big.Int).SetBytes(e)
	if exponent.BitLen() > 31 || exponent.Bit(0) == 0 || exponent.Int64() < 3 {
		return nil, errors.New("e is no odd number from 3 to 2^31")
	}
	modulus := new(big.Int).SetBytes(n)
	if modulus.Bit(0) == 0 {
		return nil, errors.New("n is even")
	}
	return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
}

func (j *jwk) p256() (crypto.PublicKey, error) {
	x, errX := number("x", j.X)
	y, errY := number("y", j.Y)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	if len(x) != 32 || len(y) != 32 {
		return nil, fmt.Errorf("x and y have %d and %d bytes, not 32", len(x), len(y))
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y)) // refuses what is not on the curve
}

// number reads base64url, with or without padding.
func number(name, text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) == 0 {
		return nil, fmt.Errorf("%s is missing", name)
	}
	return b, nil
}
