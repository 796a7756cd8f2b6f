//go:build conformance

package xmlenc_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/conformance/program"
)

// WSS4J calls a service over HTTP that anybody can read: its password, what it
// asks for and what it gets are encrypted, and both ends sign.
func TestWSS4JCallsAService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := auth.NewSecret()
	for _, name := range []string{"key.der", "certificate.der"} {
		write(t, filepath.Join(dir, name), read(t, filepath.Join(goldens, name)))
	}
	partner := identity(t, dir)
	writePEM(t, filepath.Join(dir, "soap.key"), "PRIVATE KEY", read(t, filepath.Join(dir, "key.der")))
	writePEM(t, filepath.Join(dir, "soap.pem"), "CERTIFICATE", read(t, filepath.Join(dir, "certificate.der")))
	accounts, err := json.Marshal([]any{map[string]any{
		"name": "erp", "roles": []string{"USER"}, "secrets": []string{secret}, "certificates": []any{map[string]string{"certificate": partner}},
		"allowCBC": true, "allowRSA15": true, "requireSignature": true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "accounts.json"), accounts)
	url := serve(t, "--accounts", filepath.Join(dir, "accounts.json"), "--soap-key", filepath.Join(dir, "soap.key"), "--soap-cert", filepath.Join(dir, "soap.pem"), "--data", filepath.Join(dir, "data"))
	out, err := exec.Command("java", "-cp", jars, "testdata/Wss4j.java", dir, url+"/v1/SocialService", secret).CombinedOutput()
	if err != nil {
		t.Fatalf("java: %v: %s", err, out)
	}
	for _, want := range []string{"Fish", "Chips", "Old", "there is no element titel here"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

// identity writes the key and the certificate of the partner, and returns the
// latter as PEM.
func identity(t *testing.T, dir string) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "partner"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "partner.crt"), der)
	write(t, filepath.Join(dir, "partner.key"), key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	write(t, file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// serve runs an api with settings until the test ends, and returns its URL.
func serve(t *testing.T, settings ...string) string {
	t.Helper()
	return program.Start(t, "api", nil, append(settings, "--schema", "../../examples/social", "--service", "SocialService")...).URL
}
