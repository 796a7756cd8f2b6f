package soap_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

// BenchmarkHTTP sets a server that reads envelopes and writes the answers to
// what an engine would say beside one that reads as much and answers with the
// same bytes: static / codec is how much of a bare server's speed the codec
// leaves. It is the codec alone, without the bus, the engine and the log.
func BenchmarkHTTP(b *testing.B) {
	c, in, result := newCodec(b), createPost(b), []byte(post)
	answer := func() ([]byte, error) {
		op, _, err := c.Decode(in, "text/xml; charset=utf-8")
		if err != nil {
			return nil, err
		}
		return c.Encode(op, result)
	}
	static, err := answer()
	if err != nil {
		b.Fatal(err)
	}
	handlers := map[string]func(envelope []byte) ([]byte, error){
		"static": func([]byte) ([]byte, error) { return static, nil },
		"codec": func(envelope []byte) ([]byte, error) {
			op, _, err := c.Decode(envelope, "text/xml; charset=utf-8")
			if err != nil {
				return nil, err
			}
			return c.Encode(op, result)
		},
	}
	for _, what := range []string{"static", "codec"} {
		b.Run(what, func(b *testing.B) { overHTTP(b, in, handlers[what]) })
	}
}

// overHTTP posts an envelope on 32 connections that stay.
func overHTTP(b *testing.B, envelope []byte, answer func([]byte) ([]byte, error)) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return
		}
		out, err := answer(body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header()["Content-Type"] = []string{"text/xml; charset=utf-8"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(out))}
		_, _ = w.Write(out)
	}))
	defer server.Close()
	request := fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(envelope), envelope)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Errorf("%v, %v", resp, err)
				return
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
