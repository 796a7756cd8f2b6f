//go:build conformance

package soapcallers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidings/auth"
	"tidings/conformance/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

func TestZeepIsKnownInEveryWay(t *testing.T) { drive(t, "/usr/bin/python3", "caller.py") }
func TestPHPIsKnownInEveryWay(t *testing.T)  { drive(t, "php", "caller.php") }
func TestNodeIsKnownInEveryWay(t *testing.T) { drive(t, "node", "caller.mjs") }

// drive runs a client against a service of its own.
func drive(t *testing.T, command, script string) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, script, s.URL, s.secret, s.ca, s.cert, s.key)
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+s.ca)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}

// service is a running api with TLS and one partner.
type service struct {
	*program.Running
	secret        string
	ca, cert, key string   // files: the server's own authority, and the partner's identity
	files, edge   []string // settings of workers and of apis
}

// common are settings of all processes.
var common = []string{"--schema", "../../examples/social", "--service", "SocialService"}

func start(t *testing.T, more ...string) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{secret: auth.NewSecret()}
	var key string
	s.ca, key = identity(t, dir, "localhost")
	s.cert, s.key = identity(t, dir, "erp")
	pinned, err := os.ReadFile(s.cert)
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := json.Marshal([]any{map[string]any{
		"name": "erp", "subject": "acme", "roles": []string{"USER"}, "secrets": []string{s.secret},
		"certificates": []any{map[string]string{"certificate": string(pinned)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "accounts.json")
	if err := os.WriteFile(file, accounts, 0o600); err != nil {
		t.Fatal(err)
	}
	s.files = []string{"--accounts", file}
	s.edge = []string{"--tls-cert", s.ca, "--tls-key", key, "--tls-client-auth", "optional"}
	s.Running = program.Start(t, "api", nil, slices.Concat(s.files, s.edge, []string{"--data", filepath.Join(dir, "data")}, common, more)...)
	return s
}

// identity writes a certificate that signs itself, and its key.
func identity(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", name, err))
		}
	}
	return cert, key
}
