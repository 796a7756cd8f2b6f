//go:build conformance

package soapcallers

import (
	"bufio"
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
	"strings"
	"testing"
	"time"

	"tidings/auth"
)

func TestZeepIsKnownInEveryWay(t *testing.T) { drive(t, "/usr/bin/python3", "caller.py") }
func TestPHPIsKnownInEveryWay(t *testing.T)  { drive(t, "php", "caller.php") }
func TestNodeIsKnownInEveryWay(t *testing.T) { drive(t, "node", "caller.mjs") }

// drive runs a client against a service of its own.
func drive(t *testing.T, command, script string) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, script, s.url, s.secret, s.ca, s.cert, s.key)
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+s.ca)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s\n%s", script, err, out, s.log.String())
	}
}

// service is a running api with TLS and one partner.
type service struct {
	url, secret   string
	ca, cert, key string // files: the server's own authority, and the partner's identity
	log           *strings.Builder
	files, edge   []string // settings of workers and of apis
}

// common are settings of all processes.
var common = []string{"--schema", "../../examples/social", "--service", "SocialService"}

func start(t *testing.T, more ...string) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{secret: auth.NewSecret(), log: &strings.Builder{}}
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
	s.run(t, slices.Concat(s.files, s.edge, []string{"--data", filepath.Join(dir, "data")}, common, more)...)
	return s
}

// run runs the binary until the test ends, and returns when it has said its address.
func (s *service) run(t *testing.T, args ...string) {
	t.Helper()
	s.program(t, "api", "", append(args, "--listen", "127.0.0.1:0")...)
}

// program runs api or worker, on a bus of another process unless that is empty.
func (s *service) program(t *testing.T, name, bus string, args ...string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "tidings/cmd/"+name).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, append(args, "--admin", "", "--drain-delay", "0s")...)
	cmd.Env = append(os.Environ(), "TIDINGS_JWT_SECRET=a secret of the tests, 32 bytes long")
	if bus != "" {
		cmd.Env = append(cmd.Env, "TIDINGS_NATS_URL="+bus)
	}
	text, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(text); lines.Scan(); {
			var entry struct{ Msg, URL string }
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == name+" runs" {
				address <- entry.URL
			}
			s.log.WriteString(lines.Text() + "\n")
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended, which Wait tells
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the service ended with %v\n%s", err, s.log.String())
		}
	})
	select {
	case s.url = <-address:
	case <-ended:
		t.Fatalf("the service ended:\n%s", s.log.String())
	case <-time.After(time.Minute):
		t.Fatal("the service does not say its address")
	}
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
