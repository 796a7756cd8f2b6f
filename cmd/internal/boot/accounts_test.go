package boot_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/auth"
	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
)

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runParts runs parts of a process until the test ends.
func runParts(t *testing.T, parts ...proc.Part) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := proc.Run(ctx, slog.New(slog.DiscardHandler), parts...); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

// selfSigned is the DER of a certificate that signs itself, and others.
func selfSigned(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func account(name, secret string) string {
	return fmt.Sprintf(`[{"name": %q, "roles": ["SERVICE"], "secrets": [%q]}]`, name, secret)
}

func TestAccountsAreReadAgainWhenTheirFileChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, schema := filepath.Join(dir, "accounts.json"), t.TempDir()
	put(t, filepath.Join(schema, "s.graphql"), turns[0])
	first, second, third := auth.NewSecret(), auth.NewSecret(), auth.NewSecret()
	put(t, file, account("erp", first))
	c, _, err := read([]string{"--dev", "--schema", schema, "--data", t.TempDir(), "--accounts", file, "--public-url", "http://localhost"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	logged := &proctest.Log{}
	rooms, err := boot.Open(t.Context(), c, boot.Role{Writes: true}, slog.New(slog.NewTextHandler(logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			t.Error(err)
		}
	})
	runParts(t, rooms.Parts()...)
	good := func(secret string) bool {
		_, err := rooms.Accounts.Password("erp", secret, nil)
		return err == nil
	}
	if !good(first) || good(second) {
		t.Error("the accounts of the start are others")
	}
	put(t, file, account("erp", second))
	until(t, "the new secret is good", func() bool { return good(second) })
	if good(first) {
		t.Error("the old secret is good")
	}
	for _, broken := range []string{account("erp", third)[:40], "[\n\n" + strings.Replace(account("erp", third)[1:], "SERVICE", "KING", 1), ""} {
		put(t, file, broken)
		before := strings.Count(logged.String(), "not read again")
		until(t, "a broken file is told", func() bool { return strings.Count(logged.String(), "not read again") > before })
		if !good(second) {
			t.Error("a broken file has put others into force")
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	before := strings.Count(logged.String(), "not read again")
	until(t, "a missing file is told", func() bool { return strings.Count(logged.String(), "not read again") > before })
	put(t, file, account("erp", third))
	until(t, "the mended file is in force", func() bool { return good(third) })
	for _, want := range []string{"line 3, account", "the roles are others than", file, "is empty", "no such file"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, logged)
		}
	}
	if strings.Contains(logged.String(), "tds_") {
		t.Errorf("the log shows a secret:\n%s", logged)
	}
}

// Not parallel: it sends signals to this process.
func TestAHangupReadsAccountsAtOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "accounts")
	secret := auth.NewSecret()
	put(t, file, "[]")
	h := prepared(t, "--accounts", file)
	h.run(t)
	put(t, file, account("erp", secret))
	h.hangup(t)
	until(t, "the new account is good", func() bool {
		_, err := h.Accounts.Password("erp", secret, nil)
		return err == nil
	})
	if who, err := h.Accounts.Password(h.Partner.User, h.Partner.Password, nil); err != nil || who.Subject != "partner" {
		t.Errorf("the development account: %+v %v", who, err)
	}
}

func TestAccountsThatCannotBeReadEndTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, ca := filepath.Join(dir, "accounts"), filepath.Join(dir, "ca.pem")
	put(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: selfSigned(t, "Root")})))
	const issued = `[{"name": "erp", "certificates": [{"issuer": "CN=Root", "subject": "CN=erp"}]}]`
	for _, c := range []struct {
		text     string
		settings []string
		environ  string
		want     string
	}{
		{"x", []string{"--accounts", file}, "", file + ": line 1"},
		{issued, []string{"--accounts", file}, "", "--soap-ca"},
		{issued, []string{"--accounts", file, "--soap-ca", file}, "", "no PEM block"},
		{issued, []string{"--accounts", file, "--soap-ca", ca}, "", ""},
		{"", []string{"--accounts", "/does/not/exist"}, "", "/does/not/exist"},
		{"", []string{"--accounts", file}, "", "is empty"},
		{"", nil, "TIDINGS_ACCOUNTS=x", "TIDINGS_ACCOUNTS: line 1"},
		{"", nil, "TIDINGS_ACCOUNTS=[]", ""},
	} {
		put(t, file, c.text)
		environ := []string{"TIDINGS_JWT_SECRET=0123456789abcdef0123456789abcdef"}
		if c.environ != "" {
			environ = append(environ, c.environ)
		}
		config, _, err := read(c.settings, environ)
		if err != nil {
			t.Fatal(err)
		}
		_, err = config.Credentials(slog.New(slog.DiscardHandler))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
