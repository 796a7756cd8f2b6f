package soap_test

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
	"tidings/soap"
	"tidings/wssec"
)

// newReader returns a reader with a key, and with accounts that are checked in no
// time: by a secret, and by the certificate that signed the foreign messages.
func newReader(t testing.TB) *soap.Reader {
	t.Helper()
	keys := new(wssec.Keys)
	keys.Replace(wssec.Keyring{serviceKey(t)})
	text, err := os.ReadFile("../wssec/testdata/keys/partner.crt")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	signer, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.NewAccounts([]auth.Account{
		{User: "alice", Roles: schema.User, Secrets: []string{auth.NewSecret()}},
		{User: "partner", Roles: schema.User, Certificates: []auth.CertificateRule{{Certificate: signer}}, Partner: auth.Partner{AllowCBC: true, AllowRSA15: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := soap.NewReader(social(t), keys, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// FuzzEnvelope: whatever strangers send is read, with its Security header, or is
// refused with a fault that is theirs.
func FuzzEnvelope(f *testing.F) {
	files, err := filepath.Glob("../wssec/testdata/*/*.xml")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(createPost(f))
	f.Add([]byte(encrypt(f, envelope11("", getAlice))))
	for _, a := range hostile() {
		if len(a.envelope) < 4_000 {
			f.Add([]byte(a.envelope))
		}
	}
	reader := newReader(f)
	f.Fuzz(func(t *testing.T, envelope []byte) {
		if err := reader.Read(envelope, "text/xml"); fault.Is(err, fault.Internal) {
			t.Fatalf("%q: %v", envelope, err)
		}
	})
}
