package soap_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"tidings/soap"
)

const (
	getAlice = `<t:GetUser><t:id>alice</t:id></t:GetUser>`
)

// envelope11 is an envelope of SOAP 1.1 with the header blocks and the body.
func envelope11(header, body string) string {
	return `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService" xmlns:w="` + wsse + `" xmlns:u="` + wsu + `" xmlns:a="http://www.w3.org/2005/08/addressing" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
		`<s:Header>` + header + `</s:Header><s:Body>` + body + `</s:Body></s:Envelope>`
}

func envelope12(header, body string) string {
	return strings.Replace(envelope11(header, body), "http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope", 1)
}

func usernameToken(user, password string) string {
	return `<w:UsernameToken><w:Username>` + user + `</w:Username><w:Password>` + password + `</w:Password></w:UsernameToken>`
}

// attack is what somebody sends to do harm, and a part of the fault that is the answer.
type attack struct{ envelope, fault string }

// hostileXML is refused before anybody asks what it means. URL is where a
// reader would go that fetches what documents name.
func hostileXML() map[string]attack {
	plain := envelope11("", getAlice)
	with := func(prolog string) string { return prolog + strings.Replace(plain, "alice", "&x;", 1) }
	in := func(old, new string) attack { return attack{strings.Replace(plain, old, new, 1), "BAD_REQUEST"} }
	laughs := `<!DOCTYPE s [<!ENTITY x0 "ha">`
	for i := range 20 {
		n := string(rune('a' + i))
		laughs += `<!ENTITY x` + n + ` "` + strings.Repeat("&x0;", 50) + `">`
	}
	return map[string]attack{
		"document type":            {`<!DOCTYPE Envelope>` + plain, "document types"},
		"external document type":   {`<!DOCTYPE Envelope SYSTEM "URL">` + plain, "document types"},
		"internal subset":          {with(`<!DOCTYPE s [<!ENTITY x "alice">]>`), "document types"},
		"external entity":          {with(`<!DOCTYPE s [<!ENTITY x SYSTEM "URL">]>`), "document types"},
		"file entity":              {with(`<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]>`), "document types"},
		"parameter entity":         {with(`<!DOCTYPE s [<!ENTITY % y SYSTEM "URL"> %y;]>`), "document types"},
		"billion laughs":           {with(laughs + `<!ENTITY x "&xt;">]>`), "document types"},
		"document type, comment":   {`<!DOCTYPE s [<!-- -->]>` + plain, "document types"},
		"undefined entity":         in("alice", "&x;"),
		"stylesheet":               {`<?xml-stylesheet href="URL"?>` + plain, "processing instructions"},
		"processing instruction":   in("alice", "<?php x?>"),
		"undeclared prefix":        in("<t:id>alice</t:id>", "<v:id>alice</v:id>"),
		"undeclared attribute":     in("<t:id>", `<t:id v:nil="1">`),
		"attribute twice":          in("<t:id>", `<t:id xsi:nil="0" xsi:nil="1">`),
		"attribute by two names":   in("<t:id>", `<t:id xmlns:y="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="0" y:nil="1">`),
		"prefix without namespace": in("<t:id>", `<t:id xmlns:y="">`),
		"xml rebound":              in("<t:id>", `<t:id xmlns:xml="urn:x">`),
		"xmlns declared":           in("<t:id>", `<t:id xmlns:xmlns="urn:x">`),
		"two roots":                {plain + plain, "BAD_REQUEST"},
		"leading garbage":          {"x" + plain, "BAD_REQUEST"},
		"trailing garbage":         {plain + "x", "BAD_REQUEST"},
		"no blank":                 in("<t:id>", `<t:id a="1"b="2">`),
		"colon first":              in("<t:id>", `<:id>`),
		"attribute colon first":    in("<t:id>", `<t:id :a="1">`),
		"colon last":               in("<t:id>", `<t:>`),
		"surrogate":                in("alice", "&#xD800;"),
		"NUL":                      in("alice", "\x00"),
		"NUL reference":            in("alice", "&#0;"),
		"U+FFFE":                   in("alice", "&#xFFFE;"),
		"control":                  in("alice", "\x1b"),
		"not UTF-8":                in("alice", "\xff"),
		"overlong UTF-8":           in("alice", "\xc0\xaf"),
		"]]> in text":              in("alice", "]]>"),
		"< in an attribute":        in("<t:id>", `<t:id a="<">`),
		"-- in a comment":          in("alice", "<!-- -- -->"),
		"XML 1.1":                  {`<?xml version="1.1"?>` + plain, "BAD_REQUEST"},
		"UTF-7":                    {`<?xml version="1.0" encoding="UTF-7"?>` + plain, "BAD_REQUEST"},
		"another end tag":          in("<t:id>alice</t:id>", `<t:id xmlns:y="urn:tidings:v1:SocialService">alice</y:id>`),
		"long namespace":           in("<t:id>", `<t:id xmlns:y="`+strings.Repeat("u", 513)+`">`),
	}
}

