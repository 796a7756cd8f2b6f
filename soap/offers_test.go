package soap_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tidings/bus/bustest"
	"tidings/internal/proc/proctest"
	"tidings/soap"
)

// lonely is a gateway without a worker.
func lonely(t *testing.T, log io.Writer) *soap.Gateway {
	t.Helper()
	g, err := soap.NewGateway(bustest.New(t), social(t), soap.Options{Address: "https://api.example.com/", Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTheWSDLIsPackedForThoseWhoTakeThat(t *testing.T) {
	t.Parallel()
	g := lonely(t, io.Discard)
	get := func(accept, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/v1/SocialService?wsdl", nil)
		r.Header.Set("Accept-Encoding", accept)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	plain, packed := get("", ""), get("gzip", "")
	if plain.Header().Get("Content-Encoding") != "" || packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v, %v", plain.Header(), packed.Header())
	}
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil || !bytes.Equal(text, plain.Body.Bytes()) {
		t.Errorf("%v: other texts", err)
	}
	tag := packed.Header().Get("ETag")
	if again := get("gzip", tag); again.Code != http.StatusNotModified || tag == plain.Header().Get("ETag") {
		t.Errorf("%s: %d", tag, again.Code)
	}
}

func TestAPathThatIsNoneSaysWhichThereAre(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	lonely(t, io.Discard).NotFound(w, httptest.NewRequest(http.MethodPost, "/v9/SocialService", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "https://api.example.com/v1/SocialService?wsdl") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAnOutageDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	var log proctest.Log
	g := lonely(t, &log)
	for range 200 {
		r := httptest.NewRequest(http.MethodPost, "/v1/SocialService", strings.NewReader(envelope11("", "<t:ListUsers/>")))
		r.Header.Set("Content-Type", "text/xml")
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); w.Code != http.StatusInternalServerError {
			t.Fatal(w.Body)
		}
	}
	if n := strings.Count(log.String(), "envelope not answered"); n == 0 || n > 100 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
