package soap_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidings/fault"
	"tidings/soap"
	"tidings/xmltree"
)

// The rules of the WS-I Basic Profile 1.1 on envelopes, faults and HTTP, by their
// numbers. Those on descriptions are in the tests of the WSDL. Rules on what a
// sender writes are asked of our answers; of what others send, the ones that do no
// harm are not asked.

var envelopeSpaces = []string{"http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"}

// obeys holds an answer against the rules for whoever sends an envelope.
func obeys(t *testing.T, what string, resp *http.Response, answer string) (code string) {
	t.Helper()
	if strings.HasPrefix(answer, "\xEF\xBB\xBF") {
		t.Errorf("%s: the answer begins with a byte order mark", what)
	}
	tree, err := xmltree.Scan([]byte(answer), "utf-8") // R1008, R1009: it takes neither
	if err != nil {
		t.Fatalf("%s: %v: %s", what, err, answer)
	}
	root := tree.Root()
	space := root.Name().Space
	twelve := space == envelopeSpaces[1]
	if !slices.Contains(envelopeSpaces, space) || root.Name().Local != "Envelope" {
		t.Fatalf("%s: R9980: the root is %v", what, root.Name())
	}
	if want := map[bool]string{false: "text/xml; charset=utf-8", true: "application/soap+xml; charset=utf-8"}[twelve]; resp.Header.Get("Content-Type") != want {
		t.Errorf("%s: Content-Type %q, want %q", what, resp.Header.Get("Content-Type"), want)
	}
	var body xmltree.Elem
	for e := range root.Children() {
		if body.Exists() {
			t.Errorf("%s: R1011: %v follows the Body", what, e.Name())
		}
		if e.Is(space, "Body") {
			body = e
		}
	}
	var payload xmltree.Elem
	for e := range body.Children() {
		if payload.Exists() || e.Name().Space == "" {
			t.Errorf("%s: R1014: %v in the Body", what, e.Name())
		}
		payload = e
	}
	for _, e := range []xmltree.Elem{root, body, payload} {
		for n := range e.Attrs() {
			if n.Space == space {
				t.Errorf("%s: R1032, R1005, R1006: %v has the attribute %v", what, e.Name(), n)
			}
		}
	}
	isFault := payload.Is(space, "Fault")
	if isFault != (resp.StatusCode == 500) || !isFault && resp.StatusCode != 200 {
		t.Errorf("%s: R1111, R1126: %s for %v", what, resp.Status, payload.Name())
	}
	if isFault {
		return obeysAsFault(t, what, payload, twelve)
	}
	return ""
}

// obeysAsFault does so for a Fault, and returns the code of its detail.
func obeysAsFault(t *testing.T, what string, f xmltree.Elem, twelve bool) (code string) {
	t.Helper()
	space, names := "", []string{"faultcode", "faultstring", "detail"}
	if twelve {
		space, names = envelopeSpaces[1], []string{"Code", "Reason", "Detail"}
	}
	var detail xmltree.Elem
	i := 0
	for e := range f.Children() {
		if i == len(names) || !e.Is(space, names[i]) {
			t.Errorf("%s: R1000, R1001: %v in a Fault", what, e.Name())
			continue
		}
		switch i {
		case 0:
			obeysAsCode(t, what, e, twelve)
		case 2:
			detail = e
		}
		i++
	}
	for e := range detail.Children() {
		if !e.Is("urn:tidings:v1:SocialService", "ServiceFault") {
			continue
		}
		for member := range e.Children() {
			if member.Name().Local == "code" {
				code = member.Text()
			}
		}
	}
	if code == "" {
		t.Errorf("%s: the detail has no code", what)
	}
	return code
}

// obeysAsCode asks of a faultcode that it is a QName of a known namespace (R1004)
// without dots (R1031), and of a Code that its Value is one of SOAP's.
func obeysAsCode(t *testing.T, what string, e xmltree.Elem, twelve bool) {
	t.Helper()
	standard := []string{"VersionMismatch", "MustUnderstand", "Client", "Server"}
	if twelve {
		for child := range e.Children() {
			e = child
			break
		}
		standard = []string{"VersionMismatch", "MustUnderstand", "DataEncodingUnknown", "Sender", "Receiver"}
	}
	prefix, local, _ := strings.Cut(e.Text(), ":")
	space, bound := e.Namespace(prefix)
	switch {
	case !bound || strings.Contains(local, "."):
		t.Errorf("%s: R1004, R1031: code %q", what, e.Text())
	case slices.Contains(envelopeSpaces, space) && !slices.Contains(standard, local):
		t.Errorf("%s: R1004: code %q is none of SOAP's", what, e.Text())
	case twelve && !slices.Contains(envelopeSpaces, space):
		t.Errorf("%s: code %q is none of SOAP's", what, e.Text())
	}
}

func TestBasicProfileOfEnvelopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	plain := envelope11("", "<t:ListUsers/>")
	in := func(old, new string) string { return strings.Replace(plain, old, new, 1) }
	header := func(block string) string { return envelope11(block, "<t:ListUsers/>") }
	for what, c := range map[string]struct{ envelope, code string }{ // the faultcode; empty for none
		"R9980 an envelope":                           {plain, ""},
		"R9980 without a Header":                      {in("<s:Header></s:Header>", ""), ""},
		"R9980 two Bodies":                            {in("</s:Body>", "</s:Body><s:Body/>"), "soap:Client"},
		"R9980 a Header after the Body":               {in("</s:Body>", "</s:Body><s:Header/>"), "soap:Client"},
		"R1015 another document element":              {"<Envelope/>", "soap:VersionMismatch"},
		"R1015 no envelope at all":                    {"<html/>", "soap:Client"},
		"R1015 an envelope of another version":        {strings.ReplaceAll(plain, envelopeSpaces[0], "urn:soap-1.3"), "soap:VersionMismatch"},
		"R1014 a child of the Body without namespace": {in("t:ListUsers", "ListUsers"), "soap:Client"},
		"R1008 a document type":                       {"<!DOCTYPE s>" + plain, "soap:Client"},
		"R1009 a processing instruction":              {in("<s:Body>", "<?x y?><s:Body>"), "soap:Client"},
		"R1033 the prefix xml is declared":            {in("<s:Body>", `<s:Body xmlns:xml="http://www.w3.org/XML/1998/namespace">`), ""},
		"R1011 an element after the Body":             {in("</s:Body>", "</s:Body><t:x/>"), "soap:Client"},
		"R1005 encodingStyle of SOAP":                 {in("<s:Body>", `<s:Body s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/">`), ""},
		"R1006 encodingStyle of SOAP":                 {in("<t:ListUsers", `<t:ListUsers s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"`), ""},
		"R1005 another encodingStyle":                 {in("<s:Body>", `<s:Body s:encodingStyle="urn:x">`), "soap:Client"},
		"R1006 another encodingStyle":                 {in("<t:ListUsers", `<t:ListUsers s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/ urn:x"`), "soap:Client"},
		"R1013 mustUnderstand 0":                      {header(`<t:x s:mustUnderstand="0"/>`), ""},
		"R1013 mustUnderstand maybe":                  {header(`<t:x s:mustUnderstand="maybe"/>`), "soap:Client"},
		"R1017 xsi:type":                              {in("<t:ListUsers/>", `<t:ListUsers><t:first xsi:type="t:int">1</t:first></t:ListUsers>`), ""},
		"R1017 no xsi:type":                           {in("<t:ListUsers/>", `<t:ListUsers><t:first>1</t:first></t:ListUsers>`), ""},
		"R1025 mandatory headers before the Body":     {envelope11(`<t:x s:mustUnderstand="1"/>`, "<t:Nonsense/>"), "soap:MustUnderstand"},
		"R1025 mandatory headers before credentials":  {envelope11(`<w:Security>`+usernameToken("alice", "wrong")+`</w:Security><t:x s:mustUnderstand="1"/>`, "<t:ListUsers/>"), "soap:MustUnderstand"},
		"R1025 version before mandatory headers":      {strings.ReplaceAll(header(`<t:x s:mustUnderstand="1"/>`), envelopeSpaces[0], "urn:soap-1.3"), "soap:VersionMismatch"},
		"R1027 a mandatory header for the next":       {header(`<t:x s:mustUnderstand="1" s:actor="http://schemas.xmlsoap.org/soap/actor/next"/>`), "soap:MustUnderstand"},
		"R1027 a mandatory header for somebody else":  {header(`<t:x s:mustUnderstand="1" s:actor="urn:else"/>`), ""},
		"R1027 a header that may be ignored":          {header(`<t:x/>`), ""},
		"R1027 one that is understood":                {header(`<w:Security s:mustUnderstand="1"/>`), ""},
		"R1028 nothing is done after a fault":         {envelope11(`<t:x s:mustUnderstand="1"/>`, "<t:CreateUser><t:input><t:name>A</t:name><t:email>a@example.com</t:email></t:input></t:CreateUser>"), "soap:MustUnderstand"},
		"R1029 a fault in place of the answer":        {envelope11("", getAlice), "soap:Client"},
		"R1107 a Fault is no request":                 {in("t:ListUsers", "s:Fault"), "soap:Client"},
		"R4001 a byte order mark":                     {"\xEF\xBB\xBF" + plain, ""},
	} {
		resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, c.envelope)
		obeys(t, what, resp, answer)
		got, _, _ := strings.Cut(between(answer, "<faultcode>"), "<")
		if got != c.code {
			t.Errorf("%s: %s, want %q: %s", what, resp.Status, c.code, answer)
		}
	}
	if _, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, envelope11("", "<t:ListUsers/>")); !strings.Contains(answer, "<tns:totalCount>0<") {
		t.Errorf("R1028: something was done: %s", answer)
	}
}

