package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

// noon is when the certificates of the tests are looked at.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// pair is a certificate and its key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// certify makes a certificate that is valid for a day around noon; issuer nil
// signs itself. change may alter what is signed, and the key.
func certify(t testing.TB, name string, issuer *pair, change func(c *x509.Certificate, key *crypto.Signer)) *pair {
	t.Helper()
	var key crypto.Signer
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"Acme, Inc."}},
		NotBefore: noon.Add(-12 * time.Hour), NotAfter: noon.Add(12 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, SubjectKeyId: []byte(name),
	}
	if change != nil {
		change(c, &key)
	}
	parent, signer := c, key
	if issuer != nil {
		parent, signer = issuer.cert, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{cert, key}
}

// public is a signer who says to have another public key.
type public struct {
	crypto.Signer
	key crypto.PublicKey
}

func (p public) Public() crypto.PublicKey { return p.key }

func authority(c *x509.Certificate, _ *crypto.Signer) {
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
}

func pemOf(cert *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
}

func TestACertificateMeansTheAccountThatHasIt(t *testing.T) {
	t.Parallel()
	own := certify(t, "own", nil, nil)
	printed := certify(t, "printed", nil, nil)
	root := certify(t, "Root", nil, authority)
	between := certify(t, "Between", root, authority)
	issued := certify(t, "erp", between, nil)
	other := certify(t, "Other Root", nil, authority)
	posing := certify(t, "erp", certify(t, "Root", other, authority), nil) // an authority in between of the right name
	unlisted := certify(t, "crm", root, nil)
	stale := certify(t, "stale", nil, func(c *x509.Certificate, _ *crypto.Signer) { c.NotAfter = noon.Add(-time.Minute) })
	early := certify(t, "early", nil, func(c *x509.Certificate, _ *crypto.Signer) { c.NotBefore = noon.Add(time.Minute) })
	weak := certify(t, "weak", nil, func(_ *x509.Certificate, key *crypto.Signer) {
		k, err := rsa.GenerateKey(rand.Reader, 1024)
		if err != nil {
			t.Skip("this build makes no weak keys")
		}
		*key = k
	})
	vast := certify(t, "Vast", root, func(c *x509.Certificate, key *crypto.Signer) {
		authority(c, key)
		*key = public{*key, &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 100_000, 1), E: 65537}}
	})
	cipher := certify(t, "cipher", nil, func(c *x509.Certificate, _ *crypto.Signer) { c.KeyUsage = x509.KeyUsageKeyEncipherment })
	pin := func(p *pair) []auth.CertificateRule {
		return []auth.CertificateRule{{Fingerprint: sha256.Sum256(p.cert.Raw)}}
	}
	a, err := auth.NewAccounts([]auth.Account{
		{User: "own", Subject: "acme", Roles: schema.Service, Certificates: pin(own), Partner: auth.Partner{AllowCBC: true, Encryption: own.cert}},
		{User: "printed", Certificates: []auth.CertificateRule{{Certificate: printed.cert}}},
		{User: "issued", Certificates: []auth.CertificateRule{{Issuer: auth.DistinguishedName(root.cert), Subject: auth.DistinguishedName(issued.cert)}}},
		{User: "stale", Certificates: pin(stale)}, {User: "early", Certificates: pin(early)}, {User: "weak", Certificates: pin(weak)}, {User: "cipher", Certificates: pin(cipher)},
	}, root.cert, other.cert)
	if err != nil {
		t.Fatal(err)
	}
	chain := func(of ...*pair) (list []*x509.Certificate) {
		for _, p := range of {
			list = append(list, p.cert)
		}
		return list
	}
	for what, c := range map[string]struct {
		chain []*x509.Certificate
		name  string // of the account; empty: nobody's
		cause string
	}{
		"pinned":                       {chain(own), "own", ""},
		"in full":                      {chain(printed), "printed", ""},
		"issued":                       {chain(issued, between), "issued", ""},
		"issued, with more":            {chain(issued, own, root, between), "issued", ""},
		"issued, a link missing":       {chain(issued), "", "unknown authority"},
		"of another authority":         {chain(posing), "", "unknown authority"},
		"issued, of no account":        {chain(unlisted), "", "no account has it"},
		"pinned, not the first":        {chain(unlisted, own), "", "no account has it"},
		"expired":                      {chain(stale), "", "valid from"},
		"not yet valid":                {chain(early), "", "valid from"},
		"issued, with a vast key":      {chain(issued, between, vast), "", "100001 bits"},
		"weak":                         {chain(weak), "", "1024 bits"},
		"not for signatures":           {chain(cipher), "", "not for signatures"},
		"none":                         {nil, "", "0 were shown"},
		"too many":                     {chain(own, own, own, own, own, own, own, own, own), "", "9 were shown"},
		"an authority's own":           {chain(root), "", "not for signatures"},
		"of an authority of that name": {chain(posing, &pair{cert: certify(t, "Root", other, authority).cert}), "", "unknown authority"},
	} {
		who, partner, err := a.Certificate(c.chain, noon)
		if c.name != "" && (err != nil || who.Anonymous() || partner.Name != c.name) {
			t.Errorf("%s: %+v %+v %v", what, who, partner, err)
		}
		if c.name == "" && (!fault.Is(err, fault.Unauthenticated) || fault.Of(err).Message != "the credentials are wrong" || !strings.Contains(err.Error(), c.cause) || !who.Anonymous() || partner.Name != "") {
			t.Errorf("%s: %+v %+v %v, want %s", what, who, partner, err, c.cause)
		}
	}
	who, partner, _ := a.Certificate(chain(own), noon)
	if who.Subject != "acme" || who.Roles != schema.Service || !partner.AllowCBC || partner.AllowSHA1 || partner.Encryption != own.cert {
		t.Errorf("%+v %+v", who, partner)
	}
}

