package soap_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidings/soap"
	"tidings/wssec"
	"tidings/xmltree"
)

// addressed is a message that is signed over the header blocks with an Id as well,
// as WCF and CXF sign those of WS-Addressing.
func addressed(t *testing.T, by tls.Certificate, at time.Time, blocks, body string) string {
	t.Helper()
	const (
		ds, c14n = "http://www.w3.org/2000/09/xmldsig#", "http://www.w3.org/2001/10/xml-exc-c14n#"
		profile  = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"
	)
	envelope := fmt.Sprintf(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:a="http://www.w3.org/2005/08/addressing" xmlns:u="%s" xmlns="urn:tidings:v1:SocialService"><s:Header>%s`+
		`<w:Security xmlns:w="%s"><w:BinarySecurityToken u:Id="token" EncodingType="%ssoap-message-security-1.0#Base64Binary" ValueType="%sx509-token-profile-1.0#X509v3">%s</w:BinarySecurityToken>`+
		`<u:Timestamp u:Id="time"><u:Created>%s</u:Created></u:Timestamp></w:Security></s:Header><s:Body u:Id="body">%s</s:Body></s:Envelope>`,
		wsu, blocks, wsse, profile, profile, base64.StdEncoding.EncodeToString(by.Leaf.Raw), at.UTC().Format(time.RFC3339), body)
	tree, err := xmltree.Scan([]byte(envelope), "")
	if err != nil {
		t.Fatal(err)
	}
	algorithm := `"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"`
	if _, ok := by.PrivateKey.(*ecdsa.PrivateKey); ok {
		algorithm = `"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"`
	}
	info := `<d:SignedInfo xmlns:d="` + ds + `"><d:CanonicalizationMethod Algorithm="` + c14n + `"></d:CanonicalizationMethod><d:SignatureMethod Algorithm=` + algorithm + `></d:SignatureMethod>`
	var refer func(e xmltree.Elem)
	refer = func(e xmltree.Elem) {
		if id, ok := e.Attr(wsu, "Id"); ok && id != "token" {
			var text bytes.Buffer
			if err := wssec.Canonical(&text, e); err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(text.Bytes())
			info += `<d:Reference URI="#` + id + `"><d:Transforms><d:Transform Algorithm="` + c14n + `"></d:Transform></d:Transforms><d:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></d:DigestMethod><d:DigestValue>` +
				base64.StdEncoding.EncodeToString(sum[:]) + `</d:DigestValue></d:Reference>`
		}
		for child := range e.Children() {
			refer(child)
		}
	}
	refer(tree.Root())
	info += `</d:SignedInfo>`
	signature := `<d:Signature xmlns:d="` + ds + `">` + info + `<d:SignatureValue>` + base64.StdEncoding.EncodeToString(signText(t, by, info)) +
		`</d:SignatureValue><d:KeyInfo><w:SecurityTokenReference><w:Reference URI="#token" ValueType="` + profile + `x509-token-profile-1.0#X509v3"/></w:SecurityTokenReference></d:KeyInfo></d:Signature>`
	return strings.Replace(envelope, "</w:Security>", signature+"</w:Security>", 1)
}

func signText(t *testing.T, by tls.Certificate, text string) []byte {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	if key, ok := by.PrivateKey.(*ecdsa.PrivateKey); ok {
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		value := make([]byte, 64)
		r.FillBytes(value[:32])
		s.FillBytes(value[32:])
		return value
	}
	value, err := by.PrivateKey.(crypto.Signer).Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

const (
	createT = `<CreatePost><input><title>T</title></input></CreatePost>`
	listT   = `<ListUsers/>`
)

// What was signed for another service must not be carried out here.
func TestASignedDestinationMustBeThisService(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	action := `<a:Action>CreatePost</a:Action>`
	to := func(address string) string { return action + `<a:To u:Id="to">` + address + `</a:To>` }
	second := 0
	for _, c := range []struct{ blocks, want string }{
		{action, "crm"},
		{to("https://api.example.com/v1/SocialService"), "crm"},
		{to("http://API.example.com:8080/v1/SocialService/"), "crm"},
		{to("https://api.example.com/SocialService"), "crm"},
		{to("http://www.w3.org/2005/08/addressing/anonymous"), "crm"},
		{to("https://inside.example.com/soap/v1/SocialService"), "crm"},
		{to("urn:crm:social"), "crm"},
		{action + `<a:To>https://other.example.com/v1/SocialService</a:To>`, "crm"}, // which nobody has signed
		{to("https://other.example.com/v1/SocialService"), "wsa:InvalidAddress the message is signed for another service: wsa:To must be https://api.example.com/v1/SocialService"},
		{to("https://api.example.com/v1/OtherService"), "wsa:InvalidAddress"},
		{to("https://api.example.com/v2/SocialService"), "wsa:InvalidAddress"},
		{to("https://inside.example.com/v1/SocialService"), "wsa:InvalidAddress"},
		{to("urn:crm:other"), "wsa:InvalidAddress"},
	} {
		second++
		if got := n.call(t, n.plain, addressed(t, n.crm, n.began.Add(-time.Duration(second)*time.Second), c.blocks, createT), nil, nil); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.blocks, got, c.want)
		}
	}
	any := edge(t, n.parts, soap.Options{Address: "https://api.example.com", Addresses: []string{soap.AnyAddress}})
	if got := n.call(t, any, addressed(t, n.crm, n.began, to("urn:crm:other"), createT), nil, nil); !strings.HasPrefix(got, "crm") {
		t.Error(got)
	}
}

// gSOAP and npm's soap write whole seconds: two equal calls of theirs are equal
// messages.
func TestEqualMessagesAreRefusedOnlyWhereTheyDoHarm(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	list := addressed(t, n.crm, n.began, "", listT)
	for range 2 {
		if status, answer := n.send(t, n.plain, list); status != http.StatusOK {
			t.Errorf("a query: %d %s", status, answer)
		}
	}
	create := addressed(t, n.crm, n.began, "", createT)
	first, second := n.call(t, n.plain, create, nil, nil), n.call(t, n.plain, create, nil, nil)
	if first != "crm" || !strings.Contains(second, "idempotencyKey") || !strings.Contains(second, "milliseconds") {
		t.Errorf("a change: %s, then %s", first, second)
	}
	named := func(key string) string {
		return addressed(t, n.crm, n.began, `<RequestOptions u:Id="options"><idempotencyKey>`+key+`</idempotencyKey></RequestOptions>`, createT)
	}
	a := named("a")
	if one, again, other := n.created(t, n.plain, a), n.created(t, n.plain, a), n.created(t, n.plain, named("b")); one != again || one == other {
		t.Errorf("named calls made %s, %s and %s", one, again, other)
	}
}

// send posts an envelope.
func (n *notary) send(t *testing.T, url, envelope string) (int, string) {
	t.Helper()
	resp, answer := (&world{url: url}).post(t, http.Header{"Content-Type": {"text/xml"}}, envelope)
	return resp.StatusCode, answer
}