// between returns what follows a mark.
func between(text, mark string) string {
	_, after, _ := strings.Cut(text, mark)
	return after
}

func TestSOAPTwelveHasItsOwnRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	plain := envelope12("", "<t:ListUsers/>")
	role := func(name string) string {
		return envelope12(`<t:x s:mustUnderstand="true" s:role="`+name+`"/>`, "<t:ListUsers/>")
	}
	ns := envelopeSpaces[1]
	for what, c := range map[string]struct{ envelope, code, more string }{
		"an envelope":                  {plain, "", "ListUsersResponse"},
		"the version of the answer":    {strings.ReplaceAll(plain, ns, "urn:soap-1.3"), "soap:VersionMismatch", `<soap:Upgrade><soap:SupportedEnvelope xmlns:q="http://schemas.xmlsoap.org/soap/envelope/" qname="q:Envelope"/><soap:SupportedEnvelope xmlns:q="` + ns + `" qname="q:Envelope"/></soap:Upgrade>`},
		"the last receiver":            {role(ns + "/role/ultimateReceiver"), "soap:MustUnderstand", `<soap:NotUnderstood xmlns:q="urn:tidings:v1:SocialService" qname="q:x"/>`},
		"the next receiver":            {role(ns + "/role/next"), "soap:MustUnderstand", "NotUnderstood"},
		"nobody":                       {role(ns + "/role/none"), "", ""},
		"somebody else":                {role("urn:else"), "", ""},
		"several":                      {envelope12(`<t:x s:mustUnderstand="1"/><t:y s:mustUnderstand="1"/>`, "<t:ListUsers/>"), "soap:MustUnderstand", `qname="q:x"/><soap:NotUnderstood xmlns:q="urn:tidings:v1:SocialService" qname="q:y"/>`},
		"relay is somebody else's":     {envelope12(`<t:x s:relay="true"/>`, "<t:ListUsers/>"), "", ""},
		"an encoding that is not read": {strings.Replace(plain, "<t:ListUsers", `<t:ListUsers s:encodingStyle="urn:x"`, 1), "soap:DataEncodingUnknown", ""},
		"the encoding none":            {strings.Replace(plain, "<t:ListUsers", `<t:ListUsers s:encodingStyle="`+ns+`/encoding/none"`, 1), "", ""},
	} {
		resp, answer := w.post(t, http.Header{"Content-Type": {"application/soap+xml; charset=utf-8"}}, c.envelope)
		obeys(t, what, resp, answer)
		got, _, _ := strings.Cut(between(answer, "<soap:Code><soap:Value>"), "<")
		if got != c.code || !strings.Contains(answer, c.more) {
			t.Errorf("%s: %s, want %q and %s: %s", what, resp.Status, c.code, c.more, answer)
		}
	}
}

func TestBasicProfileOfHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	envelope := []byte(envelope11("", "<t:ListUsers/>"))
	for what, c := range map[string]struct {
		method string
		header http.Header
		body   []byte
		status int
	}{
		"R1132 POST":                                    {"POST", nil, envelope, 200},
		"R1109, R1119 SOAPAction, quoted":               {"POST", http.Header{"Soapaction": {`"urn:tidings:v1:SocialService/ListUsers"`}}, envelope, 200},
		"R1119 SOAPAction, not quoted":                  {"POST", http.Header{"Soapaction": {`urn:tidings:v1:SocialService/ListUsers`}}, envelope, 200},
		"R1127 SOAPAction, empty":                       {"POST", http.Header{"Soapaction": {`""`}}, envelope, 200},
		"R1127 SOAPAction, nothing in it":               {"POST", http.Header{"Soapaction": {``}}, envelope, 200},
		"R1127 SOAPAction of another operation":         {"POST", http.Header{"Soapaction": {`"urn:tidings:v1:SocialService/DeleteUser"`}}, envelope, 500},
		"R1124, R1111 success":                          {"POST", nil, envelope, 200},
		"R1126 a fault":                                 {"POST", nil, []byte(envelope11("", getAlice)), 500},
		"R1126 no XML":                                  {"POST", nil, []byte("no"), 500},
		"R1125, R1113 a body that is not of its coding": {"POST", http.Header{"Content-Encoding": {"gzip"}}, envelope, 400},
		"R1114 GET":                                     {"GET", nil, nil, 405},
		"R1114 PUT":                                     {"PUT", nil, envelope, 405},
		"R1114 M-POST":                                  {"M-POST", nil, envelope, 405},
		"a charset of nothing":                          {"POST", http.Header{"Content-Type": {"text/xml; charset="}}, envelope, 200},
		"an action without quotes":                      {"POST", http.Header{"Content-Type": {"application/soap+xml; action=urn:tidings:v1:SocialService/ListUsers; charset=utf-8"}}, []byte(envelope12("", "<t:ListUsers/>")), 200},
		"another's action without quotes":               {"POST", http.Header{"Content-Type": {"application/soap+xml; action=urn:tidings:v1:SocialService/GetUser"}}, []byte(envelope12("", "<t:ListUsers/>")), 500},
		"two types":                                     {"POST", http.Header{"Content-Type": {"text/xml,text/xml"}}, envelope, 415},
		".NET without WS-Addressing":                    {"POST", nil, []byte(envelope11(`<To s:mustUnderstand="1" xmlns="http://schemas.microsoft.com/ws/2005/05/addressing/none">http://x/</To><Action s:mustUnderstand="1" xmlns="http://schemas.microsoft.com/ws/2005/05/addressing/none">urn:tidings:v1:SocialService/ListUsers</Action>`, "<t:ListUsers/>")), 200},
		"R1115 another type":                            {"POST", http.Header{"Content-Type": {"application/xml"}}, envelope, 415},
		"R1115 attachments":                             {"POST", http.Header{"Content-Type": {`multipart/related; type="text/xml"; boundary=x`}}, envelope, 415},
		"R1115 MTOM":                                    {"POST", http.Header{"Content-Type": {`multipart/related; type="application/xop+xml"; boundary=x`}}, envelope, 415},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, w.url+"/v1/SocialService", strings.NewReader(string(c.body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"text/xml; charset=utf-8"}}
		for key, values := range c.header {
			r.Header[key] = values
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s", what, resp.Status)
		}
		if resp.StatusCode == 405 && resp.Header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow %q", what, resp.Header.Get("Allow"))
		}
		if resp.Header.Get("Set-Cookie") != "" {
			t.Errorf("R1121 %s: a cookie", what)
		}
	}
}

// Every code has the same place in both versions, whatever it is that failed.
func TestCodesOfFaults(t *testing.T) {
	t.Parallel()
	const client, server = "Client", "Server"
	for code, c := range map[fault.Code]struct {
		eleven string
		retry  bool
	}{
		fault.BadRequest: {client, false}, fault.ParseFailed: {client, false}, fault.ValidationFailed: {client, false},
		fault.BadUserInput: {client, false}, fault.Forbidden: {client, false}, fault.NotFound: {client, false}, fault.Conflict: {client, false},
		fault.RateLimited: {client, true}, fault.DepthLimitExceeded: {client, false}, fault.CostLimitExceeded: {client, false},
		fault.PersistedQueryNotFound: {client, false}, fault.IntrospectionDisabled: {client, false}, fault.CursorExpired: {client, false},
		fault.PayloadTooLarge: {client, false}, fault.Timeout: {server, true}, fault.Unavailable: {server, true}, fault.Internal: {server, false},
	} {
		for _, twelve := range []bool{false, true} {
			answer := string(soap.Fault(twelve, code, ""))
			want := "<faultcode>soap:" + c.eleven + "</faultcode>"
			if twelve {
				want = "<soap:Code><soap:Value>soap:" + map[string]string{client: "Sender", server: "Receiver"}[c.eleven] +
					"</soap:Value><soap:Subcode><soap:Value>tns:" + string(code) + "</soap:Value></soap:Subcode></soap:Code>"
			}
			if !strings.Contains(answer, want) || !strings.Contains(answer, "<tns:code>"+string(code)+"</tns:code>") {
				t.Errorf("%s: want %s in %s", code, want, answer)
			}
			if strings.Contains(answer, "retryAfterSeconds") != c.retry {
				t.Errorf("%s: retryAfterSeconds in %s", code, answer)
			}
		}
	}
	for _, wire := range []string{"wsse:InvalidSecurity", "wsse:FailedAuthentication", "wsse:UnsupportedSecurityToken", "wsse:MessageExpired"} {
		for _, twelve := range []bool{false, true} {
			answer := string(soap.Fault(twelve, fault.Unauthenticated, wire))
			want := "<faultcode>" + wire + "</faultcode>"
			if twelve {
				want = "<soap:Value>soap:Sender</soap:Value><soap:Subcode><soap:Value>" + wire + "</soap:Value></soap:Subcode>"
			}
			if !strings.Contains(answer, want) || !strings.Contains(answer, "<tns:code>UNAUTHENTICATED</tns:code>") {
				t.Errorf("%s: want %s in %s", wire, want, answer)
			}
		}
	}
	if answer := string(soap.Fault(false, fault.Unauthenticated, "")); !strings.Contains(answer, "<faultcode>wsse:InvalidSecurity</faultcode>") {
		t.Errorf("credentials are missing: %s", answer)
	}
}
