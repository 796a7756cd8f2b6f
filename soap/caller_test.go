package soap_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/internal/proc/proctest"
	"tidings/quota"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/soap"
)

const (
	wsse          = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	wsu           = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	digestType    = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest"
	nonceEncoding = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"
)

var erpSecret = auth.NewSecret()

// partners are the accounts of these tests: erp by secret and certificate, crm
// by certificate, strict by a secret but must sign.
func partners(t testing.TB, erp, crm *x509.Certificate) *auth.Accounts {
	t.Helper()
	a, err := auth.NewAccounts([]auth.Account{
		{User: "erp", Subject: "acme", Roles: schema.User, Secrets: []string{erpSecret}, Certificates: []auth.CertificateRule{{Certificate: erp}}},
		{User: "crm", Roles: schema.User, Certificates: []auth.CertificateRule{{Certificate: crm}}},
		{User: "strict", Roles: schema.User, Secrets: []string{erpSecret}, Partner: auth.Partner{RequireSignature: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// clientCert makes a certificate that signs itself.
func clientCert(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// house is a service with its partners, reached by plain HTTP and by TLS.
type house struct {
	plain, private string
	erp, crm       tls.Certificate
	logged         *proctest.Log
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{erp: clientCert(t, "erp"), crm: clientCert(t, "crm"), logged: &proctest.Log{}}
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	o := soap.Options{Address: "https://api.example.com", Replays: replays(t, s.Bus), Logger: slog.New(slog.NewTextHandler(h.logged, nil))}
	serveFor(t, s, o, partners(t, h.erp.Leaf, h.crm.Leaf))
	await(t, s)
	h.plain = edge(t, s, o)
	gateway, err := soap.NewGateway(s.Bus, s.Model, o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(gateway)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	h.private = server.URL
	return h
}

func replays(t testing.TB, b *bus.Bus) *soap.Replays {
	t.Helper()
	r, err := soap.OpenReplays(t.Context(), b, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// message is an envelope with a Security header that holds content; it creates a
// post, which callers who are somebody may.
func message(content string) string {
	header := ""
	if content != "" {
		header = fmt.Sprintf(`<s:Header><w:Security xmlns:w=%q xmlns:u=%q>%s</w:Security></s:Header>`, wsse, wsu, content)
	}
	return `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService">` + header +
		`<s:Body><CreatePost><input><title>T</title></input></CreatePost></s:Body></s:Envelope>`
}

// digestToken is a UsernameToken with a digest.
func digestToken(user, secret string, nonce []byte, created string) string {
	sum := sha1.Sum([]byte(string(nonce) + created + secret))
	return fmt.Sprintf(`<w:UsernameToken><w:Username>%s</w:Username><w:Password Type=%q>%s</w:Password><w:Nonce EncodingType=%q>%s</w:Nonce><u:Created>%s</u:Created></w:UsernameToken>`,
		user, digestType, base64.StdEncoding.EncodeToString(sum[:]), nonceEncoding, base64.StdEncoding.EncodeToString(nonce), created)
}

func textToken(user, password, more string) string {
	return `<w:UsernameToken><w:Username>` + user + `</w:Username><w:Password>` + password + `</w:Password>` + more + `</w:UsernameToken>`
}

func nonce() []byte { return []byte(rand.Text()) }

func in(d time.Duration) string {
	return time.Now().Add(d).UTC().Format("2006-01-02T15:04:05.000Z")
}

// call sends a message and returns the subject who has become the owner of the
// post, or the fault's code and text.
func (h *house) call(t testing.TB, url, envelope string, header http.Header, cert *tls.Certificate) string {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	if cert != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*cert}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/SocialService", strings.NewReader(envelope))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"text/xml"}}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, rest, ok := strings.Cut(string(body), "<tns:authorId>"); ok {
		owner, _, _ := strings.Cut(rest, "<")
		return owner
	}
	_, code, _ := strings.Cut(string(body), "<faultcode>")
	code, text, _ := strings.Cut(code, "</faultcode><faultstring>")
	text, _, ok := strings.Cut(text, "<")
	if !ok {
		t.Fatalf("%s: %s", resp.Status, body)
	}
	return code + " " + text
}

const refused = "wsse:FailedAuthentication the credentials are wrong"

func TestDigestsAndPasswords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	again, stale := nonce(), in(0)
	for _, c := range []struct{ what, url, token, want string }{
		{"a digest", h.plain, digestToken("erp", erpSecret, nonce(), in(0)), "acme"},
		{"as zeep writes the time", h.plain, digestToken("erp", erpSecret, nonce(), time.Now().UTC().Format("2006-01-02T15:04:05")+"+00:00"), "acme"},
		{"in another zone", h.plain, digestToken("erp", erpSecret, nonce(), time.Now().In(time.FixedZone("", -5*3600-1800)).Format("2006-01-02T15:04:05.000000Z07:00")), "acme"},
		{"of the short type", h.plain, strings.Replace(digestToken("erp", erpSecret, nonce(), in(0)), digestType, "wsse:PasswordDigest", 1), "acme"},
		{"four minutes old", h.plain, digestToken("erp", erpSecret, nonce(), in(-4*time.Minute)), "acme"},
		{"half a minute ahead", h.plain, digestToken("erp", erpSecret, nonce(), in(30*time.Second)), "acme"},
		{"once", h.plain, digestToken("erp", erpSecret, again, stale), "acme"},
		{"twice", h.plain, digestToken("erp", erpSecret, again, stale), refused},
		{"twice, over TLS", h.private, digestToken("erp", erpSecret, again, stale), refused},
		{"the same nonce at another time", h.plain, digestToken("erp", erpSecret, again, in(time.Second)), "acme"},
		{"another secret", h.plain, digestToken("erp", auth.NewSecret(), nonce(), in(0)), refused},
		{"nobody's", h.plain, digestToken("nobody", erpSecret, nonce(), in(0)), refused},
		{"of an account without secrets", h.plain, digestToken("crm", "", nonce(), in(0)), refused},
		{"too old", h.plain, digestToken("erp", erpSecret, nonce(), in(-6*time.Minute)), "wsse:MessageExpired the UsernameToken was made more than 5 minutes ago or 1 minute ahead: check the clock of the sender"},
		{"too new", h.plain, digestToken("erp", erpSecret, nonce(), in(2*time.Minute)), "wsse:MessageExpired the UsernameToken was made more than 5 minutes ago or 1 minute ahead: check the clock of the sender"},
		{"of an account that must sign", h.plain, digestToken("strict", erpSecret, nonce(), in(0)), "wsse:InvalidSecurity messages of this account must be signed"},
		{"a secret as a password", h.private, textToken("erp", erpSecret, ""), "acme"},
		{"a secret that is wrong", h.private, textToken("erp", auth.NewSecret(), ""), refused},
		{"a secret in the clear", h.plain, textToken("erp", erpSecret, ""), "wsse:InvalidSecurity a password may come over https only, or encrypted in a message that its account has signed"},
		{"a password with a nonce", h.private, textToken("erp", erpSecret, fmt.Sprintf(`<w:Nonce>%s</w:Nonce><u:Created>%s</u:Created>`, base64.StdEncoding.EncodeToString(append(again, 'x')), stale)), "acme"},
		{"a password with a nonce, again", h.private, textToken("erp", erpSecret, fmt.Sprintf(`<w:Nonce>%s</w:Nonce><u:Created>%s</u:Created>`, base64.StdEncoding.EncodeToString(append(again, 'x')), stale)), refused},
		{"a password of long ago", h.private, textToken("erp", erpSecret, `<u:Created>2020-01-01T00:00:00Z</u:Created>`), "wsse:MessageExpired the UsernameToken was made more than 5 minutes ago or 1 minute ahead: check the clock of the sender"},
	} {
		if got := h.call(t, c.url, message(c.token), nil, nil); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for _, want := range []string{"the message has come before", "no account has the name", `the digest is wrong for the account \"erp\"`, " request_id="} {
		if !strings.Contains(h.logged.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, h.logged)
		}
	}
	if strings.Contains(h.logged.String(), "tds_") {
		t.Error("the log shows a secret")
	}
}

func TestUsernameTokensThatAreMalformed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	good := digestToken("erp", erpSecret, nonce(), in(0))
	for what, change := range map[string][2]string{
		"two names":           {"<w:Username>", "<w:Username>x</w:Username><w:Username>"},
		"no name":             {"<w:Username>erp</w:Username>", ""},
		"a name of elements":  {"<w:Username>erp", "<w:Username><x>erp</x>"},
		"a long name":         {"erp", strings.Repeat("x", 300)},
		"no nonce":            {"<w:Nonce EncodingType", "<w:Nonce xmlns:w='urn:x' EncodingType"},
		"another encoding":    {nonceEncoding, "urn:hex"},
		"another type":        {digestType, "urn:other"},
		"no time":             {"<u:Created>", "<u:Created>at "},
		"a time without zone": {"Z</u:Created>", "</u:Created>"},
		"a password too long": {"</w:Password>", "AAAA</w:Password>"},
		"something else":      {"</w:UsernameToken>", "<w:Iteration>1</w:Iteration></w:UsernameToken>"},
	} {
		got := h.call(t, h.plain, message(strings.Replace(good, change[0], change[1], 1)), nil, nil)
		if !strings.HasPrefix(got, "wsse:InvalidSecurity") && !strings.HasPrefix(got, "wsse:UnsupportedSecurityToken") {
			t.Errorf("%s: %s", what, got)
		}
	}
	for _, short := range [][]byte{[]byte("1234567"), []byte(strings.Repeat("x", 65))} {
		if got := h.call(t, h.plain, message(digestToken("erp", erpSecret, short, in(0))), nil, nil); got != "wsse:InvalidSecurity the Nonce is not the base64 of 8 to 64 bytes" {
			t.Errorf("a nonce of %d bytes: %s", len(short), got)
		}
	}
	if got := h.call(t, h.plain, message(good+good), nil, nil); !strings.HasPrefix(got, "wsse:InvalidSecurity") {
		t.Errorf("two tokens: %s", got)
	}
	if got := h.call(t, h.plain, message(good), nil, nil); got != "acme" {
		t.Errorf("none of them counted, but now: %s", got)
	}
}

func TestBasicBearerAndCertificatesMeanTheSameCallers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	basic := func(user, password string) http.Header {
		return http.Header{"Authorization": {"basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}}
	}
	bearer := func(subject string) http.Header {
		bearer, err := auth.Sign(secret, auth.Principal{Subject: subject, Roles: schema.User}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return http.Header{"Authorization": {"Bearer " + bearer}}
	}
	stranger := clientCert(t, "stranger")
	const different = "wsse:InvalidSecurity the message has credentials of different callers"
	for _, c := range []struct {
		what, url, token string
		header           http.Header
		cert             *tls.Certificate
		want             string
	}{
		{"Basic", h.private, "", basic("erp", erpSecret), nil, "acme"},
		{"Basic, wrong", h.private, "", basic("erp", "wrong"), nil, refused},
		{"Basic, in the clear", h.plain, "", basic("erp", erpSecret), nil, "wsse:InvalidSecurity a password may come over https only, or encrypted in a message that its account has signed"},
		{"Basic, malformed", h.private, "", http.Header{"Authorization": {"Basic ????"}}, nil, "wsse:InvalidSecurity the Authorization header is not Basic and the base64 of name:password"},
		{"Basic and a token", h.private, textToken("erp", erpSecret, ""), basic("erp", erpSecret), nil, "acme"},
		{"Basic, wrong, and a right token", h.private, textToken("erp", erpSecret, ""), basic("erp", "wrong"), nil, refused},
		{"Basic, twice", h.private, "", http.Header{"Authorization": {basic("erp", erpSecret).Get("Authorization"), bearer("alice").Get("Authorization")}}, nil, "wsse:InvalidSecurity there is more than one Authorization header"},
		{"Bearer", h.plain, "", bearer("acme"), nil, "acme"},
		{"Bearer and a token", h.private, textToken("erp", erpSecret, ""), bearer("acme"), nil, "acme"},
		{"Bearer of another", h.private, textToken("erp", erpSecret, ""), bearer("alice"), nil, different},
		{"a certificate", h.private, "", nil, &h.crm, "crm"},
		{"a certificate and Basic", h.private, "", basic("erp", erpSecret), &h.erp, "acme"},
		{"a certificate and Basic of another", h.private, "", basic("erp", erpSecret), &h.crm, different},
		{"a certificate and Bearer", h.private, "", bearer("crm"), &h.crm, "crm"},
		{"a stranger's certificate", h.private, "", nil, &stranger, refused},
		{"a stranger's certificate and Basic", h.private, "", basic("erp", erpSecret), &stranger, "acme"},
		{"a header that claims a certificate", h.plain, "", http.Header{"Tidings-Certificate": {base64.StdEncoding.EncodeToString(h.crm.Certificate[0])}}, nil, "soap:Client not allowed"}, // to nobody
	} {
		if got := h.call(t, c.url, message(c.token), c.header, c.cert); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// Two workers on one bus: what one has taken the other refuses, and of many at
// once exactly one is taken.
func TestADigestIsTakenOnceByAllWorkersTogether(t *testing.T) {
	t.Parallel()
	erp := clientCert(t, "erp").Leaf
	crm := clientCert(t, "crm").Leaf
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	other := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	s := resourcetest.On(t, server, os.DirFS("../examples/social"), resource.FeedOptions{})
	o := soap.Options{Address: "https://api.example.com"}
	for _, b := range []*bus.Bus{server, other} {
		o.Replays = replays(t, b)
		serveFor(t, resourcetest.Reader(t, b, os.DirFS("../examples/social"), resource.FeedOptions{}), o, partners(t, erp, crm))
	}
	await(t, s)
	h := &house{plain: edge(t, s, o)}
	for range 5 {
		body := message(digestToken("erp", erpSecret, nonce(), in(0)))
		results := make(chan string, 16)
		var wg sync.WaitGroup
		for range cap(results) {
			wg.Go(func() { results <- h.call(t, h.plain, body, nil, nil) })
		}
		wg.Wait()
		close(results)
		taken := 0
		for got := range results {
			switch got {
			case "acme":
				taken++
			case refused:
			default:
				t.Errorf("%s", got)
			}
		}
		if taken != 1 {
			t.Errorf("it was taken %d times", taken)
		}
	}
}

func TestWithoutTheBucketDigestsAreRefusedAndMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	gone := bustest.New(t)
	o := soap.Options{Address: "https://api.example.com", Replays: replays(t, gone)}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := gone.Close(ctx); err != nil {
		t.Fatal(err)
	}
	cert := clientCert(t, "erp").Leaf
	serveFor(t, s, o, partners(t, cert, clientCert(t, "crm").Leaf))
	await(t, s)
	h := &house{plain: edge(t, s, o)}
	if got := h.call(t, h.plain, message(digestToken("erp", erpSecret, nonce(), in(0))), nil, nil); !strings.HasPrefix(got, "soap:Server it cannot be told now") {
		t.Error(got)
	}
	if got := h.call(t, h.plain, message(digestToken("erp", auth.NewSecret(), nonce(), in(0))), nil, nil); got != refused {
		t.Error(got)
	}
}

func TestABucketThatForgetsTooEarlyIsRefused(t *testing.T) {
	t.Parallel()
	for what, o := range map[string]bus.BucketOptions{
		"too early": {Name: "soap-seen", MaxAge: time.Minute},
		"when full": {Name: "soap-seen", MaxAge: time.Hour, MaxBytes: 1 << 20, Forget: true},
	} {
		b := bustest.New(t)
		if _, err := b.Bucket(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if _, err := soap.OpenReplays(t.Context(), b, 1<<20, nil); err == nil || !strings.Contains(err.Error(), "12m0s") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// One partner must not fill the memory of all: what its rate refuses is not kept,
// and may be sent again. A signed GetServiceInfo counts, too.
func TestWhatARateRefusesIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	limits := quota.New(s.Bus, quota.Options{User: quota.Rate{Requests: 2}})
	erp, crm := clientCert(t, "erp"), clientCert(t, "crm")
	o := soap.Options{Address: "https://api.example.com", Replays: replays(t, s.Bus), Quota: limits}
	serveWith(t, s, o, partners(t, erp.Leaf, crm.Leaf), graphql.Options{Quota: limits})
	await(t, s)
	h := &house{plain: edge(t, s, o)}
	for _, want := range []string{"acme", "acme", "soap:Client too many requests"} {
		token := message(digestToken("erp", erpSecret, nonce(), in(0)))
		if got := h.call(t, h.plain, token, nil, nil); !strings.HasPrefix(got, want) {
			t.Fatal(got)
		}
		if got := h.call(t, h.plain, token, nil, nil); want != "acme" && !strings.HasPrefix(got, want) {
			t.Errorf("sent again: %s", got)
		}
	}
	info := strings.NewReplacer("CreatePost", "GetServiceInfo", "<input><title>T</title></input>", "").Replace(message(""))
	for n := range 2 {
		_, _ = (&world{url: h.plain}).post(t, http.Header{"Content-Type": {"text/xml"}}, signAt(t, crm, info, time.Now().Add(-time.Duration(n)*time.Second)))
	}
	if got := h.call(t, h.plain, signAt(t, crm, message(""), time.Now()), nil, nil); !strings.HasPrefix(got, "soap:Client too many requests") {
		t.Errorf("after two signed calls of another kind: %s", got)
	}
}

// A bucket that is full forgets nothing: what it has no room for is refused.
func TestAFullBucketRefusesDigests(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	small, err := soap.OpenReplays(t.Context(), s.Bus, 2000, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := soap.Options{Address: "https://api.example.com", Replays: small}
	serveFor(t, s, o, partners(t, clientCert(t, "erp").Leaf, clientCert(t, "crm").Leaf))
	await(t, s)
	h := &house{plain: edge(t, s, o)}
	first := message(digestToken("erp", erpSecret, nonce(), in(0)))
	if got := h.call(t, h.plain, first, nil, nil); got != "acme" {
		t.Fatal(got)
	}
	for n := 0; ; n++ {
		got := h.call(t, h.plain, message(digestToken("erp", erpSecret, nonce(), in(0))), nil, nil)
		if strings.HasPrefix(got, "soap:Server it cannot be told now") {
			break
		}
		if got != "acme" || n > 20 {
			t.Fatalf("after %d: %s", n, got)
		}
	}
	if got := h.call(t, h.plain, first, nil, nil); got == "acme" {
		t.Error("the first was forgotten")
	}
}
