//go:build conformance

package image

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keySet serves a set of keys over TLS, with a certificate that its own authority
// has issued.
func keySet(t *testing.T) (url string, authority []byte) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	}))
	t.Cleanup(s.Close)
	return s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// There is no /etc/ssl in the image. The authorities that it knows all the same
// are not this server's: the log says that, and not that there are none.
func TestTheImageKnowsAuthorities(t *testing.T) {
	url, _ := keySet(t)
	_, data := volume(t)
	c := start(t, append(data, "-e", "TIDINGS_JWT_JWKS="+url, "--unsetenv", "TIDINGS_JWT_SECRET"), "--listen", freePort(t), "--admin", "")
	c.until(t, "it says that it does not know the authority", func() error {
		if text := c.log.String(); !strings.Contains(text, "certificate signed by unknown authority") {
			return errors.New(text)
		}
		return nil
	})
}

// An authority of the operator's own is mounted and named.
func TestTheImageTakesAnAuthorityOfTheOperators(t *testing.T) {
	url, authority := keySet(t)
	file := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, authority, 0o644); err != nil {
		t.Fatal(err)
	}
	_, data := volume(t)
	s := startAPI(t, append(data, "-e", "TIDINGS_JWT_JWKS="+url, "--unsetenv", "TIDINGS_JWT_SECRET", "-v", file+":/authority.pem:ro", "-e", "SSL_CERT_FILE=/authority.pem"))
	s.terminate(t)
	s.end(t)
}

// Nor is there /usr/share/zoneinfo.
func TestTheImageKnowsTimeZones(t *testing.T) {
	_, data := volume(t)
	s := startAPI(t, append(data, "-e", "TZ=Asia/Kathmandu"))
	if text := s.log.String(); !strings.Contains(text, "+05:45") {
		t.Errorf("its log is of another zone: %s", text)
	}
	s.terminate(t)
	s.end(t)
}
