package soap_test

import (
	"crypto/rsa"
	"crypto/x509"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"tidings/auth"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/wssec"
	"tidings/xmltree"
)

// serviceKey is the key that messages of these tests, and those that WSS4J wrote,
// are encrypted for.
func serviceKey(t testing.TB) wssec.Key {
	t.Helper()
	private, err := x509.ParsePKCS8PrivateKey(foreign(t, "key.der"))
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(foreign(t, "certificate.der"))
	if err != nil {
		t.Fatal(err)
	}
	return wssec.Key{Private: private.(*rsa.PrivateKey), Certificate: cert}
}

func foreign(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../wssec/testdata/encrypted/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// newSecretWorld is a service with a key, and an account that wants its answers
// encrypted: by the same key, so that the tests need no other.
func newSecretWorld(t testing.TB) *world {
	t.Helper()
	o := trusting
	o.Keys = new(wssec.Keys)
	o.Keys.Replace(wssec.Keyring{serviceKey(t)})
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	hash, err := passwordHash()
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.NewAccounts([]auth.Account{
		{User: "alice", Hash: hash, Roles: schema.User},
		{User: "spy", Hash: hash, Roles: schema.User, Partner: auth.Partner{Encryption: serviceKey(t).Certificate}},
	})
	if err != nil {
		t.Fatal(err)
	}
	serveFor(t, s, o, a)
	await(t, s)
	return &world{Service: s, url: edge(t, s, o)}
}

var xml11 = http.Header{"Content-Type": {"text/xml"}}

func encrypt(t testing.TB, envelope string) string {
	t.Helper()
	out, err := wssec.Encrypt([]byte(envelope), serviceKey(t).Certificate, wssec.Method{})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func decrypt(t testing.TB, envelope string) string {
	t.Helper()
	tree, err := xmltree.Scan([]byte(envelope), "")
	if err != nil {
		t.Fatalf("%v in %s", err, envelope)
	}
	for header := range tree.Root().Children() {
		for block := range header.Children() {
			if !block.Is(wsse, "Security") {
				continue
			}
			o, refused := wssec.Open(tree, block, wssec.Keyring{serviceKey(t)}, wssec.Allow{})
			if refused != nil {
				t.Fatalf("%v in %s", refused, envelope)
			}
			return o.Tree.Source()
		}
	}
	t.Fatalf("not encrypted: %s", envelope)
	return ""
}

func TestEncryptedMessagesAreAnsweredAsOthersAre(t *testing.T) {
	t.Parallel()
	w := newSecretWorld(t)
	token := `<w:Security><w:UsernameToken><w:Username>spy</w:Username><w:Password>` + password + `</w:Password></w:UsernameToken></w:Security>`
	const create, broken = `<t:CreatePost><t:input><t:title>Fish</t:title></t:input></t:CreatePost>`, `<t:GetUser/>`
	for what, c := range map[string]struct {
		envelope string
		twelve   bool
		want     string
	}{
		"1.1":         {envelope11(token, create), false, "<tns:title>Fish</tns:title>"},
		"1.2":         {envelope12(token, create), true, "<tns:title>Fish</tns:title>"},
		"a fault":     {envelope11(token, broken), false, "the element is missing"},
		"a timestamp": {envelope11(strings.Replace(token, "</w:Security>", "<u:Timestamp/></w:Security>", 1), create), false, "<tns:title>Fish</tns:title>"},
	} {
		header := http.Header{"Content-Type": {"text/xml"}}
		if c.twelve {
			header.Set("Content-Type", "application/soap+xml")
		}
		_, answer := w.post(t, header, encrypt(t, c.envelope))
		if strings.Contains(answer, c.want) || !strings.Contains(answer, "xmlenc11#aes256-gcm") {
			t.Errorf("%s: %s", what, answer)
		}
		if plain := decrypt(t, answer); !strings.Contains(plain, c.want) {
			t.Errorf("%s: %s", what, plain)
		}
	}
	if _, answer := w.post(t, xml11, envelope11(token, create)); !strings.Contains(answer, "<tns:title>Fish</tns:title>") {
		t.Errorf("the answer to a message in the clear: %s", answer)
	}
}

func TestEncryptedMessagesOfWSS4JAreAnswered(t *testing.T) {
	t.Parallel()
	w := newSecretWorld(t)
	w.createAlice(t)
	for name, want := range map[string]string{
		"token": "<tns:id>alice</tns:id>", "header": "<tns:id>alice</tns:id>", "twice": "<tns:id>alice</tns:id>", "oaep11-sha256": "<tns:id>alice</tns:id>", "body-element": "<tns:id>alice</tns:id>",
		"cbc": "wsse:UnsupportedAlgorithm", "gcm-rsa15": "wsse:UnsupportedAlgorithm",
	} {
		if _, answer := w.post(t, xml11, string(foreign(t, name+".xml"))); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

func (w *world) createAlice(t *testing.T) {
	t.Helper()
	_, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "alice")}},
		envelope11("", `<t:CreateUser><t:input><t:name>Alice</t:name><t:email>alice@example.com</t:email></t:input></t:CreateUser>`))
	if !strings.Contains(answer, "<tns:id>alice</tns:id>") {
		t.Fatal(answer)
	}
}

// What went wrong with the decryption is not to be learned from an answer.
func TestMessagesThatCannotBeDecryptedHaveOneAnswer(t *testing.T) {
	t.Parallel()
	w := newSecretWorld(t)
	good := encrypt(t, envelope11("", getAlice))
	values := regexp.MustCompile(`<xenc:CipherValue>..`)
	var first string
	for what, message := range map[string]string{
		"key":     strings.Replace(good, values.FindString(good), "<xenc:CipherValue>AA", 1),
		"content": good[:strings.LastIndex(good, "<xenc:CipherValue>")] + "<xenc:CipherValue>AA" + good[strings.LastIndex(good, "<xenc:CipherValue>")+len("<xenc:CipherValue>AA"):],
		"length":  values.ReplaceAllString(good, "<xenc:CipherValue>"),
	} {
		resp, answer := w.post(t, xml11, message)
		answer = reqIDs.ReplaceAllString(answer, "")
		if first == "" {
			first = answer
		}
		if resp.StatusCode != 500 || !strings.Contains(answer, "<faultcode>wsse:FailedCheck</faultcode>") || answer != first {
			t.Errorf("%s: %s", what, answer)
		}
	}
}

func TestAServiceWithoutAKeyRefusesEncryptedMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	if _, answer := w.post(t, xml11, encrypt(t, envelope11("", getAlice))); !strings.Contains(answer, "wsse:UnsupportedSecurityToken") {
		t.Error(answer)
	}
}
