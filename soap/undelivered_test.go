package soap_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidings/auth"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/soap"
)

// front is a gateway with its listener, and what it remembers.
type front struct {
	addr string
	lost *soap.Undelivered
}

// newFront serves a gateway as the product does.
func newFront(t *testing.T, s *resourcetest.Service) front {
	t.Helper()
	return newFrontWith(t, s, trusting)
}

func newFrontWith(t *testing.T, s *resourcetest.Service, o soap.Options) front {
	t.Helper()
	o.Undelivered = soap.NewUndelivered(s.Bus, func() uint64 { return s.Feed.Now().Seq }, nil)
	gateway, err := soap.NewGateway(s.Bus, s.Model, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = o.Undelivered.Run(ctx) })
	running.Go(func() {
		_ = proc.ServeHTTP(ctx, slog.New(slog.DiscardHandler), l, gateway, nil, nil)
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return front{l.Addr().String(), o.Undelivered}
}

// send writes a call to a new connection.
func (f front) send(t *testing.T, token, header, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if token != "" {
		token = "Authorization: Bearer " + token + "\r\n"
	}
	if header != "" {
		header = "<s:Header>" + header + "</s:Header>"
	}
	body = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService">` + header + `<s:Body>` + body + `</s:Body></s:Envelope>`
	if _, err := fmt.Fprintf(conn, "POST /v1/SocialService HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\n%sContent-Length: %d\r\n\r\n%s", token, len(body), body); err != nil {
		t.Fatal(err)
	}
	return conn
}

// take reads the answer, and closes the connection in order.
func take(t *testing.T, conn net.Conn) (status int, answer string) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	return resp.StatusCode, string(raw)
}

// drop waits until the answer begins to come and closes the connection without
// taking the rest of it.
func (f front) drop(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	f.remembers(t, 1)
}

// remembers waits until so many calls are known to have lost their answer.
func (f front) remembers(t *testing.T, n int) {
	t.Helper()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	late := time.After(20 * time.Second)
	for f.lost.Len() != n {
		select {
		case <-poll.C:
		case <-late:
			t.Fatalf("%d lost answers are known, not %d", f.lost.Len(), n)
		}
	}
}

