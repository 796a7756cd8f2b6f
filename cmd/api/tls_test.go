package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// identity is a certificate with its key, in files.
type identity struct {
	tls.Certificate
	cert, key string
}

// identify makes a certificate of an issuer's, nil for its own, and writes it to
// dir under its name.
func identify(t *testing.T, dir, name string, issuer *identity) *identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: issuer == nil, BasicConstraintsValid: true,
	}
	id := &identity{cert: filepath.Join(dir, name+".pem"), key: filepath.Join(dir, name+".key")}
	parent, signer := c, any(key)
	if issuer != nil {
		parent, signer = issuer.Leaf, issuer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, secret := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for file, text := range map[string][]byte{id.cert: cert, id.key: secret} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if id.Certificate, err = tls.X509KeyPair(cert, secret); err != nil {
		t.Fatal(err)
	}
	return id
}

// client trusts the roots, shows the identity unless it is nil, and speaks one
// version of HTTP.
func client(two bool, shown *identity, roots ...*identity) *http.Client {
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	for _, root := range roots {
		c.RootCAs.AddCert(root.Leaf)
	}
	if shown != nil {
		c.Certificates = []tls.Certificate{shown.Certificate}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!two)
	protocols.SetHTTP2(two)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: c, Protocols: protocols}}
}

// Everything that the public port speaks, over TLS.
func TestThePublicPortOverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := identify(t, dir, "root", nil)
	server := identify(t, dir, "server", root)
	p := start(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", server.cert, "--tls-key", server.key)
	if !strings.HasPrefix(p.url, "https://localhost:") {
		t.Fatal(p.url)
	}
	for _, two := range []bool{false, true} {
		p.client = client(two, nil, root)
		defer p.client.CloseIdleConnections()
		events := p.subscribe(t, `subscription { userChanged { user { id } } }`, "")
		if answer := p.graphql(t, p.user, `{ users { totalCount } }`); !strings.Contains(answer, "totalCount") {
			t.Error(answer)
		}
		mutation := `mutation { createUser(input: {name: "Alice", email: "alice@example.com"}) { id } }`
		if two {
			mutation = `mutation { updateUser(input: {id: "alice", name: "A"}) { id } }`
		}
		if answer := p.graphql(t, p.user, mutation); !strings.Contains(answer, `"id":"alice"`) {
			t.Error(answer)
		}
		if _, event := next(t, events); !strings.Contains(event, "alice") {
			t.Error(event)
		}
	}
	if status, answer := p.post(t, "/v1/SocialService", "text/xml; charset=utf-8", "", p.soap); status != 200 {
		t.Errorf("SOAP: %d %s", status, answer)
	}
	overSockets(t, p, root)
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true}}}
	if _, err := old.Get(p.url); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v", err)
	}
}

// overSockets subscribes over a WebSocket and gets an event of some size.
func overSockets(t *testing.T, p *program, root *identity) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(root.Leaf)
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, TLSClientConfig: &tls.Config{RootCAs: roots}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ws, _, err := d.DialContext(ctx, "wss"+strings.TrimPrefix(p.url, "https")+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	say := func(text string) {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(want string) {
		t.Helper()
		_ = ws.SetReadDeadline(time.Now().Add(30 * time.Second)) // fails when it is closed, which shows below
		_, text, err := ws.ReadMessage()
		if err != nil || !strings.Contains(string(text), want) {
			t.Fatalf("%.200s %v, want %s", text, err, want)
		}
	}
	say(`{"type":"connection_init"}`)
	hear("connection_ack")
	say(`{"id":"1","type":"subscribe","payload":{"query":"subscription { userChanged { user { id name } } }"}}`)
	say(`{"type":"ping"}`)
	hear("pong")
	for i := range 20 {
		name := fmt.Sprintf("%d%s", i, strings.Repeat("n", 90))
		if answer := p.graphql(t, p.user, `mutation { updateUser(input: {id: "alice", name: "`+name+`"}) { id } }`); !strings.Contains(answer, "alice") {
			t.Fatal(answer)
		}
		hear(name)
	}
}

func TestCertificatesOfThePortAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := identify(t, dir, "root", nil)
	first := identify(t, dir, "server", root)
	p := start(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", first.cert, "--tls-key", first.key)
	serial := func() *big.Int {
		c := client(false, nil, root)
		defer c.CloseIdleConnections()
		resp, err := c.Get(p.url + "/graphql")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.TLS.PeerCertificates[0].SerialNumber
	}
	if serial().Cmp(first.Leaf.SerialNumber) != 0 {
		t.Error("another certificate is shown")
	}
	other := identify(t, t.TempDir(), "other", root)
	copyFile(t, other.key, first.key) // the two no longer fit
	second := identify(t, dir, "server", root)
	deadline := time.Now().Add(30 * time.Second)
	for serial().Cmp(second.Leaf.SerialNumber) != 0 {
		if time.Now().After(deadline) {
			t.Fatal("the new certificate is never shown")
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

const anonymousCall = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body><CreatePost><input><title>T</title></input></CreatePost></s:Body></s:Envelope>`

// Certificates that accounts name, with and without an authority at the door.
func TestPartnersCallWithTheirCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, partners := identify(t, dir, "root", nil), identify(t, dir, "partners", nil)
	server := identify(t, dir, "server", root)
	issued, own := identify(t, dir, "issued", partners), identify(t, dir, "own", nil)
	stranger := identify(t, dir, "stranger", partners)
	var printed strings.Builder
	if err := run(t.Context(), []string{"soap", "certificate", own.cert}, nil, &printed, io.Discard); err != nil {
		t.Fatal(err)
	}
	accounts := filepath.Join(dir, "accounts.json")
	text := fmt.Sprintf(`[{"name": "issued", "roles": ["USER"], "certificates": [{"issuer": "CN=partners", "subject": "CN=issued"}]},
		{"name": "own", "roles": ["USER"], "certificates": [{"sha256": %q}]}]`, find(t, printed.String(), `sha256 +(\S+)`))
	if err := os.WriteFile(accounts, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	base := []string{"--tls-cert", server.cert, "--tls-key", server.key, "--accounts", accounts, "--soap-ca", partners.cert}
	call := func(p *program, shown *identity) string {
		t.Helper()
		c := client(false, shown, root)
		defer c.CloseIdleConnections()
		resp, err := c.Post(p.url+"/v1/SocialService", "text/xml", strings.NewReader(anonymousCall))
		if err != nil {
			return "refused"
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return "refused"
		}
		for _, word := range []string{"<tns:authorId>issued<", "<tns:authorId>own<", "FailedAuthentication", "FORBIDDEN"} {
			if strings.Contains(string(body), word) {
				return strings.Trim(strings.TrimPrefix(word, "<tns:authorId>"), "<")
			}
		}
		return string(body)
	}
	for _, c := range []struct {
		mode  []string
		wants [4]string // issued, own, stranger, none
	}{
		{[]string{"--tls-client-auth", "optional"}, [4]string{"issued", "own", "FailedAuthentication", "FORBIDDEN"}},
		{[]string{"--tls-client-auth", "require", "--tls-client-ca", partners.cert}, [4]string{"issued", "refused", "FailedAuthentication", "refused"}},
		{nil, [4]string{"FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN"}},
	} {
		p := start(t, filepath.Join(t.TempDir(), "data"), append(base, c.mode...)...)
		for i, shown := range []*identity{issued, own, stranger, nil} {
			if got := call(p, shown); got != c.wants[i] {
				t.Errorf("%v, caller %d: %s, want %s", c.mode, i, got, c.wants[i])
			}
		}
	}
}
