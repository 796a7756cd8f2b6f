//go:build conformance

package soap_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"tidings/wssec"
)

// keys are those of the room wssec's tests: of the service and of its partners.
const keys = "../../wssec/testdata/keys/"

// notary starts the service with a key and with partners who have certificates.
// The one of other may sign with SHA-1.
func notary(t *testing.T) (url string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse battery"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	var accounts []map[string]any
	for _, name := range []string{"partner", "partner-ec", "other"} {
		accounts = append(accounts, map[string]any{
			"name": name, "roles": []string{"USER"}, "allowSHA1": name == "other", "password": string(hash),
			"certificates": []map[string]string{{"certificate": string(contents(t, keys+name+".crt"))}},
		})
	}
	list, err := json.Marshal(accounts)
	if err != nil {
		t.Fatal(err)
	}
	return startFor(t, "../../examples/social", "SocialService", "TIDINGS_ACCOUNTS="+string(list),
		"TIDINGS_SOAP_KEY="+keys+"service.key", "TIDINGS_SOAP_CERT="+keys+"service.crt") + "/v1/SocialService"
}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPythonZeepSignsAndChecksSignatures(t *testing.T) {
	need(t, "python3-zeep python3-xmlsec", "/usr/bin/python3", "-c", "import zeep, xmlsec")
	url := notary(t)
	for _, c := range [][2]string{{"binary", "partner"}, {"x509data", "partner"}, {"sha512", "partner"}, {"user", "partner"}, {"ecdsa", "partner-ec"}, {"sha1", "other"}} {
		run(t, ".", "/usr/bin/python3", "testdata/sign.py", url+"?wsdl", keys+c[1]+".key", keys+c[1]+".crt", keys+"service.crt", c[0])
	}
	out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/sign.py", url+"?wsdl", keys+"partner.key", keys+"partner.crt", keys+"service.crt", "sha1").CombinedOutput()
	if err == nil {
		t.Errorf("SHA-1 was accepted of a partner that may not use it: %s", out)
	}
}

func TestNPMSoapSignsAndChecksSignatures(t *testing.T) {
	url := notary(t)
	for _, variant := range []string{"plain", "prefixes", "wssecurity", "token", "sha512"} {
		run(t, ".", "node", "testdata/sign.js", url+"?wsdl", keys+"partner.key", keys+"partner.crt", keys+"service.crt", variant)
	}
}

const jars = "/usr/share/java/"

func TestWSS4JSignsAndChecksSignatures(t *testing.T) {
	need(t, "default-jdk-headless libwss4j-java", "javac", "-version")
	classes, url := t.TempDir(), notary(t)
	path := strings.Join([]string{classes, jars + "wss4j.jar", jars + "xmlsec.jar", jars + "commons-logging.jar", jars + "commons-codec.jar", jars + "slf4j-api.jar", jars + "slf4j-nop.jar"}, ":")
	run(t, ".", "javac", "-cp", path, "-d", classes, "testdata/Sign.java")
	envelope := filepath.Join(classes, "envelope.xml")
	if err := os.WriteFile(envelope, []byte(create), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{"direct", "issuerserial", "ski", "x509", "thumbprint", "str", "str-issuerserial", "str-thumbprint", "str-ski", "str-x509", "path", "inclusive", "user", "sha1"} {
		who := "partner"
		if variant == "sha1" {
			who = "other"
		}
		out, err := exec.CommandContext(t.Context(), "java", "-cp", path, "Sign", url, keys+who+".key", keys+who+".crt", keys+"service.crt", envelope, variant).CombinedOutput()
		confirmed := strings.Contains(string(out), "SignatureConfirmation")
		if err != nil || !strings.Contains(string(out), ":title>Fish &amp; chips</") || confirmed != (strings.HasSuffix(variant, "thumbprint") || variant == "path") {
			t.Errorf("%s: %v\n%s", variant, err, out)
		}
	}
}

const create = `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <soapenv:Header/>
  <soapenv:Body><CreatePost xmlns="urn:tidings:v1:SocialService"><input><title xsi:type="xsd:string">Fish &amp; chips</title></input></CreatePost></soapenv:Body>
</soapenv:Envelope>`

func TestGSOAPSignsAndChecksSignatures(t *testing.T) {
	need(t, "gsoap libgsoap-dev g++ libssl-dev", "wsdl2h", "-V")
	const plugin = "/usr/share/gsoap/plugin/"
	url, dir := notary(t), t.TempDir()
	run(t, dir, "wsdl2h", "-s", "-o", "service.h", url+"?wsdl")
	plain, err := os.ReadFile(filepath.Join(dir, "service.h"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secure.h"), append([]byte("#import \"wsse.h\"\n"), plain...), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "soapcpp2", "-j", "-C", "-I/usr/share/gsoap/import", "-d.", "secure.h")
	run(t, dir, "g++", "-O0", "-w", "-DWITH_OPENSSL", "-DWITH_DOM", "-DWITH_GZIP", "-DWITH_IPV6", "-I.", "-I/usr/share/gsoap", "-I"+plugin,
		"-o", "sign", here(t, "sign.cpp"), "soapC.cpp", "soapSocialServiceSoapProxy.cpp", plugin+"wsseapi.cpp", plugin+"smdevp.c", plugin+"mecevp.c",
		"/usr/share/gsoap/custom/struct_timeval.c", "-lgsoapssl++", "-lssl", "-lcrypto", "-lz")
	at, err := filepath.Abs(keys)
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "./sign", url, at+"/partner.key", at+"/partner.crt", at+"/service.crt")
}

func TestXMLSecChecksSignaturesOfAnswers(t *testing.T) {
	need(t, "xmlsec1", "xmlsec1", "--version")
	url := notary(t)
	signed, err := keyring(t, "partner").Sign([]byte(create), nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url, "text/xml", strings.NewReader(string(signed)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "answer.xml")
	verify := func(answer string) (string, error) {
		if err := os.WriteFile(file, []byte(answer), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "xmlsec1", "--verify", "--pubkey-cert-pem", keys+"service.crt",
			"--id-attr:Id", "http://schemas.xmlsoap.org/soap/envelope/:Body", "--id-attr:Id", wssec.UtilityNS+":Timestamp", file).CombinedOutput()
		return string(out), err
	}
	if out, err := verify(string(answer)); err != nil {
		t.Errorf("%v: %s: %s", err, out, answer)
	}
	if out, err := verify(strings.Replace(string(answer), "Fish", "Fush", 1)); err == nil {
		t.Errorf("what was changed is accepted: %s", out)
	}
}

func keyring(t *testing.T, name string) wssec.Keyring {
	t.Helper()
	ring, err := wssec.ParseKeys(contents(t, keys+name+".key"), contents(t, keys+name+".crt"))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}
