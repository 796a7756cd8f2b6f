package wssec_test

import (
	"bytes"
	"strings"
	"testing"

	"tidings/wssec"
)

const answer = `<?xml version="1.0" encoding="UTF-8"?>
<soap:Envelope xmlns:soap="` + envelope11 + `" xmlns:tns="urn:t" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Body><tns:R><tns:x xsi:nil="true"/>é &amp; &lt;</tns:R></soap:Body></soap:Envelope>`

func TestAnswersThatWereSignedAreVerified(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"partner", "partner-ec", "partner-p384"} {
		for _, header := range []string{"", "<soap:Header/>", "<soap:Header></soap:Header>", `<soap:Header><h xmlns="urn:h">x</h></soap:Header>`} {
			p := readPair(t, name)
			text := strings.Replace(answer, "<soap:Body>", header+"<soap:Body>", 1)
			if header == "" { // and in SOAP 1.2
				text = strings.Replace(text, envelope11, "http://www.w3.org/2003/05/soap-envelope", 1)
			}
			out, err := wssec.Keyring{{Private: p.key, Certificate: p.cert}}.Sign([]byte(text), []byte("value of the request"), sent)
			if err != nil {
				t.Fatal(err)
			}
			m := parse(t, out)
			signed, err := wssec.Verify(m, trust{pinned: partners(t)}, sent)
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !signed.Covers(findID(m.Envelope, "confirmation")) {
				t.Error("the confirmation is not covered")
			}
			if strings.Contains(header, "urn:h") && !bytes.Contains(out, []byte(`<h xmlns="urn:h">x</h><wsse:Security`)) {
				t.Errorf("the header is lost: %s", out)
			}
		}
	}
}

func TestAnswersConfirmOnlyWhereThatIsAsked(t *testing.T) {
	t.Parallel()
	p := readPair(t, "partner-ec")
	out, err := wssec.Keyring{{Private: p.key, Certificate: p.cert}}.Sign([]byte(answer), nil, sent)
	if err != nil || bytes.Contains(out, []byte("Confirmation")) {
		t.Errorf("%v: %s", err, out)
	}
}
