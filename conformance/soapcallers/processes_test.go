//go:build conformance

package soapcallers

import (
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/conformance/program"
)

const call = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Header>%s</s:Header><s:Body><CreatePost><input><title>T</title></input></CreatePost></s:Body></s:Envelope>`

// digest is an envelope with a new UsernameToken of erp's.
func (s *service) digest() string {
	nonce, created := rand.Text(), time.Now().UTC().Format(time.RFC3339Nano)
	sum := sha1.Sum([]byte(nonce + created + s.secret))
	const profile = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"
	token := fmt.Sprintf(`<w:Security xmlns:w="%[1]swssecurity-secext-1.0.xsd" xmlns:u="%[1]swssecurity-utility-1.0.xsd"><w:UsernameToken><w:Username>erp</w:Username>`+
		`<w:Password Type="%[1]susername-token-profile-1.0#PasswordDigest">%[2]s</w:Password><w:Nonce>%[3]s</w:Nonce><u:Created>%[4]s</u:Created></w:UsernameToken></w:Security>`,
		profile, base64.StdEncoding.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString([]byte(nonce)), created)
	return fmt.Sprintf(call, token)
}

// send returns the author of the post that a call creates, or what is in its fault.
func send(t *testing.T, client *http.Client, url, envelope string) string {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		resp, err := client.Post(url+"/v1/SocialService", "text/xml", strings.NewReader(envelope))
		if err != nil {
			t.Error(err)
			return ""
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Error(err)
			return ""
		}
		if _, rest, ok := strings.Cut(string(body), "<tns:authorId>"); ok {
			author, _, _ := strings.Cut(rest, "<")
			return author
		}
		if strings.Contains(string(body), "FailedAuthentication") {
			return "refused"
		}
		if !strings.Contains(string(body), "UNAVAILABLE") || time.Now().After(deadline) {
			return string(body)
		}
	}
}

// Two apis and three workers, over TLS at the edge and one bus: a digest is taken
// once by all of them, and a certificate that an api was shown reaches the workers,
// which know the accounts.
func TestProcessesKnowPartnersTogether(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	s := start(t, "--nats-listen", port)
	onBus := []string{"TIDINGS_NATS_URL=nats://" + port}
	for range 2 {
		program.Start(t, "worker", onBus, slices.Concat(s.files, common)...)
	}
	first, second := s.URL, program.Start(t, "api", onBus, slices.Concat(s.edge, common)...).URL
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(s.ca)
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for _, url := range []string{first, second} {
		if got := send(t, client, url, s.digest()); got != "acme" {
			t.Errorf("%s: %s", url, got)
		}
	}
	for range 20 {
		envelope, results := s.digest(), make(chan string, 12)
		var wg sync.WaitGroup
		for i := range cap(results) {
			wg.Go(func() { results <- send(t, client, []string{first, second}[i%2], envelope) })
		}
		wg.Wait()
		close(results)
		count := map[string]int{}
		for got := range results {
			count[got]++
		}
		if count["acme"] != 1 || count["refused"] != cap(results)-1 {
			t.Errorf("%v", count)
		}
	}
	shown, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		t.Fatal(err)
	}
	partner := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{shown}}}}
	defer partner.CloseIdleConnections()
	for range 10 { // whichever worker answers
		if got := send(t, partner, second, fmt.Sprintf(call, "")); got != "acme" {
			t.Errorf("by certificate: %s", got)
		}
	}
}

// freePort is an address of this machine that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
