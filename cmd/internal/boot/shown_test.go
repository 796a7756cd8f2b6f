package boot_test

import (
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidings/cmd/internal/boot"
)

// A header that tells of a certificate is believed from proxies, and from nobody else.
func TestCertificatesThatProxiesTellOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert := base64.StdEncoding.EncodeToString(selfSigned(t, "erp"))
	schema, accounts := filepath.Join(dir, "schema"), filepath.Join(dir, "accounts.json")
	if err := os.Mkdir(schema, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(schema, "s.graphql"), turns[0])
	put(t, accounts, `[{"name": "erp", "roles": ["USER"], "certificates": [{"certificate": "`+cert+`"}]}]`)
	call := func(t *testing.T, proxies string, headers ...string) string {
		c, _, err := read([]string{"--dev", "--schema", schema, "--data", t.TempDir(), "--accounts", accounts, "--service", "Notes",
			"--public-url", "http://localhost", "--trusted-proxies", proxies, "--client-cert-header", "Client-Cert"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rooms, err := boot.Open(t.Context(), c, boot.Role{Writes: true, Edge: true}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := rooms.Close(); err != nil {
				t.Error(err)
			}
		})
		runParts(t, rooms.Parts()...)
		if err := rooms.Started(t.Context()); err != nil {
			t.Fatal(err)
		}
		now, done := rooms.Use()
		defer done()
		server := httptest.NewServer(now.Gateway)
		defer server.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/Notes", strings.NewReader(
			`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:Notes"><s:Body><CreateNote><input><text>T</text></input></CreateNote></s:Body></s:Envelope>`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "text/xml")
		for _, line := range headers {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Add(name, value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"CreateNoteResponse", "FailedAuthentication", "FORBIDDEN", "cannot be read"} {
			if strings.Contains(string(body), word) {
				return word
			}
		}
		return resp.Status + string(body)
	}
	const loopback, elsewhere = "127.0.0.0/8,::1", "192.0.2.0/24"
	stranger := base64.StdEncoding.EncodeToString(selfSigned(t, "stranger"))
	for _, c := range []struct {
		what, proxies string
		headers       []string
		want          string
	}{
		{"a proxy", loopback, []string{"Client-Cert: :" + cert + ":", "Client-Cert-Chain: :" + stranger + ":"}, "CreateNoteResponse"},
		{"a proxy, of a stranger", loopback, []string{"Client-Cert: :" + stranger + ":"}, "FailedAuthentication"},
		{"a proxy, of nobody", loopback, nil, "FORBIDDEN"},
		{"a proxy that adds to what comes", loopback, []string{"Client-Cert: :" + stranger + ":", "Client-Cert: :" + cert + ":"}, "cannot be read"},
		{"a proxy, rubbish", loopback, []string{"Client-Cert: none"}, "cannot be read"},
		{"somebody", elsewhere, []string{"Client-Cert: :" + cert + ":"}, "FORBIDDEN"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			if got := call(t, c.proxies, c.headers...); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
