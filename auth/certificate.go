package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// CertificateRule says which certificates mean an account: one, by its
// fingerprint or in full, or those that an authority has issued to a subject.
type CertificateRule struct {
	// Fingerprint is the SHA-256 of the certificate as it travels (DER); zero: see below.
	Fingerprint [sha256.Size]byte
	// Certificate is the same in full: it is found by messages that name a
	// certificate without holding it. nil: those messages are refused.
	Certificate *x509.Certificate
	// Issuer is the subject of the authority that the certificate's chain ends
	// at, and Subject the certificate's own, as DistinguishedName writes them.
	Issuer, Subject string
}

// maxChain is how many certificates somebody may show.
const maxChain = 8

// certificates are those that mean accounts.
type certificates struct {
	pinned      map[[sha256.Size]byte]*entry
	issued      map[[2]string]*entry // by issuer and subject
	authorities *x509.CertPool
	trusted     bool // there are authorities
	known       []knownCertificate
}

// knownCertificate is one that is found by what names it. Strangers may ask, so
// its thumbprint is made once.
type knownCertificate struct {
	*x509.Certificate
	thumbprint [sha1.Size]byte // a name, not a proof
}

func newCertificates(authorities []*x509.Certificate) certificates {
	c := certificates{pinned: map[[sha256.Size]byte]*entry{}, issued: map[[2]string]*entry{}, authorities: x509.NewCertPool(), trusted: len(authorities) > 0}
	for _, authority := range authorities {
		c.authorities.AddCert(authority)
	}
	return c
}

func (c *certificates) add(rule CertificateRule, e *entry) error {
	if rule.Certificate != nil {
		if err := strong(rule.Certificate); err != nil {
			return err
		}
		rule.Fingerprint = sha256.Sum256(rule.Certificate.Raw)
		c.known = append(c.known, knownCertificate{rule.Certificate, sha1.Sum(rule.Certificate.Raw)})
	}
	if rule.Fingerprint != [sha256.Size]byte{} {
		if c.pinned[rule.Fingerprint] != nil {
			return errors.New("it is there twice: a certificate means one account")
		}
		c.pinned[rule.Fingerprint] = e
		return nil
	}
	if rule.Issuer == "" || rule.Subject == "" {
		return errors.New("it needs a fingerprint, or the certificate, or an issuer and a subject")
	}
	if !c.trusted {
		return errors.New("it is known by its issuer, but no authority is trusted: name the file of their certificates with --soap-ca")
	}
	key := [2]string{rule.Issuer, rule.Subject}
	if c.issued[key] != nil {
		return errors.New("its issuer and subject are there twice: a certificate means one account")
	}
	c.issued[key] = e
	return nil
}

// Certificate returns whom a certificate means, after its owner has proved to
// have the key: by a TLS handshake, or by a signature. chain begins with the
// certificate itself; what else the owner has sent follows, in any order. A
// pinned certificate needs no issuer; others must lead to an authority. All must
// be valid now, have RSA keys of 2048 bits at least, P-256, P-384, P-521 or
// Ed25519, and be good for signatures. Whether one was revoked by its issuer is
// not asked: take it out of the accounts.
//
// The fault is Unauthenticated; its text says nothing, its cause why.
func (a *Accounts) Certificate(chain []*x509.Certificate, now time.Time) (Principal, Partner, error) {
	if a == nil || len(chain) == 0 || len(chain) > maxChain {
		return Principal{}, Partner{}, wrong("no account has certificates, or %d were shown", len(chain))
	}
	leaf := chain[0]
	e, err := a.roster.Load().certificates.find(chain, now)
	if err != nil {
		return Principal{}, Partner{}, wrong("the certificate %.100q with the SHA-256 %x: %w", DistinguishedName(leaf), sha256.Sum256(leaf.Raw), err)
	}
	return e.principal(), e.Partner, nil
}

