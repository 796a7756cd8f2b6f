//go:build conformance

package soap_test

import "testing"

func TestPythonZeepHandsWorkOverAndFollowsIt(t *testing.T) {
	need(t, "python3-zeep", "/usr/bin/python3", "-c", "import zeep")
	drive(t, start(t), "/usr/bin/python3", "testdata/jobs.py")
}

func TestPHPSoapClientHandsWorkOverAndFollowsIt(t *testing.T) {
	need(t, "php-cli php-soap", "php", "-r", "new SoapHeader('a', 'b');")
	drive(t, start(t), "php", "testdata/jobs.php")
}
