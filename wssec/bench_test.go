package wssec_test

import (
	"os"
	"testing"
	"time"

	"tidings/wssec"
)

// BenchmarkVerify is scanning and checking a message of 4.4 KB that WSS4J signed.
func BenchmarkVerify(b *testing.B) {
	for _, name := range []string{"wss4j-direct", "zeep-ecdsa"} {
		b.Run(name, func(b *testing.B) {
			data, err := os.ReadFile("testdata/foreign/" + name + ".xml")
			if err != nil {
				b.Fatal(err)
			}
			t, at := trust{pinned: partners(b)}, created(b, parse(b, data))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := parts(data)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := wssec.Verify(m, t, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSign(b *testing.B) {
	for _, name := range []string{"partner", "partner-ec"} {
		b.Run(name, func(b *testing.B) {
			p := readPair(b, name)
			ring := wssec.Keyring{{Private: p.key, Certificate: p.cert}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ring.Sign([]byte(answer), nil, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