// hostileEnvelopes are XML, but no envelopes to act upon.
func hostileEnvelopes() map[string]attack {
	body := func(b, fault string) attack { return attack{envelope11("", b), fault} }
	header := func(h, fault string) attack { return attack{envelope11(h, getAlice), fault} }
	const action = `<a:Action>urn:tidings:v1:SocialService/GetUser</a:Action>`
	title := func(v, fault string) attack {
		return body(`<t:CreatePost><t:input><t:title>`+v+`</t:title></t:input></t:CreatePost>`, fault)
	}
	return map[string]attack{
		"two bodies":         {strings.Replace(envelope11("", getAlice), "</s:Body>", "</s:Body><s:Body>"+getAlice+"</s:Body>", 1), "BAD_REQUEST"},
		"body in a header":   {strings.Replace(envelope11("<s:Body>"+getAlice+"</s:Body>", getAlice), "<s:Body>"+getAlice+"</s:Body></s:Envelope>", "</s:Envelope>", 1), "no Body"},
		"two payloads":       body(getAlice+getAlice, "more than one element"),
		"text in the body":   body("x"+getAlice, "text between"),
		"element twice":      body(`<t:GetUser><t:id>alice</t:id><t:id>bob</t:id></t:GetUser>`, "given twice"),
		"twice, unqualified": body(`<t:GetUser><t:id>alice</t:id><id>bob</id></t:GetUser>`, "given twice"),
		"other namespace":    body(`<t:GetUser><id xmlns="urn:x">alice</id></t:GetUser>`, "no element id"),
		"multi-ref": body(`<t:GetUser s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><t:id href="#a"/></t:GetUser><multiRef id="a">alice</multiRef>`,
			"BAD_REQUEST"),
		"reference":                      body(`<t:GetUser><t:id href="URL"/></t:GetUser>`, "references to other elements"),
		"xop:Include":                    title(`<xop:Include xmlns:xop="http://www.w3.org/2004/08/xop/include" href="URL"/>`, "elements where a value"),
		"xop:Include in a password":      header(`<w:Security><w:UsernameToken><w:Username>a</w:Username><w:Password><xop:Include xmlns:xop="http://www.w3.org/2004/08/xop/include" href="URL"/></w:Password></w:UsernameToken></w:Security>`, "wsse:InvalidSecurity"),
		"many blocks":                    header(strings.Repeat(`<t:x/>`, 10_000), "more than 100 blocks"),
		"many that must be understood":   {envelope12(strings.Repeat(`<t:x s:mustUnderstand="1"/>`, 10_000), getAlice), "more than 100 blocks"},
		"an answer to somebody else":     header(action+`<a:MessageID>urn:m</a:MessageID><a:ReplyTo><a:Address>URL</a:Address></a:ReplyTo>`, "OnlyAnonymousAddressSupported"),
		"a fault to somebody else":       header(action+`<a:MessageID>urn:m</a:MessageID><a:FaultTo><a:Address>URL</a:Address></a:FaultTo>`, "OnlyAnonymousAddressSupported"),
		"an id of a megabyte, to echo":   header(action+`<a:MessageID>`+strings.Repeat("&quot;", 160_000)+`</a:MessageID>`, "longer than"),
		"two Security headers":           header(`<w:Security/><w:Security/>`, "wsse:InvalidSecurity"),
		"thousands of Security headers":  header(strings.Repeat(`<w:Security/>`, 10_000), "more than 100 blocks"),
		"two UsernameTokens":             header(`<w:Security>`+strings.Repeat(usernameToken("alice", "no"), 2)+`</w:Security>`, "wsse:"),
		"thousands of UsernameTokens":    header(`<w:Security>`+strings.Repeat(usernameToken("alice", "no"), 5_000)+`</w:Security>`, "wsse:"),
		"thousands of Timestamps":        header(`<w:Security>`+strings.Repeat(`<u:Timestamp/>`, 20_000)+`</w:Security>`, "wsse:"),
		"thousands of Nonces":            header(`<w:Security><w:UsernameToken><w:Username>a</w:Username><w:Password>b</w:Password>`+strings.Repeat(`<w:Nonce/>`, 30_000)+`</w:UsernameToken></w:Security>`, "wsse:"),
		"deep Security":                  header(`<w:Security>`+strings.Repeat("<w:a>", 60)+strings.Repeat("</w:a>", 60)+`</w:Security>`, "deeper than"),
		"huge token":                     header(`<w:Security><w:BinarySecurityToken>`+strings.Repeat("QUJD", 200_000)+`</w:BinarySecurityToken></w:Security>`, "wsse:"),
		"huge user":                      header(`<w:Security>`+usernameToken(strings.Repeat("a", 900_000), "b")+`</w:Security>`, "wsse:"),
		"huge password":                  header(`<w:Security>`+usernameToken("alice", strings.Repeat("b", 900_000))+`</w:Security>`, "wsse:"),
		"long list":                      body(`<t:CreatePost><t:input><t:title>T</t:title><t:tags>`+strings.Repeat("<t:item/>", 80_000)+`</t:tags></t:input></t:CreatePost>`, "BAD_USER_INPUT"),
		"long list of fields to clear":   body(`<t:UpdateUser><t:input><t:id>alice</t:id><t:fieldsToNull>`+strings.Repeat("<t:item>avatar</t:item>", 40_000)+`</t:fieldsToNull></t:input></t:UpdateUser>`, "BAD_USER_INPUT"),
		"unknown elements":               body(`<t:GetUser>`+strings.Repeat(`<t:x/>`, 100_000)+`</t:GetUser>`, "no element x"),
		"deep payload":                   body(`<t:GetUser>`+strings.Repeat(`<t:id>`, 60)+strings.Repeat(`</t:id>`, 60)+`</t:GetUser>`, "deeper than"),
		"a number of a million digits":   body(`<t:ListUsers><t:first>`+strings.Repeat("9", 1_000_000)+`</t:first></t:ListUsers>`, "BAD_USER_INPUT"),
		"JSON deeper than a stack":       title(strings.Repeat("[", 900_000), "BAD_USER_INPUT"),
		"a text of a megabyte":           title(strings.Repeat("x", 1_000_000), "BAD_USER_INPUT"),
		"a million references":           title(strings.Repeat("&#60;", 200_000), "BAD_USER_INPUT"),
		"an id of a megabyte":            body(`<t:GetUser><t:id>`+strings.Repeat("x", 1_000_000)+`</t:id></t:GetUser>`, "BAD_USER_INPUT"),
		"no version of SOAP":             {strings.Replace(envelope11("", getAlice), "http://schemas.xmlsoap.org/soap/envelope/", "urn:x", 1), "VersionMismatch"},
		"an operation that there is not": body(`<t:`+strings.Repeat("x", 250)+`/>`, "there is no operation"),
	}
}

