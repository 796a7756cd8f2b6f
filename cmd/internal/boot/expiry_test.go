package boot_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
)

// goodUntil is a certificate of the key that signs itself, as PEM.
func goodUntil(t *testing.T, key *rsa.PrivateKey, end time.Time) string {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(end.Unix()), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// scraped is what /metrics says now.
func scraped(m *proc.Metrics) string {
	w := httptest.NewRecorder()
	m.Route().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestTheMetricsSayUntilWhenCertificatesAreGood(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	now := time.Now().Truncate(time.Second)
	day := func(n int) time.Time { return now.Add(time.Duration(n) * 24 * time.Hour) }
	dir, schema := t.TempDir(), t.TempDir()
	put(t, filepath.Join(schema, "s.graphql"), turns[0])
	keys, public, bus, soap := filepath.Join(dir, "key.pem"), filepath.Join(dir, "public.pem"), filepath.Join(dir, "bus.pem"), filepath.Join(dir, "soap.pem")
	put(t, keys, private)
	put(t, public, goodUntil(t, key, day(40))+goodUntil(t, key, day(30))) // the one between it and its authority ends first
	put(t, bus, goodUntil(t, key, day(50)))
	put(t, soap, goodUntil(t, key, day(60)))
	c, _, err := read([]string{"--dev", "--schema", schema, "--data", t.TempDir(), "--public-url", "https://localhost",
		"--tls-cert", public, "--tls-key", keys, "--soap-cert", soap, "--soap-key", keys,
		"--nats-listen", "127.0.0.1:0", "--nats-cert", bus, "--nats-key", keys, "--nats-ca", bus}, nil)
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
	says := func(use string, end time.Time) string {
		return fmt.Sprintf("\ntidings_certificate_expires_timestamp_seconds{use=%q} %v\n", use, float64(end.Unix()))
	}
	text := scraped(rooms.Metrics)
	for use, end := range map[string]time.Time{"public": day(30), "bus": day(50), "soap": day(60)} {
		if !strings.Contains(text, says(use, end)) {
			t.Errorf("%q is not in\n%s", says(use, end), text)
		}
	}
	put(t, public, goodUntil(t, key, day(90)))
	put(t, soap, goodUntil(t, key, day(91)))
	until(t, "the metrics say until when the new ones are good", func() bool {
		text := scraped(rooms.Metrics)
		return strings.Contains(text, says("public", day(90))) && strings.Contains(text, says("soap", day(91)))
	})
	put(t, public, "-----BEGIN CERTIFICATE-----\nbm9uc2Vuc2U=\n-----END CERTIFICATE-----\n")
	if !strings.Contains(scraped(rooms.Metrics), says("public", day(90))) {
		t.Error("what is not in force counts")
	}
}
