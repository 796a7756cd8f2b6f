//go:build conformance

package processes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/internal/proc"
)

// behind is a server in the place of an api, served as an api is, that keeps what
// it was asked.
type behind struct {
	*api
	mu    sync.Mutex
	asked []*http.Request
}

// standIns are three of them.
func standIns(t testing.TB) (apis []*api, all []*behind) {
	t.Helper()
	for range 3 {
		b := &behind{}
		public := b.serve(t, func(w http.ResponseWriter, r *http.Request) {
			b.mu.Lock()
			b.asked = append(b.asked, r)
			b.mu.Unlock()
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":{"__typename":"Query"}}`)
		})
		admin := b.serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
		b.api = &api{process: &process{name: "stand-in", ready: "http://" + admin + "/readyz"}, url: "http://" + public}
		apis, all = append(apis, b.api), append(all, b)
	}
	return apis, all
}

func (b *behind) serve(t testing.TB, h http.HandlerFunc) (address string) {
	t.Helper()
	l, err := proc.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proc.ServeHTTP(ctx, slog.New(slog.DiscardHandler), l, h, nil, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// paths are what the three were asked for, but for the harness's own questions, and
// the last such request.
func paths(all []*behind) (list []string, last *http.Request) {
	for _, b := range all {
		b.mu.Lock()
		for _, r := range b.asked {
			if r.URL.Path != "/graphql" {
				list, last = append(list, r.URL.Path), r
			}
		}
		b.mu.Unlock()
	}
	return list, last
}

// proxies runs HAProxy and nginx, one after the other, in front of stand-ins.
func proxies(t *testing.T, try func(t *testing.T, p *proxy, all []*behind)) {
	_, cert, key := certificate(t)
	for name, start := range map[string]func(testing.TB, []*api, string, string) *proxy{"haproxy": startHAProxy, "nginx": startNginx} {
		t.Run(name, func(t *testing.T) {
			apis, all := standIns(t)
			p := start(t, apis, cert, key)
			if p.stats != "" {
				p.allUp(t)
			}
			try(t, p, all)
		})
	}
}

// raw sends bytes and reads what comes until the other side closes, or is silent
// for a second.
func raw(t testing.TB, url, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	answer, _ := io.ReadAll(bufio.NewReader(conn))
	return string(answer)
}

// The service believes of its proxies who calls, by which name, and with which
// certificate: what clients say of that ends at the proxy.
func TestProxiesPassNothingOnThatIsTheirsToSay(t *testing.T) {
	proxies(t, func(t *testing.T, p *proxy, all []*behind) {
		raw(t, p.plain.url, "GET /said HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+
			"X-Request-Id: forged\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\nX-Forwarded-Proto: https\r\n"+
			"Client-Cert: :Zm9yZ2Vk:\r\nclient-cert-chain: :Zm9yZ2Vk:\r\nX-CLIENT-CERT: forged\r\nX-Forwarded-Client-Cert: forged\r\n"+
			"X-Forwarded-Tls-Client-Cert: forged\r\nX-Amzn-Mtls-Clientcert: forged\r\nX-Amzn-Mtls-Clientcert-Leaf: forged\r\n\r\n")
		list, r := paths(all)
		if len(list) != 1 {
			t.Fatalf("%q arrived", list)
		}
		for name, values := range r.Header {
			if text := strings.Join(values, " "); strings.Contains(strings.ToLower(strings.ReplaceAll(name, "-", "")), "clientcert") ||
				strings.Contains(text, "forged") || strings.Contains(text, "192.0.2.") {
				t.Errorf("%s: %q came through", name, values)
			}
		}
		if from := r.Header.Values("X-Forwarded-For"); len(from) != 1 || from[0] != "127.0.0.1" {
			t.Errorf("the proxy says that it was %q", from)
		}
		if proto := r.Header.Values("X-Forwarded-Proto"); len(proto) != 1 || proto[0] != "http" {
			t.Errorf("the proxy says that it came over %q", proto)
		}
		if id := r.Header.Values("X-Request-Id"); len(id) != 1 || len(id[0]) < 32 {
			t.Errorf("the proxy calls it %q", id)
		}
	})
}

// A request whose end can be found in two ways hides no other, whether the proxy
// passes it on or not, and whatever comes next over the proxy's connections.
func TestRequestsThatCanBeReadInTwoWaysHideNoOtherBehindProxies(t *testing.T) {
	const head = "POST /open HTTP/1.1\r\nHost: x\r\n"
	const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
	proxies(t, func(t *testing.T, p *proxy, all []*behind) {
		for name, shape := range map[string]string{
			"a length that ends first":   head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"chunks that end first":      head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 5+len(hidden)) + hidden,
			"chunks, then a length":      head + fmt.Sprintf("Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n", 5+len(hidden)) + hidden,
			"two lengths":                head + fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n", len(hidden)) + hidden,
			"a coding with a tab":        head + fmt.Sprintf("Transfer-Encoding:\tchunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n", 5+len(hidden)) + hidden,
			"another coding with chunks": head + fmt.Sprintf("Transfer-Encoding: chunked, identity\r\nContent-Length: %d\r\n\r\n0\r\n\r\n", 5+len(hidden)) + hidden,
		} {
			answer := raw(t, p.plain.url, shape)
			if n := strings.Count(answer, "HTTP/1.1 200"); n > 1 {
				t.Errorf("%s: %d answers:\n%s", name, n, answer)
			}
		}
		if _, err := post(t.Context(), p.plain.url, anybody, call{Query: `{ __typename }`}); err != nil {
			t.Error(err)
		}
		if list, _ := paths(all); strings.Contains(strings.Join(list, " "), "hidden") {
			t.Errorf("what was hidden arrived: %q", list)
		}
	})
}