// hostileSizes fit into no envelope that is accepted.
func hostileSizes() map[string]attack {
	return map[string]attack{
		"open tags":          {strings.Repeat("<a>", 300_000), "deeper than"},
		"100,000 attributes": {"<a" + strings.Repeat(` a="1"`, 100_000) + "/>", "attributes and namespace declarations"},
		"60,000 namespaces":  {"<a" + strings.Repeat(` xmlns:a="1"`, 60_000) + "/>", "declares the prefix"},
		"250,000 elements":   {envelope11("", "<t:a>"+strings.Repeat("<b/>", 250_000)+"</t:a>"), "more than 200000 elements"},
		"a long name":        {"<" + strings.Repeat("a", 1_000_000) + "/>", "longer than 256"},
		"comments in text":   {envelope11("", "<t:a>"+strings.Repeat("x<!---->", 120_000)+"</t:a>"), "comments"},
	}
}

func hostile() map[string]attack {
	all := hostileXML()
	for _, more := range []map[string]attack{hostileEnvelopes(), hostileSizes()} {
		for what, a := range more {
			all[what] = a
		}
	}
	return all
}

// Every attack is refused with a fault that says why, nothing that an envelope
// names is ever fetched, and the service goes on.
func TestHostileEnvelopesAreRefused(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	outside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	t.Cleanup(outside.Close)
	w := newWorld(t, trusting)
	for what, a := range hostile() {
		resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "alice")}},
			strings.ReplaceAll(a.envelope, "URL", outside.URL))
		if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(answer, a.fault) {
			t.Errorf("%s: %s: %.1000s", what, resp.Status, answer)
		}
		if strings.Contains(answer, "INTERNAL") || len(answer) > 4_000 {
			t.Errorf("%s: %d bytes: %.1000s", what, len(answer), answer)
		}
	}
	if n := fetched.Load(); n > 0 {
		t.Errorf("%d requests went out", n)
	}
	if resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, string(createPost(t))); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s: %s", resp.Status, answer)
	}
}

