package wssec_test

import (
	"bytes"
	"encoding/pem"
	"strings"
	"testing"

	"tidings/wssec"
)

func TestKeysAreReadWithTheirCertificates(t *testing.T) {
	t.Parallel()
	one, other := ours(t), another(t)
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	key := block("PRIVATE KEY", read(t, "key.der"))
	certs := append(block("CERTIFICATE", other.Certificate.Raw), block("CERTIFICATE", one.Certificate.Raw)...)
	ring, err := wssec.ParseKeys(key, certs)
	if err != nil || len(ring) != 1 || !bytes.Equal(ring[0].Certificate.Raw, one.Certificate.Raw) {
		t.Fatalf("%v %v", ring, err)
	}
	var keys *wssec.Keys
	if keys.Ring() != nil {
		t.Error("nil has keys")
	}
	keys = new(wssec.Keys)
	if keys.Replace(ring); len(keys.Ring()) != 1 {
		t.Error("the keys are not in force")
	}
	for want, c := range map[string][2][]byte{
		"no private key":        {nil, certs},
		"has no certificate":    {key, block("CERTIFICATE", other.Certificate.Raw)},
		"that is none":          {key, key},
		"use one that is not":   {block("ENCRYPTED PRIVATE KEY", []byte("x")), certs},
		"cannot be read":        {block("PRIVATE KEY", []byte("x")), certs},
		"\"RSA PRIVATE KEY\" c": {block("RSA PRIVATE KEY", []byte("x")), certs},
	} {
		if _, err := wssec.ParseKeys(c[0], c[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
