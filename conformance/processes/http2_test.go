//go:build conformance

package processes

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// http2 is a client that speaks HTTP/2, in the clear, as proxies do, or over TLS:
// many streams over a connection. In the clear it reads the frames that come.
type http2 struct {
	*http.Client
	mu    sync.Mutex
	away  map[string]int // GOAWAY frames by connection, which the local address names
	cuts  []string       // event streams that ended without telling their client to come back
	no    int            // streams that were refused
	conns int
}

// newHTTP2 returns one that trusts a certificate; nil: in the clear.
func newHTTP2(t testing.TB, trusted *x509.Certificate) *http2 {
	h := &http2{away: map[string]int{}}
	protocols := new(http.Protocols)
	transport := &http.Transport{Protocols: protocols, ResponseHeaderTimeout: 4 * time.Second, DialContext: h.dial}
	if trusted == nil {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP2(true)
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AddCert(trusted)
	}
	t.Cleanup(transport.CloseIdleConnections)
	h.Client = &http.Client{Transport: transport}
	return h
}

func (h *http2) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns++
	h.away[conn.LocalAddr().String()] = 0
	return &framed{Conn: conn, client: h}, nil
}

// framed notes the frames that it reads (RFC 9113, 4.1).
type framed struct {
	net.Conn
	client *http2
	head   []byte // of the frame that comes
	skip   int    // what is still to come of one
}

func (f *framed) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	f.note(b[:n])
	return n, err
}

func (f *framed) note(b []byte) {
	const header, goAway = 9, 7
	for len(b) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(b))
			b, f.skip = b[n:], f.skip-n
			continue
		}
		n := min(header-len(f.head), len(b))
		f.head, b = append(f.head, b[:n]...), b[n:]
		if len(f.head) < header {
			return
		}
		f.skip = int(binary.BigEndian.Uint32(append([]byte{0}, f.head[:3]...)))
		if f.head[3] == goAway {
			f.client.mu.Lock()
			f.client.away[f.LocalAddr().String()]++
			f.client.mu.Unlock()
		}
		f.head = f.head[:0]
	}
}

// over is a dial whose streams must end by telling their client to come back.
func (h *http2) over(open func(context.Context, string, string, call) (*eventStream, stream, error)) dial {
	return func(ctx context.Context, base, token string, c call) (stream, error) {
		events, st, err := open(ctx, base, token, c)
		if err != nil {
			h.mu.Lock()
			h.no++
			h.mu.Unlock()
			return nil, err
		}
		return ending{st, func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if err != io.EOF || events.retries != 2 { // one at the beginning
				h.cuts = append(h.cuts, fmt.Sprintf("%v after %d retry fields", err, events.retries))
			}
		}}, nil
	}
}

// ending tells how a stream has ended.
type ending struct {
	stream
	tell func(error)
}

func (e ending) next() (result, error) {
	r, err := e.stream.next()
	if err != nil {
		e.tell(err)
	}
	return r, err
}

// events has a connection for each operation, as far as its client knows.
func (h *http2) events(ctx context.Context, base, token string, c call) (*eventStream, stream, error) {
	req, err := graphqlRequest(ctx, base, token, c)
	if err != nil {
		return nil, nil, err
	}
	s, err := openEventsBy(h.Client, req)
	return s, s, err
}

// single reserves a stream, opens it and sends it the operation.
func (h *http2) single(ctx context.Context, base, token string, c call) (*eventStream, stream, error) {
	send := func(method, stream string, body any) (*http.Request, error) {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, method, base+"/graphql", bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("X-GraphQL-Event-Stream-Token", stream)
		return req, nil
	}
	do := func(method, stream string, body any, want int) (string, error) {
		req, err := send(method, stream, body)
		if err != nil {
			return "", err
		}
		resp, err := h.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != want {
			err = fmt.Errorf("%s: %s %s", method, resp.Status, text)
		}
		return string(text), err
	}
	ticket, err := do(http.MethodPut, "", nil, http.StatusCreated)
	if err != nil {
		return nil, nil, err
	}
	req, err := send(http.MethodGet, ticket, nil)
	if err != nil {
		return nil, nil, err
	}
	events, err := openEventsBy(h.Client, req)
	if err != nil {
		return nil, nil, err
	}
	extensions := map[string]any{"operationId": operationID}
	if cursor := c.cursor(); cursor != "" {
		extensions["cursor"] = cursor
	}
	c.Extensions = extensions
	if _, err := do(http.MethodPost, ticket, c, http.StatusAccepted); err != nil {
		events.close()
		return nil, nil, err
	}
	return events, shared{events}, nil
}

