package boot_test

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// It runs itself as a process of a machine without certificates.
const bareVariable = "TEST_ON_A_BARE_MACHINE"

// On a machine that has no authorities of certificates and no time zones those of
// the program count.
func TestAProgramBringsAuthoritiesAndTimeZonesAlong(t *testing.T) {
	t.Parallel()
	if os.Getenv(bareVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), bareVariable+"=1", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent", "ZONEINFO=/nonexistent")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if _, err := time.LoadLocation("Asia/Kathmandu"); err != nil {
		t.Error(err)
	}
	good := 0
	for root := range bundle.Roots() {
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Verify(x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err == nil {
			good++
		}
	}
	if good < 50 {
		t.Errorf("%d authorities are known", good)
	}
}
