package proc_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// What one process takes for the end of a request another may take for its middle:
// then the rest is a request of somebody else's. So whatever can be read in two
// ways is refused, or is the last of its connection.
func TestRequestsThatCanBeReadInTwoWaysHideNoOther(t *testing.T) {
	t.Parallel()
	const head = "POST / HTTP/1.1\r\nHost: localhost\r\n"
	const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, shape := range map[string]string{
		"a length beside chunks":        head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunks beside a length":        head + "Transfer-Encoding: chunked\r\nContent-Length: 48\r\n\r\n0\r\n\r\n" + hidden,
		"chunks with trailers":          head + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\nContent-Length: 9\r\n\r\n" + hidden,
		"two lengths":                   head + "Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden,
		"a list of lengths":             head + "Content-Length: 0, 44\r\n\r\n" + hidden,
		"a length with a sign":          head + "Content-Length: +0\r\n\r\n" + hidden,
		"a coding that is not known":    head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunks twice":                  head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunks after another coding":   head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + hidden,
		"a blank before the colon":      head + "Transfer-Encoding : chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n" + hidden,
		"a folded first line":           "POST / HTTP/1.1\r\n Host: localhost\r\nHost: localhost\r\n\r\n" + hidden,
		"a vertical tab":                head + "Transfer-Encoding:\vchunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n" + hidden,
		"a zero byte":                   head + "X: a\x00b\r\n\r\n" + hidden,
		"a bare carriage return":        head + "X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunks of HTTP/1.0":            "POST / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"two hosts":                     "GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n" + hidden,
		"no host":                       "GET / HTTP/1.1\r\n\r\n" + hidden,
		"a host with a path":            "GET / HTTP/1.1\r\nHost: localhost/x\r\n\r\n" + hidden,
		"a size with a sign":            head + "Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n" + hidden,
		"a size with a prefix":          head + "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + hidden,
		"a size that overflows":         head + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n" + hidden,
		"a bare line feed after a size": head + "Transfer-Encoding: chunked\r\n\r\n5;a\nbbbbb\r\n0\r\n\r\n" + hidden,
		"no end after a chunk":          head + "Transfer-Encoding: chunked\r\n\r\n1\r\naXX0\r\n\r\n" + hidden,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var paths []string
			address := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				paths = append(paths, r.URL.Path)
				mu.Unlock()
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					http.Error(w, "bad body", http.StatusBadRequest)
				}
			}))
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(conn, shape); err != nil {
				t.Fatal(err)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			answer, _ := io.ReadAll(bufio.NewReader(conn))
			mu.Lock()
			defer mu.Unlock()
			if len(paths) > 1 || len(paths) == 1 && paths[0] != "/" {
				t.Errorf("it was read as %s:\n%s", strings.Join(paths, " and "), answer)
			}
		})
	}
}
