package wssec_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidings/wssec"
)

const (
	aes256GCM = "http://www.w3.org/2009/xmlenc11#aes256-gcm"
	aes256CBC = "http://www.w3.org/2001/04/xmlenc#aes256-cbc"
	oaep      = "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p"
	pkcs15    = "http://www.w3.org/2001/04/xmlenc#rsa-1_5"
)

var cipherValues = regexp.MustCompile(`<xenc:CipherValue>[^<]*</xenc:CipherValue>`)

// withValue puts another value in the place of the n-th CipherValue.
func withValue(message string, n int, change func([]byte) []byte) string {
	return cipherValues.ReplaceAllStringFunc(message, func(e string) string {
		if n--; n != -1 {
			return e
		}
		data, _ := base64.StdEncoding.DecodeString(regexp.MustCompile(`>[^<]*<`).FindString(e)[1 : len(e)-len("<xenc:CipherValue></xenc:CipherValue>")+1])
		return "<xenc:CipherValue>" + base64.StdEncoding.EncodeToString(change(data)) + "</xenc:CipherValue>"
	})
}

func flipped(at int) func([]byte) []byte {
	return func(data []byte) []byte {
		data[(at+len(data))%len(data)] ^= 1
		return data
	}
}

func cut(n int) func([]byte) []byte {
	return func(data []byte) []byte { return data[:min(n, len(data))] }
}

func sealed(tb testing.TB, plain, kind, content, transport string) string {
	tb.Helper()
	message, err := wssec.SealedMessage([]byte(plain), kind, ours(tb).Certificate, content, transport)
	if err != nil {
		tb.Fatal(err)
	}
	return message
}

