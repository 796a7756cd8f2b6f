package soap_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidings/fault"
	"tidings/soap"
	"tidings/wssec"
)

func newReader(t testing.TB) *soap.Reader {
	t.Helper()
	keys := new(wssec.Keys)
	keys.Replace(wssec.Keyring{serviceKey(t)})
	r, err := soap.NewReader(social(t), keys, accounts(t))
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
