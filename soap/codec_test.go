package soap_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tidings/fault"
	"tidings/soap"
	"tidings/xmltree"
)

func newCodec(t testing.TB) *soap.Codec {
	t.Helper()
	c, err := soap.NewCodec(social(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestValuesFollowTheLexicalRulesOfXMLSchema(t *testing.T) {
	t.Parallel()
	m := social(t)
	// What is no value has the JSON "".
	cases := []struct{ scalar, text, json string }{
		{"Int", " +5\n", "5"}, {"Int", "-0", "0"}, {"Int", "007", "7"}, {"Int", "2147483648", ""}, {"Int", "", ""}, {"Int", "1.0", ""}, {"Int", "1_0", ""}, {"Int", "0x10", ""},
		{"PositiveInt", "+01", "1"},
		{"Float", "1e3", "1000"}, {"Float", ".5", "0.5"}, {"Float", "5.", "5"}, {"Float", "-0", "-0"}, {"Float", "INF", ""}, {"Float", "NaN", ""}, {"Float", "0x1p4", ""}, {"Float", "1e999", ""},
		{"Boolean", " true ", "true"}, {"Boolean", "1", "true"}, {"Boolean", "0", "false"}, {"Boolean", "false", "false"}, {"Boolean", "TRUE", ""}, {"Boolean", "", ""},
		{"DateTime", "2026-11-20T08:00:00", `"2026-11-20T08:00:00Z"`},
		{"DateTime", " 2026-11-20T08:00:00.123456789+02:00 ", `"2026-11-20T06:00:00.123456789Z"`},
		{"DateTime", "2026-12-31T24:00:00Z", `"2027-01-01T00:00:00Z"`},
		{"DateTime", "2026-11-20T08:00:00,5Z", ""}, {"DateTime", "2026-11-20", ""}, {"DateTime", "2026-02-30T00:00:00Z", ""}, {"DateTime", "0000-01-01T00:00:00+14:00", ""},
		{"Date", "2026-11-20+01:00", `"2026-11-20"`}, {"Date", "2026-11-20", `"2026-11-20"`}, {"Date", "20.11.2026", ""},
		{"PostKind", "\tNOTE ", `"NOTE"`}, {"PostKind", "note", ""}, {"PostKind", "", ""},
		{"String", " a\n\"\\\t ", `" a\u000a\"\\\u0009 "`}, {"ID", "", `""`}, {"EmailAddress", " a@b ", `" a@b "`},
	}
	for _, c := range cases {
		got, err := soap.Lexical(m, c.scalar, c.text)
		switch {
		case c.json == "" && err == nil:
			t.Errorf("%s %q: got %s, want an error", c.scalar, c.text, got)
		case c.json != "" && (err != nil || got != c.json):
			t.Errorf("%s %q: got %s, %v, want %s", c.scalar, c.text, got, err, c.json)
		}
	}
}

// The record of a mutation was written whatever failed afterwards: the caller
// must learn both.
func TestErrorsBelowTheRootOfAMutationAreInTheHeader(t *testing.T) {
	t.Parallel()
	const user = `{"id":"alice","name":"A","email":null,"adminNotes":null,"avatar":null,"createdAt":"2026-11-20T08:00:00Z"}`
	response := `{"data":{"result":` + user + `},"errors":[` +
		`{"message":"not allowed","path":["result","email"],"extensions":{"code":"FORBIDDEN"}},` +
		`{"message":"too <late>","path":["result","avatar",3],"extensions":{"code":"TIMEOUT"}}]}`
	c := newCodec(t)
	answer, err := c.Encode("UpdateUser", []byte(response))
	if err != nil {
		t.Fatal(err)
	}
	const want = "<soap:Header><tns:Errors><tns:error><tns:code>TIMEOUT</tns:code><tns:message>too &lt;late&gt;</tns:message><tns:path>avatar[3]</tns:path></tns:error></tns:Errors></soap:Header>"
	if !strings.Contains(string(answer), want) || !strings.Contains(string(answer), "<tns:id>alice</tns:id>") {
		t.Errorf("%s", answer)
	}
	if _, err := c.Encode("GetUser", []byte(response)); !fault.Is(err, fault.Timeout) {
		t.Errorf("a query with the same errors: %v", err)
	}
}

func TestResultsThatDoNotFitTheContractAreRefused(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	for what, response := range map[string]string{
		"no result":        `{"data":null}`,
		"null":             `{"data":{"result":null}}`,
		"missing field":    `{"data":{"result":{"id":"a"}}}`,
		"other field":      `{"data":{"result":{"name":"a"}}}`,
		"null id":          `{"data":{"result":{"id":null,"name":"a","email":null,"adminNotes":null,"avatar":null,"createdAt":"x"}}}`,
		"cut off":          `{"data":{"result":{"id":"a","na`,
		"nothing":          ``,
		"no JSON":          `<html>`,
		"bottomless":       `{"data":` + strings.Repeat("[", 10_000),
		"text for objects": `{"data":{"result":"a"}}`,
	} {
		if out, err := c.Encode("CreateUser", []byte(response)); err == nil {
			t.Errorf("%s: %s", what, out)
		}
	}
}

func TestTextThatXMLCannotHoldIsReplaced(t *testing.T) {
	t.Parallel()
	name := `a\u0000\u001b\ufffe\ud800\r\n\t<&>\"\ud83d\ude00\u00e9`
	response := `{"data":{"result":{"id":"a","name":"` + name + "\xff" + `","email":null,"adminNotes":null,"avatar":null,"createdAt":"x"}}}`
	answer, err := newCodec(t).Encode("GetUser", []byte(response))
	if err != nil {
		t.Fatal(err)
	}
	const want = "<tns:name>a\uFFFD\uFFFD\uFFFD\uFFFD&#xD;\n\t&lt;&amp;&gt;&quot;😀é\uFFFD</tns:name>"
	if !strings.Contains(string(answer), want) {
		t.Errorf("%s", answer)
	}
	if _, err := xmltree.Scan(answer, ""); err != nil {
		t.Errorf("our own scanner: %v", err)
	}
}

// FuzzDecode: what strangers send is refused with a fault, or becomes the JSON
// of variables.
func FuzzDecode(f *testing.F) {
	c := newCodec(f)
	f.Add(createPost(f), "text/xml")
	for _, body := range []string{
		`<GetUser><id>a</id></GetUser>`, `<ListUsers><first xsi:nil="1"/><after/></ListUsers>`,
		`<t:UpdateUser xmlns:t="urn:tidings:v1:SocialService"><input><t:id>a</t:id><fieldsToNull><item>avatar</item></fieldsToNull></input></t:UpdateUser>`,
		`<CreatePosts><inputs><item><title>a</title><clientRef>r&amp;</clientRef></item><item><nome/></item><item xsi:nil="1"/></inputs><allOrNone>1</allOrNone></CreatePosts>`,
		`<UpdatePosts><inputs><item><id>a</id><fieldsToNull><item>minutes</item></fieldsToNull></item></inputs></UpdatePosts>`,
		`<CreatePost><input><title>"\</title><tags><item>a</item></tags><minutes> 7 </minutes></input></CreatePost>`,
	} {
		f.Add([]byte(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><s:Body>`+body+`</s:Body></s:Envelope>`), "text/xml; charset=utf-8")
	}
	f.Add([]byte(envelope11(`<a:Action s:mustUnderstand="1">urn:tidings:v1:SocialService/ListUsers</a:Action><a:MessageID>urn:uuid:1</a:MessageID><a:RelatesTo>urn:x</a:RelatesTo>`+
		`<a:ReplyTo><a:Address>http://www.w3.org/2005/08/addressing/anonymous</a:Address><a:ReferenceParameters><t:x a:y="1"/></a:ReferenceParameters></a:ReplyTo>`, "<t:ListUsers/>")), "text/xml; charset=iso-8859-1")
	f.Fuzz(func(t *testing.T, data []byte, contentType string) {
		_, variables, err := c.Decode(data, contentType)
		if err != nil {
			if fault.Is(err, fault.Internal) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		var object map[string]any
		if err := json.Unmarshal(variables, &object); err != nil {
			t.Fatalf("%q became %q: %v", data, variables, err)
		}
	})
}

// FuzzEncode: whatever the engine answers, what is written is XML of the contract.
func FuzzEncode(f *testing.F) {
	c := newCodec(f)
	f.Add([]byte(post))
	f.Add([]byte(`{"data":{"result":null},"errors":[{"message":"x","path":["result",1,"a"],"extensions":{"code":"NOT_FOUND"}}]}`))
	f.Fuzz(func(t *testing.T, response []byte) {
		answer, err := c.Encode("CreatePost", response)
		if err != nil {
			return
		}
		if _, err := xmltree.Scan(answer, ""); err != nil && !strings.Contains(err.Error(), "is larger than") {
			t.Fatalf("%q became %q: %v", response, answer, err)
		}
	})
}

const post = `{"data":{"result":{"id":"0193a2c0-7d5e-7c3a-9f10-2b8f6d1e4a55","authorId":"alice","author":{"id":"alice","name":"Alice","avatar":null,"createdAt":"2026-11-20T08:00:00Z"},"title":"On the price of fish & chips","excerpt":"Short.","body":null,"kind":"NOTE","tags":["a","b"],"minutes":7,"createdAt":"2026-11-20T08:00:00Z","updatedAt":"2026-11-20T08:00:00Z"}}}`

func BenchmarkDecode(b *testing.B) {
	c, data := newCodec(b), createPost(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Decode(data, "text/xml; charset=utf-8"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	c, data := newCodec(b), []byte(post)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Encode("CreatePost", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeAndEncode(b *testing.B) {
	c, in, out := newCodec(b), createPost(b), []byte(post)
	b.ReportAllocs()
	for b.Loop() {
		op, _, err := c.Decode(in, "text/xml; charset=utf-8")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Encode(op, out); err != nil {
			b.Fatal(err)
		}
	}
}

// createPost is an envelope as a partner sends it.
func createPost(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile("testdata/create.xml")
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
