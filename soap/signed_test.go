package soap_test

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidings/auth"
	"tidings/internal/proc/proctest"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/soap"
	"tidings/wssec"
	"tidings/xmltree"
)

// notary is a service that takes signatures, and its partners: crm, and strict,
// who must sign.
type notary struct {
	*house
	strict  tls.Certificate
	service *x509.Certificate
	parts   *resourcetest.Service
	began   time.Time
	signed  atomic.Int64 // messages
}

func newNotary(t *testing.T) *notary {
	t.Helper()
	own := clientCert(t, "service")
	n := &notary{house: &house{crm: clientCert(t, "crm"), logged: &proctest.Log{}}, strict: clientCert(t, "strict"), service: own.Leaf, began: time.Now()}
	accounts, err := auth.NewAccounts([]auth.Account{
		{User: "erp", Subject: "acme", Roles: schema.User, Secrets: []string{erpSecret}},
		{User: "crm", Roles: schema.User, Secrets: []string{erpSecret}, Certificates: []auth.CertificateRule{{Certificate: n.crm.Leaf}}},
		{User: "strict", Roles: schema.User, Secrets: []string{erpSecret}, Certificates: []auth.CertificateRule{{Certificate: n.strict.Leaf}}, Partner: auth.Partner{RequireSignature: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	o := soap.Options{Address: "https://api.example.com", Addresses: []string{"https://inside.example.com/soap", "urn:crm:social"}, Replays: replays(t, s.Bus), Keys: keys(own), Logger: slog.New(slog.NewTextHandler(n.logged, nil))}
	serveFor(t, s, o, accounts)
	await(t, s)
	n.parts = s
	n.plain = edge(t, s, o)
	o.TrustTransport = true
	n.private = edge(t, s, o)
	return n
}

func keys(c tls.Certificate) *wssec.Keys {
	k := new(wssec.Keys)
	k.Replace(wssec.Keyring{{Private: c.PrivateKey.(crypto.Signer), Certificate: c.Leaf}})
	return k
}

// sign signs an envelope that has no Security header. No two messages are equal:
// each is made at a time of its own.
func (n *notary) sign(t testing.TB, by tls.Certificate, envelope string) string {
	t.Helper()
	return signAt(t, by, envelope, n.began.Add(-time.Duration(n.signed.Add(1))*time.Millisecond))
}

func signAt(t testing.TB, by tls.Certificate, envelope string, at time.Time) string {
	t.Helper()
	out, err := keys(by).Ring().Sign([]byte(envelope), nil, at)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// beside puts a token into the Security header of a signed message.
func beside(signed, token string) string {
	token = strings.Replace(token, "<w:UsernameToken>", `<w:UsernameToken xmlns:w="`+wsse+`" xmlns:u="`+wsu+`">`, 1)
	return strings.Replace(signed, "<wsu:Timestamp", token+"<wsu:Timestamp", 1)
}

func TestASignedMessageIsThatOfItsCertificate(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	stranger := clientCert(t, "stranger")
	once := n.sign(t, n.crm, message(""))
	tampered := func(old, by string) string { return strings.Replace(n.sign(t, n.crm, message("")), old, by, 1) }
	const wrong = "wsse:FailedCheck the signature is wrong, or does not cover the Body and the Timestamp"
	for _, c := range []struct{ what, envelope, want string }{
		{"signed", n.sign(t, n.crm, message("")), "crm"},
		{"once", once, "crm"},
		{"twice", once, "wsse:FailedAuthentication the same message has come before: "},
		{"of an account that must sign", n.sign(t, n.strict, message("")), "strict"},
		{"with a token of the same account", beside(n.sign(t, n.crm, message("")), digestToken("crm", erpSecret, nonce(), in(0))), "crm"},
		{"with a token of another account", beside(n.sign(t, n.crm, message("")), digestToken("erp", erpSecret, nonce(), in(0))), "wsse:InvalidSecurity the message has credentials of different callers"},
		{"with a token that is wrong", beside(n.sign(t, n.crm, message("")), digestToken("crm", auth.NewSecret(), nonce(), in(0))), refused},
		{"by a stranger", n.sign(t, stranger, message("")), refused},
		{"long ago", signAt(t, n.crm, message(""), time.Now().Add(-7*time.Minute)), "wsse:MessageExpired the message has expired: check the clock of the sender"},
		{"in the future", signAt(t, n.crm, message(""), time.Now().Add(2*time.Minute)), "wsse:MessageExpired the message has expired: check the clock of the sender"},
		{"another title", tampered("<title>T", "<title>U"), wrong},
		{"another operation", tampered("CreatePost>", "CreatePost >"), "crm"}, // says the same
		{"another body beside", tampered("</s:Envelope>", `<s:Body><CreatePost><input><title>U</title></input></CreatePost></s:Body></s:Envelope>`), "soap:Client"},
		{"another payload beside", tampered("</s:Body>", `<CreatePost><input><title>U</title></input></CreatePost></s:Body>`), "soap:Client"},
		{"a second Security header", tampered("</s:Header>", `<w:Security xmlns:w="`+wsse+`"/></s:Header>`), "wsse:InvalidSecurity there is more than one Security header"},
		{"a certificate without its signature", unsealed(n.sign(t, n.crm, message(""))), "wsse:UnsupportedSecurityToken"},
		{"strict without a signature", message(digestToken("strict", erpSecret, nonce(), in(0))), "wsse:InvalidSecurity messages of this account must be signed"},
		{"strict with the signature of another", beside(n.sign(t, n.crm, message("")), digestToken("strict", erpSecret, nonce(), in(0))), "wsse:InvalidSecurity the message has credentials of different callers"},
	} {
		if got := n.call(t, n.plain, c.envelope, nil, nil); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for _, want := range []string{"the message has come before", "the signer is not believed", "was changed after it was signed"} {
		if !strings.Contains(n.logged.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, n.logged)
		}
	}
}

// unsealed takes the signature out of a message.
func unsealed(signed string) string {
	const begin, end = "<ds:Signature ", "</ds:Signature>"
	return signed[:strings.Index(signed, begin)] + signed[strings.Index(signed, end)+len(end):]
}

// The wrapped messages of the room wssec, as far as envelopes have a say in them:
// whatever is refused must be so before anything is carried out.
func TestWrappedMessagesAreNotCarriedOut(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	signed := func() (text, body string) {
		text = n.sign(t, n.crm, message(""))
		return text, text[strings.Index(text, "<s:Body"):strings.Index(text, "</s:Envelope>")]
	}
	for _, c := range []struct {
		what string
		wrap func(text, body string) string
	}{
		{"in a header block", func(text, body string) string {
			return strings.Replace(strings.Replace(text, body, forged(body), 1), "</s:Header>", `<x:W xmlns:x="urn:x">`+body+`</x:W></s:Header>`, 1)
		}},
		{"as a header block", func(text, body string) string {
			return strings.Replace(strings.Replace(text, body, forged(body), 1), "</s:Header>", body+`</s:Header>`, 1)
		}},
		{"in the Security header", func(text, body string) string {
			return strings.Replace(strings.Replace(text, body, forged(body), 1), "</wsse:Security>", body+`</wsse:Security>`, 1)
		}},
		{"in the body", func(text, body string) string {
			return strings.Replace(text, body, strings.Replace(forged(body), "</CreatePost>", body+"</CreatePost>", 1), 1)
		}},
		{"in a header block for somebody else", func(text, body string) string {
			return strings.Replace(strings.Replace(text, body, forged(body), 1), "</s:Header>", `<x:W xmlns:x="urn:x" s:actor="urn:other">`+body+`</x:W></s:Header>`, 1)
		}},
		{"by a Security header for somebody else", func(text, body string) string {
			return strings.Replace(strings.Replace(text, body, forged(body), 1), "<wsse:Security ", `<wsse:Security s:actor="urn:other" `, 1)
		}},
	} {
		text, body := signed()
		if got := n.call(t, n.plain, c.wrap(text, body), nil, nil); got == "crm" {
			t.Errorf("%s: it was carried out", c.what)
		}
	}
	if text, _ := signed(); n.call(t, n.plain, text, nil, nil) != "crm" {
		t.Error("what was not wrapped is refused, too")
	}
}

// forged is another Body, which has the Id of none that was signed.
func forged(body string) string {
	return strings.NewReplacer("<title>T", "<title>U", `"body"`, `"other"`).Replace(body)
}

// Who sits on the way must not be able to give a signed message the name of an
// older one, whose answer would come in the place of its own.
func TestNamesOfSignedMessagesAreSignedToo(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	named := func(header string) string {
		return n.sign(t, n.crm, strings.Replace(message(""), "<s:Body>", "<s:Header>"+header+"</s:Header><s:Body>", 1))
	}
	const key = `<RequestOptions><idempotencyKey>k</idempotencyKey></RequestOptions>`
	if got := n.call(t, n.plain, named(key), nil, nil); !strings.HasPrefix(got, "wsse:InvalidSecurity over http") {
		t.Errorf("a key: %s", got)
	}
	if first, second := n.created(t, n.private, named(key)), n.created(t, n.private, named(key)); first != second {
		t.Errorf("a key over https: %s and %s", first, second)
	}
	const id = `<a:Action xmlns:a="http://www.w3.org/2005/08/addressing">CreatePost</a:Action><a:MessageID xmlns:a="http://www.w3.org/2005/08/addressing">urn:m</a:MessageID>`
	if first, second := n.created(t, n.plain, named(id)), n.created(t, n.plain, named(id)); first == second {
		t.Errorf("a message: %s twice", first)
	}
	if first, second := n.created(t, n.private, named(id)), n.created(t, n.private, named(id)); first != second {
		t.Errorf("a message over https: %s and %s", first, second)
	}
}

// created sends a message and returns the id of the post that it has made.
func (n *notary) created(t *testing.T, url, envelope string) string {
	t.Helper()
	_, answer := (&world{url: url}).post(t, http.Header{"Content-Type": {"text/xml"}}, envelope)
	_, rest, _ := strings.Cut(answer, "<tns:id>")
	id, _, ok := strings.Cut(rest, "<")
	if !ok {
		t.Fatal(answer)
	}
	return id
}

func TestAnswersToSignedMessagesAreSigned(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	eleven := func(text string) string {
		return strings.Replace(text, "<wsse:SecurityTokenReference>", `<wsse:SecurityTokenReference xmlns:e="`+wssec.Security11+`" e:TokenType="`+"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3"+`">`, 1)
	}
	get := strings.NewReplacer("CreatePost", "GetPost", "<input><title>T</title></input>", "<id>unknown</id>").Replace(message(""))
	bad := strings.Replace(message(""), "<title>T</title>", "", 1)
	info := strings.NewReplacer("CreatePost", "GetServiceInfo", "<input><title>T</title></input>", "").Replace(message(""))
	for _, c := range []struct {
		what, envelope string
		confirmed      bool
	}{
		{"an answer", n.sign(t, n.crm, message("")), false},
		{"an answer without a result", n.sign(t, n.crm, get), false},
		{"a fault", n.sign(t, n.crm, bad), false},
		{"what needs no caller", n.sign(t, n.crm, info), false},
		{"an answer of SOAP 1.2", n.sign(t, n.crm, strings.Replace(message(""), "http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope", 1)), false},
		{"an answer of WS-Security 1.1", eleven(n.sign(t, n.crm, message(""))), true},
	} {
		answer := n.post(t, c.envelope)
		signed, err := verified(answer, n.service)
		if err != nil {
			t.Errorf("%s: %v: %s", c.what, err, answer)
			continue
		}
		if !signed.Certificate.Equal(n.service) || strings.Contains(answer, "SignatureConfirmation") != c.confirmed || strings.Count(answer, "<wsu:Timestamp") != 1 {
			t.Errorf("%s: %s", c.what, answer)
		}
	}
	for what, envelope := range map[string]string{
		"not signed":  message(""),
		"a stranger":  n.sign(t, clientCert(t, "stranger"), message("")),
		"was changed": strings.Replace(n.sign(t, n.crm, message("")), "<title>T", "<title>U", 1),
	} {
		if answer := n.post(t, envelope); strings.Contains(answer, "SignatureValue") {
			t.Errorf("%s: the answer is signed: %s", what, answer)
		}
	}
}

func (n *notary) post(t *testing.T, envelope string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.plain+"/v1/SocialService", strings.NewReader(envelope))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "text/xml")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// verified checks an answer as its caller does.
func verified(answer string, by *x509.Certificate) (*wssec.Signed, error) {
	tree, err := xmltree.Scan([]byte(answer), "")
	if err != nil {
		return nil, err
	}
	m := wssec.Message{Envelope: tree.Root()}
	for e := range tree.Root().Children() {
		for block := range e.Children() {
			if block.Is(wsse, "Security") {
				m.Security = block
			}
		}
		m.Body = e
	}
	if !m.Security.Exists() {
		return nil, errors.New("there is no Security header")
	}
	return wssec.Verify(m, believes{by}, time.Now())
}

// believes is the trust in one certificate.
type believes struct{ cert *x509.Certificate }

func (b believes) Find(wssec.Name) []*x509.Certificate { return nil }

func (b believes) Believe(chain []*x509.Certificate) (bool, error) {
	if !chain[0].Equal(b.cert) {
		return false, errors.New("it is another's")
	}
	return false, nil
}