// A certificate in between that an authority has issued under the name of another
// authority is worth nothing in the other's place.
func TestAnAuthorityCannotSpeakForAnother(t *testing.T) {
	t.Parallel()
	acme, evil := certify(t, "Acme CA", nil, authority), certify(t, "Evil CA", nil, authority)
	posing := certify(t, "Acme CA", evil, authority)
	leaf := certify(t, "erp", posing, nil)
	a, err := auth.NewAccounts([]auth.Account{{User: "erp", Certificates: []auth.CertificateRule{
		{Issuer: auth.DistinguishedName(acme.cert), Subject: auth.DistinguishedName(leaf.cert)}}}}, acme.cert, evil.cert)
	if err != nil {
		t.Fatal(err)
	}
	if who, _, err := a.Certificate([]*x509.Certificate{leaf.cert, posing.cert}, noon); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("%+v %v", who, err)
	}
	good := certify(t, "erp", acme, nil)
	if who, _, err := a.Certificate([]*x509.Certificate{good.cert}, noon); err != nil || who.Subject != "erp" {
		t.Errorf("%+v %v", who, err)
	}
}

// An authority may vouch for one name of two: the other must not count.
func TestANameThatIsThereTwiceMeansNobody(t *testing.T) {
	t.Parallel()
	root := certify(t, "Root", nil, authority)
	named := func(names ...string) *x509.Certificate {
		return certify(t, "", root, func(c *x509.Certificate, _ *crypto.Signer) {
			c.Subject = pkix.Name{}
			for _, name := range names {
				c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name})
			}
		}).cert
	}
	erp := named("erp")
	a, err := auth.NewAccounts([]auth.Account{{User: "erp", Certificates: []auth.CertificateRule{
		{Issuer: auth.DistinguishedName(root.cert), Subject: auth.DistinguishedName(erp)}}}}, root.cert)
	if err != nil {
		t.Fatal(err)
	}
	if who, _, err := a.Certificate([]*x509.Certificate{erp}, noon); err != nil || who.Subject != "erp" {
		t.Errorf("%+v %v", who, err)
	}
	for _, names := range [][]string{{"mallory", "erp"}, {"erp", "mallory"}, {"erp", "erp"}, {"erp\x00"}} {
		if who, _, err := a.Certificate([]*x509.Certificate{named(names...)}, noon); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%q: %+v %v", names, who, err)
		}
	}
}

func TestCertificatesAreFoundByWhatNamesThem(t *testing.T) {
	t.Parallel()
	one, two := certify(t, "one", nil, nil), certify(t, "two", nil, nil)
	a, err := auth.NewAccounts([]auth.Account{
		{User: "one", Certificates: []auth.CertificateRule{{Certificate: one.cert}}},
		{User: "two", Certificates: []auth.CertificateRule{{Certificate: two.cert}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(two.cert.Raw)
	for what, ref := range map[string]auth.CertificateRef{
		"thumbprint": {Thumbprint: sum[:]}, "key": {KeyID: []byte("two")}, "serial": {Serial: two.cert.SerialNumber},
	} {
		if found := a.FindCertificates(ref); len(found) != 1 || found[0] != two.cert {
			t.Errorf("%s: %d found", what, len(found))
		}
	}
	if found := a.FindCertificates(auth.CertificateRef{}); found != nil {
		t.Errorf("%d found by nothing", len(found))
	}
	if found := (*auth.Accounts)(nil).FindCertificates(auth.CertificateRef{Thumbprint: sum[:]}); found != nil {
		t.Error("nobody has certificates")
	}
}

func TestAuthoritiesAreReadFromPEM(t *testing.T) {
	t.Parallel()
	one, two, leaf := certify(t, "One", nil, authority), certify(t, "Two", nil, authority), certify(t, "leaf", nil, nil)
	list, err := auth.ParseAuthorities([]byte(pemOf(one.cert) + "\n" + pemOf(two.cert)))
	if err != nil || len(list) != 2 || !list[1].Equal(two.cert) {
		t.Fatalf("%d, %v", len(list), err)
	}
	for text, want := range map[string]string{
		pemOf(one.cert) + "rubbish":                                    "certificate 2 is no PEM block",
		pemOf(one.cert) + pemOf(leaf.cert):                             "belongs into its account",
		"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n":     "nothing but certificates",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----": "certificate 1",
	} {
		if _, err := auth.ParseAuthorities([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
