package manifests_test

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
)

// Whoever makes the certificates, secrets.sh or cert-manager, makes the same: the
// subjects are users of the servers, and the servers' names those that clients and
// other servers dial.
func TestCertificatesSayWhoComes(t *testing.T) {
	t.Parallel()
	b := build(t, "cert-manager", overlay(t, "overlays/ha", []string{"cert-manager"}))
	config := string(b.find(t, "ConfigMap", "nats-config").text)
	dialled := []string{"nats-0.nats", "nats-1.nats", "nats-2.nats"}
	for _, name := range dialled {
		if !strings.Contains(config, "tls://"+name+":6222") || !strings.Contains(settingsOf(t, b)["TIDINGS_NATS_URL"], "tls://"+name+":4222") {
			t.Errorf("nobody dials %s", name)
		}
	}
	made := trialSecrets(t)
	for _, o := range b.pick("Certificate") {
		var c struct {
			Spec struct {
				IsCA       bool
				SecretName string
				CommonName string
				DNSNames   []string
			}
		}
		o.read(t, &c)
		if c.Spec.IsCA {
			continue
		}
		block, _ := pem.Decode(made[c.Spec.SecretName].Data["tls.crt"])
		if block == nil {
			t.Errorf("secrets.sh makes no %s", c.Spec.SecretName)
			continue
		}
		trial, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if trial.Subject.CommonName != c.Spec.CommonName || !slices.Equal(trial.DNSNames, c.Spec.DNSNames) {
			t.Errorf("%s is for %s %v here, and for %s %v there", c.Spec.SecretName, trial.Subject, trial.DNSNames, c.Spec.CommonName, c.Spec.DNSNames)
		}
		role, isRole := strings.CutPrefix(c.Spec.CommonName, "tidings-")
		switch {
		case isRole && !strings.Contains(config, `user: "CN=tidings-`+role+`"`):
			t.Errorf("the servers know no %s", c.Spec.CommonName)
		case !isRole:
			for _, name := range dialled {
				if trial.VerifyHostname(name) != nil {
					t.Errorf("%s is not for %s", c.Spec.SecretName, name)
				}
			}
		}
	}
}
