package wssec_test

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"testing"

	"tidings/wssec"
	"tidings/xmltree"
)

// pair is a key of testdata/keys with its certificate.
type pair struct {
	key  crypto.Signer
	cert *x509.Certificate
}

func readPair(tb testing.TB, name string) pair {
	tb.Helper()
	key, err := x509.ParsePKCS8PrivateKey(readPEM(tb, name+".key"))
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(readPEM(tb, name+".crt"))
	if err != nil {
		tb.Fatal(err)
	}
	return pair{key.(crypto.Signer), cert}
}

func readPEM(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/keys/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	block, _ := pem.Decode(text)
	return block.Bytes
}

// trust believes some certificates.
type trust struct {
	pinned []*x509.Certificate
	sha1   bool
}

func (t trust) Find(n wssec.Name) []*x509.Certificate {
	var found []*x509.Certificate
	for _, cert := range t.pinned {
		sum := sha1.Sum(cert.Raw)
		if bytes.Equal(n.Thumbprint, sum[:]) || n.KeyID != nil && bytes.Equal(n.KeyID, cert.SubjectKeyId) ||
			n.Serial != nil && n.Serial.Cmp(cert.SerialNumber) == 0 {
			found = append(found, cert)
		}
	}
	return found
}

func (t trust) Believe(chain []*x509.Certificate) (bool, error) {
	for _, cert := range t.pinned {
		if cert.Equal(chain[0]) {
			return t.sha1, nil
		}
	}
	return false, errors.New("nobody has it")
}

// parse finds the parts of an envelope, as the room soap does.
func parse(tb testing.TB, data []byte) wssec.Message {
	tb.Helper()
	m, err := parts(data)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func parts(data []byte) (m wssec.Message, err error) {
	tree, err := xmltree.Scan(data, "")
	if err != nil {
		return m, err
	}
	m.Envelope = tree.Root()
	ns := m.Envelope.Name().Space
	for e := range m.Envelope.Children() {
		switch {
		case e.Is(ns, "Body") && m.Body.Exists():
			return m, errors.New("two bodies")
		case e.Is(ns, "Body"):
			m.Body = e
		case e.Is(ns, "Header"):
			for block := range e.Children() {
				if block.Is(wssec.SecurityNS, "Security") && m.Security.Exists() {
					return m, errors.New("two Security headers")
				}
				if block.Is(wssec.SecurityNS, "Security") {
					m.Security = block
				}
			}
		}
	}
	if !m.Body.Exists() || !m.Security.Exists() {
		return m, errors.New("a part is missing")
	}
	return m, nil
}
