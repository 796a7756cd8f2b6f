package wssec_test

import (
	"crypto/x509"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"tidings/wssec"
	"tidings/xmltree"
)

// The files in testdata/foreign were signed by zeep, npm's soap, WSS4J and gSOAP, with the
// keys of testdata/keys: each with another reference to the certificate, other
// transforms or another order.
func TestForeignSignaturesAreVerified(t *testing.T) {
	t.Parallel()
	for _, file := range foreign(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := parse(t, data)
			signed, err := wssec.Verify(m, trust{partners(t), strings.Contains(file, "sha1")}, created(t, m))
			if err != nil {
				t.Fatal(err)
			}
			if !signed.Covers(m.Body) || !strings.HasPrefix(signed.Certificate.Subject.CommonName, "partner") {
				t.Errorf("signed by %v", signed.Certificate.Subject)
			}
			if signed.Covers(m.Security) || signed.Covers(m.Envelope) {
				t.Error("more is covered than was signed")
			}
		})
	}
}

// The canonical form is in UTF-8, whatever the message is in.
func TestSignaturesHoldInEveryEncoding(t *testing.T) {
	t.Parallel()
	for _, file := range foreign(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file, "sha1") {
			continue
		}
		at := created(t, parse(t, data))
		for name, encoded := range map[string][]byte{"UTF-16": inUTF16(data), "with a byte order mark": append([]byte("\uFEFF"), data...)} {
			m, err := parts(encoded)
			if err != nil {
				t.Fatalf("%s, %s: %v", file, name, err)
			}
			if _, err := wssec.Verify(m, trust{pinned: partners(t)}, at); err != nil {
				t.Errorf("%s, %s: %v", file, name, err)
			}
		}
	}
}

func inUTF16(data []byte) []byte {
	text := strings.Replace(string(data), `encoding="UTF-8"`, `encoding="UTF-16"`, 1)
	var out []byte
	for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return out
}

func TestForeignSignaturesWithSHA1NeedTheAllowance(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/foreign/wss4j-sha1.xml")
	if err != nil {
		t.Fatal(err)
	}
	m := parse(t, data)
	_, err = wssec.Verify(m, trust{pinned: partners(t)}, created(t, m))
	refused(t, err, wssec.UnsupportedAlgorithm)
}

func foreign(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/foreign/*.xml")
	if err != nil || len(files) < 10 {
		tb.Fatal("no test data", err)
	}
	return files
}

func partners(tb testing.TB) []*x509.Certificate {
	tb.Helper()
	return []*x509.Certificate{readPair(tb, "partner").cert, readPair(tb, "partner-ec").cert, readPair(tb, "partner-p384").cert}
}

// created is when the Timestamp of a message says that it was made.
func created(tb testing.TB, m wssec.Message) time.Time {
	tb.Helper()
	for stamp := range m.Security.Children() {
		for e := range stamp.Children() {
			if e.Is(wssec.UtilityNS, "Created") && stamp.Is(wssec.UtilityNS, "Timestamp") {
				at, err := xmltree.ParseDateTime(e.Text())
				if err != nil {
					tb.Fatal(err)
				}
				return at
			}
		}
	}
	tb.Fatal("there is no Timestamp")
	return time.Time{}
}

// refused checks that an error has one of the codes.
func refused(tb testing.TB, err error, codes ...wssec.Code) {
	tb.Helper()
	e, ok := err.(*wssec.Error)
	if !ok {
		tb.Fatalf("the error is %v, want one of %v", err, codes)
	}
	for _, code := range codes {
		if e.Code == code {
			return
		}
	}
	tb.Errorf("the error is %v, want one of %v", err, codes)
}
