package soap_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math/big"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/soap"
	"tidings/wssec"
	"tidings/xmltree"
)

// safe is a service whose messages are signed and encrypted, over HTTP that
// anybody can read: alice knows better ciphers than old.
type safe struct {
	*world
	alice, old wssec.Key
	sent       time.Duration
	service    *soap.Service
}

func newSafe(t *testing.T, settings ...func(*soap.Options)) *safe {
	t.Helper()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	v := &safe{alice: rsaKey(t, "alice"), old: rsaKey(t, "old")}
	hash, err := passwordHash()
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.NewAccounts([]auth.Account{
		{User: "alice", Hash: hash, Roles: schema.User, Certificates: []auth.CertificateRule{{Certificate: v.alice.Certificate}}},
		{User: "bob", Hash: hash, Roles: schema.User},
		{User: "old", Roles: schema.User, Certificates: []auth.CertificateRule{{Certificate: v.old.Certificate}}, Partner: auth.Partner{AllowCBC: true, AllowRSA15: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := soap.Options{Address: "https://api.example.com", Replays: replays(t, s.Bus), Keys: new(wssec.Keys)}
	o.Keys.Replace(wssec.Keyring{serviceKey(t)})
	for _, set := range settings {
		set(&o)
	}
	v.service = serveFor(t, s, o, a)
	await(t, s)
	v.world = &world{Service: s, url: edge(t, s, o)}
	return v
}

func rsaKey(t *testing.T, name string) wssec.Key {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return wssec.Key{Private: private, Certificate: cert}
}

// sign signs an envelope at a time that no other has.
func (v *safe) sign(t *testing.T, by wssec.Key, envelope string) string {
	t.Helper()
	v.sent += time.Second
	out, err := wssec.Keyring{by}.Sign([]byte(envelope), nil, time.Now().Add(-v.sent))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (v *safe) call(t *testing.T, envelope string) string {
	t.Helper()
	_, answer := v.post(t, http.Header{"Content-Type": {"text/xml"}}, envelope)
	return reqIDs.ReplaceAllString(answer, "requestId>X<")
}

// withSecret puts an element, encrypted, into the Security header of an envelope.
func withSecret(t *testing.T, envelope, element string) string {
	t.Helper()
	key, encode := make([]byte, 32), base64.StdEncoding.EncodeToString
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, serviceKey(t).Certificate.PublicKey.(*rsa.PublicKey), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	const xenc = "http://www.w3.org/2001/04/xmlenc#"
	out := `<e:EncryptedKey xmlns:e="` + xenc + `"><e:EncryptionMethod Algorithm="` + xenc + `rsa-oaep-mgf1p"/><e:CipherData><e:CipherValue>` + encode(wrapped) +
		`</e:CipherValue></e:CipherData><e:ReferenceList><e:DataReference URI="#T"/></e:ReferenceList></e:EncryptedKey>` +
		`<e:EncryptedData xmlns:e="` + xenc + `" Id="T" Type="` + xenc + `Element"><e:EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#aes256-gcm"/><e:CipherData><e:CipherValue>` +
		encode(gcm.Seal(nil, nil, []byte(element), nil)) + `</e:CipherValue></e:CipherData></e:EncryptedData>`
	return strings.Replace(envelope, "<wsu:Timestamp", out+"<wsu:Timestamp", 1)
}

const bare = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService"><s:Body>BODY</s:Body></s:Envelope>`

const createFish = `<t:CreatePost><t:input><t:title>Fish</t:title></t:input></t:CreatePost>`

func TestAPasswordMayComeEncryptedInASignedMessage(t *testing.T) {
	t.Parallel()
	v := newSafe(t)
	body := strings.Replace(bare, "BODY", createFish, 1)
	token := func(user string) string {
		return `<w:UsernameToken xmlns:w="` + wsse + `"><w:Username>` + user + `</w:Username><w:Password>` + password + `</w:Password></w:UsernameToken>`
	}
	unsigned := strings.Replace(envelope11(`<w:Security><wsu:Timestamp xmlns:wsu="`+wsu+`"/></w:Security>`, createFish), "BODY", createFish, 1)
	legible := func() string {
		return strings.Replace(v.sign(t, v.alice, body), "<wsu:Timestamp", token("alice")+"<wsu:Timestamp", 1)
	}
	for _, c := range []struct{ what, envelope, want string }{
		{"encrypted and signed", withSecret(t, v.sign(t, v.alice, body), token("alice")), "<tns:authorId>alice<"},
		{"signed", legible(), "https only"},
		{"signed, the rest encrypted", withSecret(t, legible(), ""), "https only"},
		{"encrypted", withSecret(t, unsigned, token("alice")), "must be covered by the signature"},
		{"encrypted and signed by another", withSecret(t, v.sign(t, v.alice, body), token("bob")), "different callers"},
		{"encrypted, wrong, and signed", withSecret(t, v.sign(t, v.alice, body), strings.Replace(token("alice"), password, "x", 1)), "wsse:FailedAuthentication"},
	} {
		if answer := v.call(t, c.envelope); !strings.Contains(answer, c.want) && !strings.Contains(opened(t, answer, v.alice), c.want) {
			t.Errorf("%s: %s", c.what, answer)
		}
	}
}

// Anybody may encrypt for us. Who has overheard what others have encrypted must
// not get it in the clear by sending it as something of its own.
func TestWhatOthersEncryptedIsNotToldToWhoSendsIt(t *testing.T) {
	t.Parallel()
	v := newSafe(t)
	secret := `<t:CreatePost><t:input><t:title>Secret Fish</t:title></t:input></t:CreatePost>`
	encrypted := func(body string) string { return encrypt(t, strings.Replace(bare, "BODY", body, 1)) }
	overheard := encrypt(t, v.sign(t, v.alice, strings.Replace(bare, "BODY", secret, 1)))
	if answer := v.call(t, overheard); !strings.Contains(opened(t, answer, v.alice), "Secret Fish") {
		t.Fatalf("alice: %s", answer)
	}
	unsigned := regexp.MustCompile(`<wsu:Timestamp.*?</wsu:Timestamp>|<wsse:BinarySecurityToken.*?</wsse:BinarySecurityToken>|<ds:Signature .*?</ds:Signature>`).ReplaceAllString(overheard, "")
	text := encrypted("urn:secret-fish")
	data := text[strings.Index(text, "<xenc:EncryptedData"):strings.Index(text, "</s:Body>")]
	key := text[strings.Index(text, "<xenc:EncryptedKey"):strings.Index(text, "</wsse:Security>")]
	withKey := func(envelope string) string {
		return strings.Replace(envelope, "</wsse:Security>", key+"</wsse:Security>", 1)
	}
	const wsa = "http://www.w3.org/2005/08/addressing"
	header := `<s:Header><a:Action xmlns:a="` + wsa + `">urn:tidings:v1:SocialService/CreatePost</a:Action><a:MessageID xmlns:a="` + wsa + `">urn:m</a:MessageID></s:Header><s:Body>`
	var first string
	for what, envelope := range map[string]string{
		"as one's own":             unsigned,
		"an id":                    strings.Replace(text, data, "<t:GetPost><t:id>"+data+"</t:id></t:GetPost>", 1),
		"an operation":             encrypted("<t:SecretFish/>"),
		"beside a signed body":     withKey(strings.Replace(v.sign(t, v.old, strings.Replace(strings.Replace(bare, "BODY", createFish, 1), "<s:Body>", header, 1)), "urn:m<", data+"<", 1)),
		"of the service's own":     encrypted("<t:GetServiceInfo/>"),
		"no envelope after it all": encrypted("<a/><b/>"),
	} {
		_, answer := v.post(t, http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "bob")}}, envelope)
		answer = reqIDs.ReplaceAllString(answer, "")
		if first == "" {
			first = answer
		}
		if answer != first || !strings.Contains(answer, "must be covered by the signature") {
			t.Errorf("%s: %s", what, answer)
		}
	}
}

// opened decrypts an answer for a partner, if it is encrypted.
func opened(t *testing.T, answer string, by wssec.Key) string {
	t.Helper()
	tree, err := xmltree.Scan([]byte(answer), "")
	if err != nil {
		t.Fatal(err)
	}
	for header := range tree.Root().Children() {
		for block := range header.Children() {
			if !block.Is(wsse, "Security") {
				continue
			}
			o, refused := wssec.Open(tree, block, wssec.Keyring{by}, wssec.Allow{CBC: true, RSA15: true})
			if refused != nil {
				t.Fatal(refused)
			}
			return o.Tree.Source()
		}
	}
	return answer
}

// weakly encrypts as a client does that knows nothing else.
func weakly(t *testing.T, envelope string) string {
	t.Helper()
	tree, err := xmltree.Scan(foreign(t, "cbc-rsa15.xml"), "")
	if err != nil {
		t.Fatal(err)
	}
	var method wssec.Method
	for header := range tree.Root().Children() {
		for block := range header.Children() {
			if block.Is(wsse, "Security") {
				o, refused := wssec.Open(tree, block, wssec.Keyring{serviceKey(t)}, wssec.Allow{CBC: true, RSA15: true})
				if refused != nil {
					t.Fatal(refused)
				}
				method = o.Method
			}
		}
	}
	out, err := wssec.Encrypt([]byte(envelope), serviceKey(t).Certificate, method)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestWeakEncryptionIsForPartnersThatMayUseItAndSign(t *testing.T) {
	t.Parallel()
	v := newSafe(t)
	envelope := func(body string) string { return strings.Replace(bare, "BODY", body, 1) }
	answer := v.call(t, weakly(t, v.sign(t, v.old, envelope(createFish))))
	if !strings.Contains(answer, "xmlenc#aes128-cbc") || !strings.Contains(opened(t, answer, v.old), "<tns:authorId>old<") {
		t.Errorf("a partner that may: %s", answer)
	}
	if _, err := verified(opened(t, answer, v.old), serviceKey(t).Certificate); err != nil {
		t.Errorf("the answer was not signed before it was encrypted: %v", err)
	}
	if answer := v.call(t, weakly(t, v.sign(t, v.old, envelope("<t:GetUser/>")))); !strings.Contains(opened(t, answer, v.old), "the element is missing") {
		t.Errorf("a partner that may, with a mistake: %s", answer)
	}
	garbled := func(text string, at int) string { // a byte of the IV, from the start of the second CipherValue
		from := strings.LastIndex(text, "<xenc:CipherValue>") + len("<xenc:CipherValue>")
		to := from + strings.Index(text[from:], "<")
		data, err := base64.StdEncoding.DecodeString(text[from:to])
		if err != nil {
			t.Fatal(err)
		}
		data[(at+len(data))%len(data)] ^= 1
		return text[:from] + base64.StdEncoding.EncodeToString(data) + text[to:]
	}
	good := func() string { return weakly(t, v.sign(t, v.old, envelope(createFish))) }
	wsa := strings.Replace(envelope(createFish), "<s:Body>", `<s:Header><a:Action xmlns:a="http://www.w3.org/2005/08/addressing">urn:tidings:v1:SocialService/CreatePost</a:Action><a:MessageID xmlns:a="http://www.w3.org/2005/08/addressing">urn:m</a:MessageID></s:Header><s:Body>`, 1)
	var first string
	for what, message := range map[string]string{
		"not signed":                    weakly(t, envelope(createFish)),
		"not signed, asks for nothing":  weakly(t, envelope("<t:Nothing/>")),
		"not signed, asks for all":      weakly(t, envelope("<t:GetServiceInfo/>")),
		"not signed, addressed":         weakly(t, wsa),
		"not signed, two payloads":      weakly(t, envelope("<a/><b/>")),
		"with a stamp, not signed":      weakly(t, strings.Replace(envelope(createFish), "<s:Body>", `<s:Header><w:Security xmlns:w="`+wsse+`"><u:Timestamp xmlns:u="`+wsu+`"/></w:Security></s:Header><s:Body>`, 1)),
		"by a partner that may not":     weakly(t, v.sign(t, v.alice, envelope(createFish))),
		"by a stranger":                 weakly(t, v.sign(t, rsaKey(t, "stranger"), envelope(createFish))),
		"signed, not XML any more":      garbled(good(), 1),
		"signed, another text":          garbled(good(), 3),
		"signed, wrong padding":         garbled(good(), -17),
		"signed, another prefix":        garbled(good(), 2),
		"signed, the key was changed":   strings.Replace(good(), "<xenc:CipherValue>", "<xenc:CipherValue>A", 1),
		"signed, the header is changed": strings.Replace(good(), "<wsu:Created>", "<wsu:Created> ", 1),
	} {
		began := time.Now()
		answer := v.call(t, message)
		if took := time.Since(began); took < soap.Even {
			t.Errorf("%s: the time that it takes, %s, tells something", what, took)
		}
		if first == "" {
			first = answer
		}
		if answer != first || !strings.Contains(answer, "<faultcode>wsse:FailedCheck</faultcode>") {
			t.Errorf("%s: %s", what, answer)
		}
	}
}