// Who can tell one cause from another can decrypt what others sent, by asking.
func TestWhatCannotBeDecryptedHasOneError(t *testing.T) {
	t.Parallel()
	good := sealed(t, "<a/>", "Content", aes256GCM, oaep)
	cbc := sealed(t, "<a/>", "Content", aes256CBC, oaep)
	old := sealed(t, "<a/>", "Content", aes256GCM, pkcs15)
	messages := map[string]string{
		"key changed":                withValue(good, 0, flipped(9)),
		"key too short":              withValue(good, 0, cut(255)),
		"no key":                     withValue(good, 0, cut(0)),
		"content changed":            withValue(good, 1, flipped(14)),
		"nonce changed":              withValue(good, 1, flipped(0)),
		"tag changed":                withValue(good, 1, flipped(-1)),
		"content without a tag":      withValue(good, 1, cut(27)),
		"content of a byte":          withValue(good, 1, cut(1)),
		"no content":                 withValue(good, 1, cut(0)),
		"no base64":                  strings.Replace(good, "<xenc:CipherValue>", "<xenc:CipherValue>!", 1),
		"no base64 in the content":   regexp.MustCompile(`(EncryptedData.*<xenc:CipherValue>)`).ReplaceAllString(good, "$1!"),
		"key for another cipher":     strings.ReplaceAll(good, "aes256-gcm", "aes128-gcm"),
		"another digest":             strings.Replace(good, "http://www.w3.org/2000/09/xmldsig#sha1", "http://www.w3.org/2001/04/xmlenc#sha256", 1),
		"old key changed":            withValue(old, 0, flipped(9)),
		"old key too short":          withValue(old, 0, cut(255)),
		"old key, content changed":   withValue(old, 1, flipped(14)),
		"CBC ragged":                 withValue(cbc, 1, cut(31)),
		"CBC of one block":           withValue(cbc, 1, cut(16)),
		"CBC empty":                  withValue(cbc, 1, cut(0)),
		"CBC, padding wrong":         withValue(cbc, 1, flipped(-17)),
		"CBC, text wrong":            withValue(cbc, 1, flipped(1)),
		"not XML":                    sealed(t, "<a>", "Content", aes256GCM, oaep),
		"not UTF-8":                  sealed(t, "\xff", "Content", aes256GCM, oaep),
		"an undeclared prefix":       sealed(t, "<zzz:a/>", "Content", aes256GCM, oaep),
		"a document type":            sealed(t, "<!DOCTYPE a>", "Content", aes256GCM, oaep),
		"out of its place":           sealed(t, "</s:Body><s:Body>", "Content", aes256GCM, oaep),
		"out of its place, again":    sealed(t, "<a/></s:Body></s:Envelope><s:Envelope><s:Body>", "Element", aes256GCM, oaep),
		"too deep":                   sealed(t, strings.Repeat("<a>", 50)+strings.Repeat("</a>", 50), "Content", aes256GCM, oaep),
		"another part that is wrong": sealed(t, `<xenc:EncryptedData/>`, "Content", aes256GCM, oaep),
		"a part of the same Id":      sealed(t, good[strings.Index(good, "<xenc:EncryptedData"):strings.Index(good, "</s:Body>")], "Content", aes256GCM, oaep),
	}
	if _, err := open(t, []byte(good), wssec.Keyring{ours(t)}, wssec.Allow{}); err != nil {
		t.Fatal(err)
	}
	for what, message := range messages {
		o, err := open(t, []byte(message), wssec.Keyring{ours(t)}, wssec.Allow{CBC: true, RSA15: true})
		if err == nil {
			t.Errorf("%s: accepted as %s", what, o.Tree.Source())
		} else if err.Error() != "wsse:FailedCheck: the message cannot be decrypted" || err.Err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// These can be seen by anybody who sees the message.
func TestEncryptionThatIsNotAcceptedIsNamed(t *testing.T) {
	t.Parallel()
	good := sealed(t, "<a/>", "Content", aes256GCM, oaep)
	cbc := sealed(t, "<a/>", "Content", aes256CBC, oaep)
	old := sealed(t, "<a/>", "Content", aes256GCM, pkcs15)
	key := good[strings.Index(good, "<xenc:EncryptedKey"):strings.Index(good, "</wsse:Security>")]
	data := good[strings.Index(good, "<xenc:EncryptedData"):strings.Index(good, "</s:Body>")]
	replace := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for what, c := range map[string]struct {
		message string
		code    wssec.Code
	}{
		"CBC":                      {cbc, wssec.UnsupportedAlgorithm},
		"rsa-1_5":                  {old, wssec.UnsupportedAlgorithm},
		"3DES":                     {replace(aes256GCM, "http://www.w3.org/2001/04/xmlenc#tripledes-cbc"), wssec.UnsupportedAlgorithm},
		"another transport":        {replace(oaep, "http://www.w3.org/2001/04/xmlenc#kw-aes128"), wssec.UnsupportedAlgorithm},
		"MD5":                      {replace("xmldsig#sha1", "xmldsig-more#md5"), wssec.UnsupportedAlgorithm},
		"no type":                  {replace(` Type="http://www.w3.org/2001/04/xmlenc#Content"`, ""), wssec.InvalidSecurity},
		"another type":             {replace("#Content", "#EncryptedKey"), wssec.InvalidSecurity},
		"by reference":             {replace("<xenc:CipherValue>", `<xenc:CipherReference URI="http://127.0.0.1:1/"/><xenc:CipherValue>`), wssec.InvalidSecurity},
		"two values":               {replace("<xenc:CipherValue>", `<xenc:CipherValue/><xenc:CipherValue>`), wssec.InvalidSecurity},
		"no Id":                    {replace(` Id="D"`, ""), wssec.InvalidSecurity},
		"two parts of one Id":      {replace(data, data+data), wssec.InvalidSecurity},
		"17 parts":                 {replace(data, data+strings.Repeat(strings.Replace(data, ` Id="D"`, ` Id="X"`, 1), 17)), wssec.InvalidSecurity},
		"reference to nothing":     {replace(data, ""), wssec.InvalidSecurity},
		"reference to the outside": {replace(`URI="#D"`, `URI="http://127.0.0.1:1/#D"`), wssec.InvalidSecurity},
		"reference to a key":       {replace("<xenc:DataReference", "<xenc:KeyReference"), wssec.InvalidSecurity},
		"many references":          {replace("<xenc:DataReference", strings.Repeat(`<xenc:DataReference URI="#X"/>`, 1000)+"<xenc:DataReference"), wssec.InvalidSecurity},
		"five keys":                {replace(key, strings.Repeat(key, 5)), wssec.InvalidSecurity},
		"unlisted, unnamed":        {strings.NewReplacer(`URI="#D"`, `URI="#X"`, `URI="#K"`, `URI="#X"`).Replace(good), wssec.TokenUnavailable},
		"for somebody else":        {regexp.MustCompile(`(ThumbprintSHA1">)[^<]*`).ReplaceAllString(good, "${1}AAAA"), wssec.TokenUnavailable},
		"identified by nobody":     {replace("#ThumbprintSHA1", "#Kerberos"), wssec.UnsupportedSecurityToken},
		"identified by no base64":  {replace(`ThumbprintSHA1">`, `ThumbprintSHA1">!`), wssec.InvalidSecurity},
	} {
		o, err := open(t, []byte(c.message), wssec.Keyring{ours(t)}, wssec.Allow{})
		if err == nil {
			t.Errorf("%s: accepted as %s", what, o.Tree.Source())
		} else if err.Code != c.code {
			t.Errorf("%s: %v, want %s", what, err, c.code)
		}
	}
	if _, err := open(t, []byte(good), nil, wssec.Allow{}); err == nil || err.Code != wssec.UnsupportedSecurityToken {
		t.Errorf("without a key: %v", err)
	}
}

// another makes a key of ours.
func another(t testing.TB) wssec.Key {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "next"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return wssec.Key{Private: private, Certificate: cert}
}

// While a key takes over from another, both are in use.
func TestEachKeyOfSeveralIsFound(t *testing.T) {
	t.Parallel()
	both := wssec.Keyring{another(t), ours(t)}
	for _, name := range []string{"issuer-serial", "ski", "thumbprint", "x509", "direct"} {
		if _, err := open(t, read(t, name+".xml"), both, wssec.Allow{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := open(t, read(t, name+".xml"), both[:1], wssec.Allow{}); err == nil || err.Code != wssec.TokenUnavailable {
			t.Errorf("%s, without its key: %v", name, err)
		}
	}
	unnamed := regexp.MustCompile(`<ds:KeyInfo>.*?</ds:KeyInfo>`).ReplaceAllString(sealed(t, "<a/>", "Content", aes256GCM, oaep), "")
	if _, err := open(t, []byte(unnamed), both[1:], wssec.Allow{}); err != nil {
		t.Errorf("no name, one key: %v", err)
	}
	if _, err := open(t, []byte(unnamed), both, wssec.Allow{}); err == nil || err.Code != wssec.InvalidSecurity {
		t.Errorf("no name, two keys: %v", err)
	}
}

// A part that decrypts to a part that decrypts to a part, and so on.
func TestPartsInsideOfPartsAreBounded(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]bool{1: true, 3: true, 4: false, 10: false} {
		message := sealed(t, "<a/>", "Element", aes256GCM, oaep)
		for n := range depth - 1 {
			outer := string(rune('a' + n))
			inner := message[strings.Index(message, "<xenc:EncryptedData"):strings.Index(message, "</s:Body>")]
			keys := message[strings.Index(message, "<xenc:EncryptedKey"):strings.Index(message, "</wsse:Security>")]
			next := strings.NewReplacer(`"D"`, `"`+outer+`"`, `"#D"`, `"#`+outer+`"`, `"K"`, `"K`+outer+`"`, `"#K"`, `"#K`+outer+`"`).Replace(sealed(t, inner, "Element", aes256GCM, oaep))
			message = strings.Replace(next, "<xenc:EncryptedKey", keys+"<xenc:EncryptedKey", 1)
		}
		_, err := open(t, []byte(message), wssec.Keyring{ours(t)}, wssec.Allow{})
		if (err == nil) != want {
			t.Errorf("%d parts inside each other: %v", depth, err)
		}
	}
}
