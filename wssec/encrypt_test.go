package wssec_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"tidings/wssec"
)

var answers = map[string]string{
	"no header":    `<soap:Envelope xmlns:soap="` + soapNS + `" xmlns:tns="urn:t"><soap:Body><tns:secret>42</tns:secret></soap:Body></soap:Envelope>`,
	"empty header": `<soap:Envelope xmlns:soap="` + soapNS + `" xmlns:tns="urn:t"><soap:Header/><soap:Body><tns:secret>42</tns:secret></soap:Body></soap:Envelope>`,
	"other header": `<soap:Envelope xmlns:soap="` + soapNS + `" xmlns:tns="urn:t"><soap:Header><tns:Errors/></soap:Header><soap:Body><tns:secret>42</tns:secret></soap:Body></soap:Envelope>`,
	"a timestamp":  `<soap:Envelope xmlns:soap="` + soapNS + `" xmlns:tns="urn:t"><soap:Header><w:Security xmlns:w="` + wssec.SecurityNS + `"><tns:Timestamp/></w:Security></soap:Header><soap:Body><tns:secret>42</tns:secret></soap:Body></soap:Envelope>`,
}

// An answer is encrypted as the request was; decrypted it is what it was before.
func TestAnswersAreEncrypted(t *testing.T) {
	t.Parallel()
	by := map[string]wssec.Method{"": {}}
	for _, name := range []string{"ski", "oaep11-sha256", "cbc-rsa15"} {
		o, err := open(t, read(t, name+".xml"), wssec.Keyring{ours(t)}, wssec.Allow{CBC: true, RSA15: true})
		if err != nil {
			t.Fatal(err)
		}
		by[name] = o.Method
	}
	algorithms := map[string][]string{
		"":              {"xmlenc11#aes256-gcm", "rsa-oaep-mgf1p"},
		"ski":           {"xmlenc11#aes128-gcm", "rsa-oaep-mgf1p"},
		"oaep11-sha256": {"xmlenc11#aes256-gcm", "xmlenc11#rsa-oaep", "xmlenc11#mgf1sha256", "xmlenc#sha256"},
		"cbc-rsa15":     {"xmlenc#aes128-cbc", "xmlenc#rsa-1_5"},
	}
	for name, method := range by {
		for what, answer := range answers {
			got, err := wssec.Encrypt([]byte(answer), ours(t).Certificate, method)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range algorithms[name] {
				if !bytes.Contains(got, []byte(a+`"`)) {
					t.Errorf("%s, as %s: %s is not in %s", what, name, a, got)
				}
			}
			if bytes.Contains(got, []byte("secret")) {
				t.Errorf("%s: %s", what, got)
			}
			o, refused := open(t, got, wssec.Keyring{ours(t)}, wssec.Allow{CBC: true, RSA15: true})
			if refused != nil {
				t.Errorf("%s, as %s: %v in %s", what, name, refused, got)
				continue
			}
			_, want, _ := strings.Cut(answer, "<soap:Body>")
			if _, body, _ := strings.Cut(o.Tree.Source(), "<soap:Body>"); body != want {
				t.Errorf("%s, as %s: %s", what, name, body)
			}
		}
	}
}

// FuzzOpen: whatever comes is decrypted or refused. The seeds are messages of
// foreign clients.
func FuzzOpen(f *testing.F) {
	files, err := os.ReadDir("testdata/encrypted")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".xml") {
			f.Add(read(f, file.Name()))
		}
	}
	for _, plain := range []string{"", "<a/>", "</s:Body><s:Body>", "<xenc:EncryptedData/>"} {
		f.Add([]byte(sealed(f, plain, "Content", aes256GCM, oaep)))
		f.Add([]byte(sealed(f, plain, "Element", aes256CBC, pkcs15)))
	}
	keys := wssec.Keyring{ours(f)}
	f.Fuzz(func(t *testing.T, message []byte) {
		o, refused := wssec.OpenDocument(message, keys, wssec.Allow{CBC: true, RSA15: true})
		if refused == nil && o != nil && len(o.Tree.Source()) > len(message)*4 {
			t.Fatalf("%d bytes became %d", len(message), len(o.Tree.Source()))
		}
	})
}

// FuzzPlain: whatever was encrypted, it stays in its place.
func FuzzPlain(f *testing.F) {
	for _, plain := range []string{
		"", "x", "<a/>", "</s:Body><s:Body>", "<a></s:Body></s:Envelope>", "<xenc:EncryptedData/>", "<!-- ", "<![CDATA[", "]]>", "&lt;", "<a xmlns:s='urn:x'><s:Body/></a>",
		"</s:Body></s:Envelope><!--", "<?xml version='1.0'?><a/>", "<!DOCTYPE a>",
	} {
		f.Add(plain, true)
		f.Add(plain, false)
	}
	keys := wssec.Keyring{ours(f)}
	f.Fuzz(func(t *testing.T, plain string, strong bool) {
		content := aes256CBC
		if strong {
			content = aes256GCM
		}
		o, refused := wssec.OpenDocument([]byte(sealed(t, plain, "Content", content, oaep)), keys, wssec.Allow{CBC: true})
		if refused != nil {
			return
		}
		_, rest, _ := strings.Cut(o.Tree.Source(), "<s:Body>")
		if rest != plain+"</s:Body></s:Envelope>" {
			t.Fatalf("%q became %q", plain, rest)
		}
		children := slices.Collect(o.Tree.Root().Children())
		if len(children) != 2 || !children[1].Is(soapNS, "Body") {
			t.Fatalf("%q is out of its place in %q", plain, o.Tree.Source())
		}
		from, to := children[1].Inner()
		if o.Tree.Source()[from:to] != plain {
			t.Fatalf("%q is not the content of the Body in %q", plain, o.Tree.Source())
		}
	})
}

// FuzzContent: no cipher text makes a cipher panic, and what is sealed opens.
func FuzzContent(f *testing.F) {
	for n := range 70 {
		f.Add(bytes.Repeat([]byte{byte(n)}, n), uint8(n))
	}
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		wssec.OpenContent(data, n)
		if got, err := wssec.SealAndOpen(data, n); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%x became %x, %v", data, got, err)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	message, keys := read(b, "issuer-serial.xml"), wssec.Keyring{ours(b)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wssec.OpenDocument(message, keys, wssec.Allow{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncrypt(b *testing.B) {
	answer, key := []byte(answers["a timestamp"]), ours(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wssec.Encrypt(answer, key.Certificate, wssec.Method{}); err != nil {
			b.Fatal(err)
		}
	}
}