// made counts the records of a type.
func made(t *testing.T, s *resourcetest.Service, typ string) int {
	t.Helper()
	_, last, err := s.Bus.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	n, err := s.Client.Count(t.Context(), auth.Principal{Subject: "root", Roles: people["root"]}, typ, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const onePost = `<CreatePost><input><title>once</title></input></CreatePost>`

func TestACallWhoseAnswerWasLostIsNotCarriedOutTwice(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	serve(t, s, trusting)
	await(t, s)
	f := newFront(t, s)
	alice := token(t, "alice")
	count := 0
	for operation, call := range map[string]struct {
		body string
		n    int
	}{
		"one":  {onePost, 1},
		"many": {batch("CreatePosts", "", `<title>a</title>`, `<title>b</title>`, `<nome/>`), 2},
		"all":  {batch("CreatePosts", "true", `<title>c</title>`, `<title>d</title>`), 2},
	} {
		f.drop(t, f.send(t, alice, "", call.body))
		count += call.n
		if n := made(t, s, "Post"); n != count {
			t.Fatalf("%s: there are %d posts before it is sent again, not %d", operation, n, count)
		}
		status, answer := take(t, f.send(t, alice, "", call.body))
		if n := made(t, s, "Post"); status != 200 || n != count || !strings.Contains(answer, "<tns:title>") {
			t.Errorf("%s: sent again, there are %d posts, not %d: %d %s", operation, n, count, status, answer)
		}
		f.remembers(t, 0)
		take(t, f.send(t, alice, "", call.body)) // who had the answer means another one
		count += call.n
		if n := made(t, s, "Post"); n != count {
			t.Errorf("%s: an equal call after the answer: there are %d posts, not %d", operation, n, count)
		}
	}
}

// The call comes again before anything has told the gateway that the connection
// of the first one has ended: the system knows.
func TestACallMayComeAgainAtOnce(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the state of a connection")
	}
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	serve(t, s, trusting)
	await(t, s)
	f := newFront(t, s)
	alice := token(t, "alice")
	for n := range 60 {
		body := fmt.Sprintf(`<CreatePost><input><title>%d</title></input></CreatePost>`, n)
		conn := f.send(t, alice, "", body)
		if n%2 == 0 { // else it may not even be read yet
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
		if status, answer := take(t, f.send(t, alice, "", body)); status != 200 {
			t.Fatal(answer)
		}
	}
	if n := made(t, s, "Post"); n != 60 {
		t.Errorf("there are %d posts, not 60", n)
	}
}

func TestEqualCallsWhoseAnswersArrivedAreCarriedOutEach(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	serve(t, s, trusting)
	await(t, s)
	f := newFront(t, s)
	alice := token(t, "alice")
	for range 5 { // each over a connection of its own, which is closed at once
		take(t, f.send(t, alice, "", onePost))
	}
	var wg sync.WaitGroup
	for range 5 { // side by side
		wg.Go(func() { take(t, f.send(t, alice, "", onePost)) })
	}
	wg.Wait()
	if n := made(t, s, "Post"); n != 10 || f.lost.Len() != 0 {
		t.Errorf("ten calls made %d posts, and %d answers were lost", n, f.lost.Len())
	}
}

// A program of many threads sends equal calls, and a broken network loses the
// answers to all of them: each comes again.
func TestEqualCallsWhoseAnswersWereLostComeAgainEach(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	serve(t, s, trusting)
	await(t, s)
	one, two := newFront(t, s), newFront(t, s)
	alice := token(t, "alice")
	var conns []net.Conn
	for range 3 {
		conns = append(conns, one.send(t, alice, "", onePost))
	}
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	one.remembers(t, 3)
	two.remembers(t, 3)
	for i, f := range []front{one, two, one} {
		if status, answer := take(t, f.send(t, alice, "", onePost)); status != 200 {
			t.Error(answer)
		}
		one.remembers(t, 2-i)
		two.remembers(t, 2-i)
	}
	if n := made(t, s, "Post"); n != 3 {
		t.Errorf("three calls, each sent again, made %d posts", n)
	}
}

func TestALostAnswerIsThatOfTheSameCallerAndTheSameBytes(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	serve(t, s, trusting)
	await(t, s)
	f := newFront(t, s)
	alice := token(t, "alice")
	f.drop(t, f.send(t, alice, "", onePost))
	take(t, f.send(t, token(t, "bob"), "", onePost))
	take(t, f.send(t, alice, "", onePost+" "))
	take(t, f.send(t, alice, "", `<GetPost><id>x</id></GetPost>`))
	if n := made(t, s, "Post"); n != 3 || f.lost.Len() != 1 {
		t.Errorf("there are %d posts, and %d lost answers", n, f.lost.Len())
	}
}

// Behind a proxy that ends TLS it is the header about the certificate that says
// who calls.
func TestALostAnswerIsThatOfTheSameCertificate(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	erp, crm := clientCert(t, "erp").Leaf, clientCert(t, "crm").Leaf
	o := trusting
	var shown atomic.Pointer[x509.Certificate]
	o.Shown = func(*http.Request) ([]*x509.Certificate, error) { return []*x509.Certificate{shown.Load()}, nil }
	serveFor(t, s, o, partners(t, erp, crm))
	await(t, s)
	f := newFrontWith(t, s, o)
	shown.Store(erp)
	f.drop(t, f.send(t, "", "", onePost))
	shown.Store(crm)
	if _, answer := take(t, f.send(t, "", "", onePost)); !strings.Contains(answer, "<tns:authorId>crm<") || made(t, s, "Post") != 2 {
		t.Errorf("there are %d posts: %s", made(t, s, "Post"), answer)
	}
	shown.Store(erp)
	if _, answer := take(t, f.send(t, "", "", onePost)); !strings.Contains(answer, "<tns:authorId>acme<") || made(t, s, "Post") != 2 {
		t.Errorf("there are %d posts: %s", made(t, s, "Post"), answer)
	}
}

// The worker that carried a call out is gone, and the call comes again by another
// gateway: the answer is made from the log.
func TestACallComesAgainAtAnotherGatewayAndAnotherWorker(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	stop := serveUntil(t, s)
	await(t, s)
	one, two := newFront(t, s), newFront(t, s)
	alice := token(t, "alice")
	one.drop(t, one.send(t, alice, "", onePost))
	stop()
	two.remembers(t, 1)
	serve(t, resourcetest.Reader(t, s.Bus, os.DirFS("../examples/social"), resource.FeedOptions{}), trusting)
	await(t, s)
	if status, answer := take(t, two.send(t, alice, "", onePost)); status != 200 {
		t.Fatal(answer)
	}
	if n := made(t, s, "Post"); n != 1 {
		t.Errorf("there are %d posts", n)
	}
	one.remembers(t, 0) // what has come again is forgotten by all
	take(t, one.send(t, alice, "", onePost))
	if n := made(t, s, "Post"); n != 2 {
		t.Errorf("after an equal call there are %d posts", n)
	}
}

// serveUntil is serve until stop is called.
func serveUntil(t *testing.T, s *resourcetest.Service) (stop func()) {
	t.Helper()
	engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewVerifier(auth.Options{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	service, err := soap.NewService(s.Bus, s.Model, engine, accounts(t), verifier, trusting)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = service.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

// The caller goes while the call is on its way, or hears that nobody knows how
// it fared.
func TestACallThatWasLeftOrNotAnsweredIsNotCarriedOutTwice(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	f := newFront(t, s)
	alice := token(t, "alice")
	if status, answer := take(t, f.send(t, alice, "", onePost)); status != 500 || !strings.Contains(answer, "UNAVAILABLE") {
		t.Fatalf("nobody is there: %s", answer)
	}
	f.remembers(t, 1)
	serve(t, s, trusting)
	await(t, s)
	for range 10 {
		conn := f.send(t, alice, "", onePost) // which is what was not answered
		f.remembers(t, 0)
		_ = conn.Close() // it is carried out, or not yet
		f.remembers(t, 1)
	}
	if status, answer := take(t, f.send(t, alice, "", onePost)); status != 200 {
		t.Fatal(answer)
	}
	if n := made(t, s, "Post"); n != 1 {
		t.Errorf("there are %d posts", n)
	}
}

// A token that must not come twice may come again with a call whose answer was
// lost, and no more.
func TestATokenMayComeAgainWithALostCall(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	replays, err := soap.OpenReplays(t.Context(), s.Bus, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := trusting
	o.Replays = replays
	serve(t, s, o)
	await(t, s)
	f := newFront(t, s)
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	header := `<w:Security xmlns:w="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"><w:UsernameToken><w:Username>alice</w:Username><w:Password>` + password +
		`</w:Password><w:Nonce>` + base64.StdEncoding.EncodeToString(nonce[:]) + `</w:Nonce><u:Created xmlns:u="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd">` +
		time.Now().UTC().Format(time.RFC3339) + `</u:Created></w:UsernameToken></w:Security>`
	f.drop(t, f.send(t, "", header, onePost))
	if status, answer := take(t, f.send(t, "", header, onePost)); status != 200 {
		t.Errorf("again: %s", answer)
	}
	if status, answer := take(t, f.send(t, "", header, onePost)); status != 500 || !strings.Contains(answer, "FailedAuthentication") {
		t.Errorf("after the answer: %d %s", status, answer)
	}
	if n := made(t, s, "Post"); n != 1 {
		t.Errorf("there are %d posts", n)
	}
}