func (c *certificates) find(chain []*x509.Certificate, now time.Time) (*entry, error) {
	leaf := chain[0]
	if err := strong(leaf); err != nil {
		return nil, err
	}
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return nil, fmt.Errorf("it is valid from %s to %s", leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339))
	}
	if leaf.KeyUsage != 0 && leaf.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0 {
		return nil, errors.New("its key is not for signatures")
	}
	if e := c.pinned[sha256.Sum256(leaf.Raw)]; e != nil {
		return e, nil
	}
	if !c.trusted || len(c.issued) == 0 {
		return nil, errors.New("no account has it")
	}
	between := x509.NewCertPool()
	for _, other := range chain[1:] {
		if err := strong(other); err != nil { // before its key is worked with: a vast one takes minutes
			return nil, fmt.Errorf("one in between: %w", err)
		}
		between.AddCert(other)
	}
	found, err := leaf.Verify(x509.VerifyOptions{Roots: c.authorities, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return nil, err
	}
	if ambiguous(leaf.Subject) {
		return nil, errors.New("its subject has two common names or serial numbers, of which the authority may vouch for one")
	}
	for _, chain := range found {
		if e := c.issuedBy(chain); e != nil {
			return e, nil
		}
	}
	return nil, errors.New("an authority vouches for it, but no account has it")
}

// issuedBy returns the account of a chain that was found good. It is the last of
// it that counts: who is trusted with a certificate in between may choose its name.
func (c *certificates) issuedBy(chain []*x509.Certificate) *entry {
	return c.issued[[2]string{DistinguishedName(chain[len(chain)-1]), DistinguishedName(chain[0])}]
}

// ambiguous reports whether a name has an attribute twice of which
// DistinguishedName writes the last alone.
func ambiguous(n pkix.Name) bool {
	names, serials := 0, 0
	for _, a := range n.Names {
		switch {
		case a.Type.Equal(asn1.ObjectIdentifier{2, 5, 4, 3}):
			names++
		case a.Type.Equal(asn1.ObjectIdentifier{2, 5, 4, 5}):
			serials++
		}
	}
	return names > 1 || serials > 1
}

// strong refuses keys that are too weak, or of a kind that is not known.
func strong(cert *x509.Certificate) error {
	switch k := cert.PublicKey.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 || k.N.BitLen() > 8192 {
			return fmt.Errorf("its RSA key has %d bits; use 2048 to 8192", k.N.BitLen())
		}
		return nil
	case *ecdsa.PublicKey:
		if k.Curve.Params().BitSize < 256 {
			return fmt.Errorf("its key is on the curve %s; use P-256, P-384 or P-521", k.Curve.Params().Name)
		}
		return nil
	case ed25519.PublicKey:
		return nil
	}
	return fmt.Errorf("its key is of the kind %s; use RSA, P-256, P-384, P-521 or Ed25519", cert.PublicKeyAlgorithm)
}

// DistinguishedName is a certificate's subject as accounts write it: RFC 2253,
// such as CN=erp,O=Acme Inc.
func DistinguishedName(cert *x509.Certificate) string { return cert.Subject.String() }

// CertificateRef is how a message names a certificate that it does not hold: by
// one of three. The zero value names none.
type CertificateRef struct {
	Thumbprint []byte   // SHA-1 of the certificate (DER)
	KeyID      []byte   // its SubjectKeyIdentifier, as its extension says
	Serial     *big.Int // its serial number; the issuer is the caller's to compare
}

// FindCertificates returns the certificates of accounts that a reference may
// mean. Finding one is no proof of anything: see Certificate.
func (a *Accounts) FindCertificates(ref CertificateRef) []*x509.Certificate {
	if a == nil {
		return nil
	}
	var found []*x509.Certificate
	for _, cert := range a.roster.Load().known {
		switch {
		case len(ref.Thumbprint) > 0 && string(ref.Thumbprint) == string(cert.thumbprint[:]),
			len(ref.KeyID) > 0 && string(ref.KeyID) == string(cert.SubjectKeyId),
			ref.Serial != nil && ref.Serial.Cmp(cert.SerialNumber) == 0:
			found = append(found, cert.Certificate)
		}
	}
	return found
}

// ParseAuthorities reads the certificates (PEM) of those whose certificates are
// believed.
func ParseAuthorities(text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for n := 1; ; n++ {
		block, rest := pem.Decode(text)
		if block == nil {
			if strings.TrimSpace(string(text)) != "" {
				return nil, fmt.Errorf("certificate %d is no PEM block", n)
			}
			return list, nil
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("block %d is a %.40q; put nothing but certificates there", n, block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", n, err)
		}
		if !cert.IsCA {
			return nil, fmt.Errorf("certificate %d, of %.100q, is not that of an authority; one of a partner's own belongs into its account", n, DistinguishedName(cert))
		}
		if err := strong(cert); err != nil {
			return nil, fmt.Errorf("certificate %d, of %.100q: %w", n, DistinguishedName(cert), err)
		}
		list = append(list, cert)
	}
}