// What looks dangerous and is harmless, because one tree serves all who read.
func TestCommentsAndCDATALeaveNoTraceInValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	for _, value := range []string{"admin<!-- -->@evil", "admin<![CDATA[@]]>evil", "<!---->admin@<![CDATA[]]>evil<!-- x -->", "admin&#x40;evil"} {
		resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "alice")}},
			envelope11("", `<t:CreatePost xsi:schemaLocation="urn:tidings:v1:SocialService http://127.0.0.1:1/x.xsd"><t:input><t:title>`+value+`</t:title></t:input></t:CreatePost>`))
		if resp.StatusCode != http.StatusOK || !strings.Contains(answer, "<tns:title>admin@evil</tns:title>") {
			t.Errorf("%s: %s: %s", value, resp.Status, answer)
		}
	}
}

// The body says what is asked for. A SOAPAction, by which a gateway in front may
// have let the request pass, names the same or nothing.
func TestASpoofedActionIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	for what, header := range map[string]http.Header{
		"another operation":    {"Content-Type": {"text/xml"}, "Soapaction": {`"urn:tidings:v1:SocialService/GetPost"`}},
		"another namespace":    {"Content-Type": {"text/xml"}, "Soapaction": {`"urn:tidings:v2:SocialService/GetUser"`}},
		"of the media type":    {"Content-Type": {`application/soap+xml; action="urn:tidings:v1:SocialService/GetPost"`}},
		"more than the action": {"Content-Type": {"text/xml"}, "Soapaction": {`"urn:tidings:v1:SocialService/GetUser/DeleteUser"`}},
	} {
		send := envelope11("", getAlice)
		if strings.Contains(header.Get("Content-Type"), "soap+xml") {
			send = envelope12("", getAlice)
		}
		resp, answer := w.post(t, header, send)
		if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(answer, "SOAPAction") {
			t.Errorf("%s: %s: %s", what, resp.Status, answer)
		}
	}
}

func TestTwoCredentialsOfDifferentCallersAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, soap.Options{Address: trusting.Address, TrustTransport: true})
	resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "bob")}},
		envelope11(`<w:Security>`+usernameToken("alice", password)+`</w:Security>`, getAlice))
	if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(answer, "wsse:InvalidSecurity") {
		t.Errorf("%s: %s", resp.Status, answer)
	}
}