// shared is an operation on a stream that could carry others.
type shared struct{ *eventStream }

func (s shared) next() (result, error) {
	var m struct {
		ID      string `json:"id"`
		Payload result `json:"payload"`
	}
	_, data, err := s.event()
	if err != nil {
		return m.Payload, err
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil || m.ID != operationID {
		return m.Payload, fmt.Errorf("a result for operation %q: %w", m.ID, err)
	}
	return m.Payload, nil
}

// door passes each connection on to the api that is set at the moment, as a load
// balancer does that sees which are ready.
type door struct {
	addr string
	mu   sync.Mutex
	to   string
}

func newDoor(t testing.TB, to *api) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{addr: l.Addr().String()}
	d.lead(to)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { d.pass(ctx, conn) })
		}
	})
	return d
}

func (d *door) lead(to *api) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, d.to, _ = strings.Cut(to.url, "://")
}

func (d *door) pass(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	d.mu.Lock()
	to := d.to
	d.mu.Unlock()
	back, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer back.Close()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { defer cancel(); _, _ = io.Copy(back, conn) })
	wg.Go(func() { defer cancel(); _, _ = io.Copy(conn, back) })
	<-ctx.Done()
	conn.Close()
	back.Close()
	wg.Wait()
}

// Over HTTP/2 all event streams of a client share a connection, on which it
// would come back to the process that it is to leave. It is told to go away, each
// stream is told when to come back after what waits for it, and nothing is lost
// or doubled.
func TestEventStreamsOverHTTP2MoveWhenTheirAPIIsToldToStop(t *testing.T) {
	t.Parallel()
	const window = 2 * time.Second
	settings := []string{"--drain-delay", "0s", "--drain-window", window.String()}
	t.Run("in the clear", func(t *testing.T) {
		t.Parallel()
		c := twoAPIs(t, settings...)
		h := newHTTP2(t, nil)
		h.move(t, c, "http", c.apis[0], c.apis[1], window)
		h.mu.Lock()
		defer h.mu.Unlock()
		away := 0
		for _, n := range h.away {
			away += n
		}
		if away != 1 {
			t.Errorf("%d connections were told to go away", away)
		}
	})
	t.Run("over TLS", func(t *testing.T) {
		t.Parallel()
		trusted, cert, key := certificate(t)
		c := twoAPIs(t) // by which posts are made
		private := func(name string) *api {
			return startAPI(t, name, c.data, []string{"TIDINGS_NATS_URL=" + c.bus}, append([]string{"--tls-cert", cert, "--tls-key", key}, settings...)...)
		}
		newHTTP2(t, trusted).move(t, c, "https", private("api 3"), private("api 4"), window)
	})
}

// move subscribes by streams that one connection carries, stops the api where
// they are, and counts what comes.
func (h *http2) move(t *testing.T, c *cluster, scheme string, from, to *api, window time.Duration) {
	t.Helper()
	const many = 24
	entrance := newDoor(t, from)
	url := scheme + "://" + entrance.addr
	if resp, err := h.Get(url + "/graphql?query={__typename}"); err != nil { // one connection, before many want one
		t.Fatal(err)
	} else {
		resp.Body.Close()
	}
	m := move(t, c, []*api{{url: url}}, []dial{h.over(h.events), h.over(h.single)}, many)
	if h.conns != 1 {
		t.Errorf("they came over %d connections", h.conns)
	}
	entrance.lead(to)
	from.terminate(t)
	if code := from.exit(t, window+10*time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	m.finish(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, cut := range h.cuts {
		t.Errorf("a stream ended with %s", cut)
	}
	if h.no > 0 {
		t.Errorf("%d streams were refused", h.no)
	}
}

// certificate makes one for this machine that has signed itself, and the files
// that a service reads it from.
func certificate(t testing.TB) (made *x509.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "api"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if made, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return made, write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}
