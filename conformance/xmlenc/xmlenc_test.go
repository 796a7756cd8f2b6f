//go:build conformance

// Package xmlenc_test has WSS4J and Apache Santuario encrypt messages for us and
// decrypt ours.
package xmlenc_test

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidings/conformance/program"
	"tidings/wssec"
	"tidings/xmltree"
)

var update = flag.Bool("update", false, "write the messages to wssec/testdata/encrypted")

const (
	goldens = "../../wssec/testdata/encrypted"
	signers = "../../wssec/testdata/keys"
	jars    = "/usr/share/java/wss4j.jar:/usr/share/java/xmlsec.jar:/usr/share/java/slf4j-api.jar:/usr/share/java/slf4j-nop.jar:/usr/share/java/commons-logging.jar"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

func TestWSS4JAndWeReadEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"message.xml", "key.der", "certificate.der"} {
		write(t, filepath.Join(dir, name), read(t, filepath.Join(goldens, name)))
	}
	for _, name := range []string{"partner.key", "partner.crt"} {
		block, _ := pem.Decode(read(t, filepath.Join(signers, name)))
		write(t, filepath.Join(dir, name), block.Bytes)
	}
	key := ours(t, dir)
	// WSS4J would look the password up.
	message := regexp.MustCompile(`<wsse:UsernameToken>.*</wsse:UsernameToken>`).ReplaceAll(read(t, filepath.Join(dir, "message.xml")), nil)
	methods := map[string]wssec.Method{"preferred": {}}
	for _, name := range []string{"ski", "cbc", "cbc-rsa15", "gcm-rsa15"} { // of an earlier run
		methods[name] = open(t, filepath.Join(goldens, name+".xml"), key).Method
	}
	for name, method := range methods {
		encrypted, err := wssec.Encrypt(message, key.Certificate, method)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "ours-"+name+".xml"), encrypted)
	}
	if out, err := exec.Command("java", "-cp", jars, "testdata/Wss4j.java", dir).CombinedOutput(); err != nil {
		t.Fatalf("java: %v: %s", err, out)
	}
	for name := range methods {
		if plain := string(read(t, filepath.Join(dir, "ours-"+name+".xml.plain"))); !strings.Contains(plain, "<t:id>alice</t:id>") {
			t.Errorf("what we encrypted as %s is to WSS4J %s", name, plain)
		}
	}
	theirs, err := filepath.Glob(filepath.Join(dir, "theirs-*.xml"))
	if err != nil || len(theirs) < 10 {
		t.Fatal("WSS4J wrote nothing", err)
	}
	for _, file := range theirs {
		if plain := open(t, file, key).Tree.Source(); !strings.Contains(plain, "<t:id>alice</t:id>") || !strings.Contains(plain, "<wsse:Username>alice") || !strings.Contains(plain, ">for whom it may concern<") {
			t.Errorf("%s is %s", filepath.Base(file), plain)
		}
		if *update {
			write(t, filepath.Join(goldens, strings.TrimPrefix(filepath.Base(file), "theirs-")), read(t, file))
		}
	}
}

func open(t *testing.T, file string, key wssec.Key) *wssec.Opened {
	t.Helper()
	tree, err := xmltree.Scan(read(t, file), "")
	if err != nil {
		t.Fatal(err)
	}
	for header := range tree.Root().Children() {
		for block := range header.Children() {
			if !block.Is(wssec.SecurityNS, "Security") {
				continue
			}
			o, refused := wssec.Open(tree, block, wssec.Keyring{key}, wssec.Allow{CBC: true, RSA15: true})
			if refused != nil {
				t.Fatalf("%s: %v", file, refused)
			}
			return o
		}
	}
	t.Fatalf("%s has no Security header", file)
	return nil
}

func ours(t *testing.T, dir string) wssec.Key {
	t.Helper()
	private, err := x509.ParsePKCS8PrivateKey(read(t, filepath.Join(dir, "key.der")))
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(read(t, filepath.Join(dir, "certificate.der")))
	if err != nil {
		t.Fatal(err)
	}
	return wssec.Key{Private: private.(*rsa.PrivateKey), Certificate: cert}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
