package bus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// startServer runs a NATS server with a configuration, in which STORE stands for
// a directory, until the test ends.
func startServer(t testing.TB, config string) *server.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.conf")
	replaceFile(t, file, strings.ReplaceAll(config, "STORE", t.TempDir()))
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.NoSigs, o.NoLog = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server did not start")
	}
	return s
}

// replaceFile writes a file as a tool does that replaces secrets: at once, for its
// owner alone.
func replaceFile(t testing.TB, name, text string) {
	t.Helper()
	err := os.WriteFile(name+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// operator signs accounts and users, as nsc does.
type operator struct {
	account nkeys.KeyPair
	config  string // for a server
}

func newOperator(t testing.TB) *operator {
	t.Helper()
	must := func(text string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	op, system, account := key(t, nkeys.CreateOperator), key(t, nkeys.CreateAccount), key(t, nkeys.CreateAccount)
	oc := jwt.NewOperatorClaims(public(t, op))
	oc.SystemAccount = public(t, system)
	ac := jwt.NewAccountClaims(public(t, account))
	ac.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	sc := jwt.NewAccountClaims(public(t, system))
	return &operator{account: account, config: fmt.Sprintf("jetstream { store_dir: STORE }\noperator: %s\nresolver: MEMORY\nresolver_preload: {\n%s: %s\n%s: %s\n}\n",
		must(oc.Encode(op)), ac.Subject, must(ac.Encode(op)), sc.Subject, must(sc.Encode(op)))}
}

// creds makes a user, good for so long; zero is for ever.
func (o *operator) creds(t testing.TB, lives time.Duration) string {
	t.Helper()
	user := key(t, nkeys.CreateUser)
	c := jwt.NewUserClaims(public(t, user))
	if lives != 0 {
		c.Expires = time.Now().Add(lives).Unix()
	}
	text, err := c.Encode(o.account)
	if err != nil {
		t.Fatal(err)
	}
	return decorated(t, text, user)
}

func decorated(t testing.TB, text string, user nkeys.KeyPair) string {
	t.Helper()
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(text, seed)
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

func key(t testing.TB, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	k, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func public(t testing.TB, k nkeys.KeyPair) string {
	t.Helper()
	p, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// authority issues certificates into files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key = a.sign(t, template, filepath.Join(a.dir, "ca"))
	return a
}

func (a *authority) ca() string { return filepath.Join(a.dir, "ca.pem") }

// issue writes <name>.pem and <name>.key, for 127.0.0.1 and the name.
func (a *authority) issue(t testing.TB, name, common string) (cert, key string) {
	t.Helper()
	path := filepath.Join(a.dir, name)
	a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: common}, DNSNames: []string{common}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, path)
	return path + ".pem", path + ".key"
}

func (a *authority) sign(t testing.TB, template *x509.Certificate, path string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, k
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &k.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	replaceFile(t, path+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	replaceFile(t, path+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, k
}
