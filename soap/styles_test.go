package soap_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// styles are envelopes that ask for the same, as clients write them: their
// prefixes, declarations, white space and headers.
func styles() map[string]struct{ contentType, envelope string } {
	const (
		eleven = "http://schemas.xmlsoap.org/soap/envelope/"
		twelve = "http://www.w3.org/2003/05/soap-envelope"
		own    = "urn:tidings:v1:SocialService"
		wsa    = "http://www.w3.org/2005/08/addressing"
	)
	fields := func(p string) string {
		return strings.NewReplacer("</", "</"+p, "<", "<"+p).Replace(`<title>On the price of fish &amp; chips</title><excerpt>Short.</excerpt><kind>NOTE</kind><minutes>7</minutes>`)
	}
	token := `<wsse:Security xmlns:wsse="` + wsse + `" soap:mustUnderstand="1"><wsse:UsernameToken><wsse:Username>alice</wsse:Username>` +
		`<wsse:Password Type="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordText">correct horse</wsse:Password></wsse:UsernameToken></wsse:Security>`
	return map[string]struct{ contentType, envelope string }{
		"zeep": {"text/xml; charset=utf-8", "<?xml version='1.0' encoding='utf-8'?>\n" +
			`<soap-env:Envelope xmlns:soap-env="` + eleven + `"><soap-env:Body><ns0:CreatePost xmlns:ns0="` + own + `"><ns0:input>` + fields("ns0:") + `</ns0:input></ns0:CreatePost></soap-env:Body></soap-env:Envelope>`},
		"npm, with a token": {"text/xml; charset=utf-8", `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="` + eleven + `"  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:tns="` + own + `"><soap:Header>` + token +
			`</soap:Header><soap:Body><tns:CreatePost xmlns:tns="` + own + `" xmlns="` + own + `"><tns:input>` + fields("tns:") + `</tns:input></tns:CreatePost></soap:Body></soap:Envelope>`},
		".NET": {"text/xml; charset=utf-8", `<s:Envelope xmlns:s="` + eleven + `"><s:Body xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><CreatePost xmlns="` + own + `"><input>` + fields("") + `</input></CreatePost></s:Body></s:Envelope>`},
		".NET, 1.2, addressed": {"application/soap+xml; charset=utf-8", `<s:Envelope xmlns:s="` + twelve + `" xmlns:a="` + wsa + `"><s:Header><a:Action s:mustUnderstand="1">` + own + `/CreatePost</a:Action><a:MessageID>urn:uuid:4c1a2f6e-7d5e-4c3a-9f10-2b8f6d1e4a55</a:MessageID>` +
			`<a:ReplyTo><a:Address>` + wsa + `/anonymous</a:Address></a:ReplyTo><a:To s:mustUnderstand="1">https://api.example.com/v1/SocialService</a:To></s:Header><s:Body><CreatePost xmlns="` + own + `"><input>` + fields("") + `</input></CreatePost></s:Body></s:Envelope>`},
	}
}

func TestHowAClientWritesAnEnvelopeMakesNoDifference(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	_, want, err := c.Decode(createPost(t), "text/xml")
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range styles() {
		op, got, err := c.Decode([]byte(s.envelope), s.contentType)
		if err != nil || op != "CreatePost" || string(got) != string(want) {
			t.Errorf("%s: %s %s, %v", what, op, got, err)
		}
	}
}

// Envelopes are read into memory that was another's before: nothing of one may show
// in what was made of another.
func TestEnvelopesReadAtTheSameTimeAreTheirOwn(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			type call struct {
				operation string
				variables []byte
				want      string
			}
			var calls []call
			for i := range 300 {
				mine := fmt.Sprintf("%d of %d", i, worker)
				envelope := strings.Replace(string(createPost(t)), "Short.", mine+strings.Repeat("&lt;", i%7), 1)
				op, variables, err := c.Decode([]byte(envelope), "text/xml")
				if err != nil {
					t.Error(err)
					return
				}
				calls = append(calls, call{op, variables, `"excerpt":"` + mine + strings.Repeat("<", i%7) + `"`})
				_, _, _ = c.Decode([]byte(envelope[:len(envelope)-i]), "text/xml")
			}
			for _, c := range calls {
				if c.operation != "CreatePost" || !strings.Contains(string(c.variables), c.want) {
					t.Errorf("%s %s, want %s", c.operation, c.variables, c.want)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkDecodeStyles(b *testing.B) {
	c := newCodec(b)
	for what, s := range styles() {
		b.Run(what, func(b *testing.B) {
			data := []byte(s.envelope)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := c.Decode(data, s.contentType); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
