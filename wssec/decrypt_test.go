package wssec_test

import (
	"crypto/rsa"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/wssec"
	"tidings/xmltree"
)

const soapNS = "http://schemas.xmlsoap.org/soap/envelope/"

// ours is the key that the files in testdata/encrypted are encrypted for.
func ours(tb testing.TB) wssec.Key {
	tb.Helper()
	private, err := x509.ParsePKCS8PrivateKey(read(tb, "key.der"))
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(read(tb, "certificate.der"))
	if err != nil {
		tb.Fatal(err)
	}
	return wssec.Key{Private: private.(*rsa.PrivateKey), Certificate: cert}
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/encrypted", name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// open decrypts a message.
func open(tb testing.TB, message []byte, keys wssec.Keyring, allow wssec.Allow) (*wssec.Opened, *wssec.Error) {
	tb.Helper()
	t, err := xmltree.Scan(message, "")
	if err != nil {
		tb.Fatalf("%v in %s", err, message)
	}
	return wssec.Open(t, security(tb, t.Root()), keys, allow)
}

func security(tb testing.TB, envelope xmltree.Elem) xmltree.Elem {
	tb.Helper()
	e := find(envelope, wssec.SecurityNS, "Security")
	if !e.Exists() {
		tb.Fatal("there is no Security header")
	}
	return e
}

// find returns the first element of a name, in document order.
func find(e xmltree.Elem, space, local string) xmltree.Elem {
	if e.Is(space, local) {
		return e
	}
	for c := range e.Children() {
		if found := find(c, space, local); found.Exists() {
			return found
		}
	}
	return xmltree.Elem{}
}

// The files were written by WSS4J, and those of oaep11 by Apache Santuario
// (conformance/xmlenc writes them anew): each is message.xml, encrypted.
func TestMessagesOfWSS4JAreDecrypted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/encrypted/*.xml")
	if err != nil || len(files) < 10 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".xml")
		allow := wssec.Allow{CBC: strings.Contains(name, "cbc"), RSA15: strings.Contains(name, "rsa15")}
		o, refused := open(t, read(t, name+".xml"), wssec.Keyring{ours(t)}, allow)
		if refused != nil {
			t.Errorf("%s: %v", name, refused)
			continue
		}
		root := o.Tree.Root()
		id, token := find(root, "urn:tidings:v1:SocialService", "id"), find(root, wssec.SecurityNS, "UsernameToken")
		if !id.Exists() || id.Text() != "alice" || !token.Exists() || find(root, "urn:note", "Note").Text() != "for whom it may concern" {
			t.Errorf("%s became %s", name, o.Tree.Source())
			continue
		}
		if o.Weak != allow {
			t.Errorf("%s: weak by %+v", name, o.Weak)
		}
		if got, want := o.Encrypted(id.Parent()), name != "header" && name != "message"; got != want {
			t.Errorf("%s: that GetUser came encrypted is %v", name, got)
		}
		if got := o.Encrypted(token); got != (name == "token" || name == "signed-all" || name == "signed-cbc-token") {
			t.Errorf("%s: that the token came encrypted is %v", name, got)
		}
		if (o.Method == wssec.Method{}) != (name == "message") {
			t.Errorf("%s: encrypted by %+v", name, o.Method)
		}
	}
}

// What was signed first and encrypted then is verified as it was before.
func TestMessagesThatWereSignedAndEncryptedAreVerified(t *testing.T) {
	t.Parallel()
	for name, covered := range map[string]bool{"signed": true, "signed-all": true, "signed-cbc": true, "signed-cbc-token": false} {
		o, refused := open(t, read(t, name+".xml"), wssec.Keyring{ours(t)}, wssec.Allow{CBC: true})
		if refused != nil {
			t.Errorf("%s: %v", name, refused)
			continue
		}
		m := wssec.Message{Envelope: o.Tree.Root(), Security: security(t, o.Tree.Root()), Body: find(o.Tree.Root(), soapNS, "Body")}
		signed, err := wssec.Verify(m, trust{pinned: partners(t)}, created(t, m))
		if err != nil {
			t.Errorf("%s: %v in %s", name, err, o.Tree.Source())
			continue
		}
		if got := o.CoveredBy(signed); got != covered {
			t.Errorf("%s: that the signature covers all that was encrypted is %v", name, got)
		}
	}
}

// Who encrypts first signs what nobody carries out.
func TestMessagesThatWereEncryptedAndSignedAreRefused(t *testing.T) {
	t.Parallel()
	o, refusal := open(t, read(t, "signed-after.xml"), wssec.Keyring{ours(t)}, wssec.Allow{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	m := wssec.Message{Envelope: o.Tree.Root(), Security: security(t, o.Tree.Root()), Body: find(o.Tree.Root(), soapNS, "Body")}
	_, err := wssec.Verify(m, trust{pinned: partners(t)}, created(t, m))
	refused(t, err, wssec.FailedCheck)
}

func TestPlainTextHasTheNamespacesOfItsPlace(t *testing.T) {
	t.Parallel()
	message := strings.Replace(sealed(t, `<wsse:a/><b xmlns:wsse="urn:inner"><wsse:c/></b>`, "Content", aes256GCM, oaep), "<s:Body>", `<s:Body xmlns="urn:place">`, 1)
	o, refused := open(t, []byte(message), wssec.Keyring{ours(t)}, wssec.Allow{})
	if refused != nil {
		t.Fatal(refused)
	}
	for _, name := range []xmltree.Name{{Space: wssec.SecurityNS, Local: "a"}, {Space: "urn:place", Local: "b"}, {Space: "urn:inner", Local: "c"}} {
		if !find(o.Tree.Root(), name.Space, name.Local).Exists() {
			t.Errorf("%v is not in %s", name, o.Tree.Source())
		}
	}
}
