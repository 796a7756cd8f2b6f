//go:build conformance

package soap_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The stacks below speak to a service for pages, a schema of testdata/pages that
// has unions, lists of lists and every scalar. Each makes every call, with nulls,
// texts beyond ASCII and typed faults; in both versions of SOAP, and in the codings
// and with the addressing that it has.

func TestPythonZeepCarriesEverything(t *testing.T) {
	need(t, "python3-zeep", "/usr/bin/python3", "-c", "import zeep")
	run(t, "", "/usr/bin/python3", "testdata/pages.py", pages(t))
}

func TestPHPSoapClientCarriesEverything(t *testing.T) {
	need(t, "php-cli php-soap", "php", "-r", "new SoapHeader('a', 'b');")
	run(t, "", "php", "testdata/pages.php", pages(t))
}

func TestNPMSoapCarriesEverything(t *testing.T) {
	run(t, "", "node", "testdata/client.js", pages(t))
}

func TestPythonSudsMakesCalls(t *testing.T) {
	need(t, "python3-suds", "/usr/bin/python3", "-c", "import suds")
	run(t, "", "/usr/bin/python3", "testdata/client_suds.py", pages(t))
}

// SOAP::Lite knows no WSDL here: it puts types on every value and no namespace on
// names.
func TestPerlSOAPLiteMakesCalls(t *testing.T) {
	need(t, "libsoap-lite-perl", "perl", "-MSOAP::Lite", "-e", "1")
	run(t, "", "perl", "testdata/client.pl", pages(t))
}

func TestGSOAPCarriesEverything(t *testing.T) {
	need(t, "gsoap libgsoap-dev g++", "wsdl2h", "-V")
	url, dir := pages(t), t.TempDir()
	run(t, dir, "wsdl2h", "-s", "-o", "pages.h", url+"/v1/PageService?wsdl")
	run(t, dir, "soapcpp2", "-j", "-C", "-I/usr/share/gsoap/import", "-d.", "pages.h")
	run(t, dir, "g++", "-O0", "-w", "-I.", "-o", "client", here(t, "client.cpp"), "soapC.cpp", "soapPageServiceSoapProxy.cpp", "-lgsoap++")
	run(t, dir, "./client", url)
	run(t, dir, "./client", url, "12")
}

// jaxws names all jars of the reference implementation.
const jaxws = "/usr/share/java/jaxws-tools.jar"

func TestJAXWSCarriesEverything(t *testing.T) {
	need(t, "jaxws default-jdk-headless", "wsimport", "-version")
	url, dir := pages(t), t.TempDir()
	run(t, dir, "wsimport", "-quiet", "-s", ".", "-d", ".", "-p", "pages", url+"/v1/PageService?wsdl")
	run(t, dir, "javac", "-nowarn", "-cp", ".:"+jaxws, "-d", ".", here(t, "Client.java"))
	run(t, dir, "java", "-cp", ".:"+jaxws, "Client", url)
}

func TestMonoCarriesEverything(t *testing.T) {
	need(t, "mono-devel", "mono", "--version")
	url, dir := pages(t), t.TempDir()
	run(t, dir, "wsdl", "-nologo", "-out:Pages.cs", url+"/v1/PageService?wsdl")
	run(t, dir, "mcs", "-nologo", "-nowarn:0618", "-out:client.exe", "-r:System.Web.Services.dll", "-r:System.Xml.dll", "Pages.cs", here(t, "Client.cs"))
	run(t, dir, "mono", "client.exe", url)
}

// pages starts the service for pages and returns its base URL.
func pages(t *testing.T) string { return startFor(t, "testdata/pages", "PageService") }

// here is the path of a file of testdata, wherever a command runs.
func here(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a command in a directory, or here, to its good end.
func run(t *testing.T, dir, command string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", command, args, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Logf("%s, after %s: %s", command, time.Since(began).Round(time.Millisecond), lines[len(lines)-1])
}
