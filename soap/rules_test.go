package soap_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tidings/fault"
	"tidings/soap"
)

func TestRuleForSOAPAction(t *testing.T) {
	t.Parallel()
	const right, wrong = `"urn:tidings:v1:SocialService/ListUsers"`, `"urn:tidings:v1:SocialService/GetUser"`
	const made = `"urn:tidings:v1:SocialService#ListUsers"` // as SOAP::Lite makes one of a namespace and a name
	addressed := `<a:Action>urn:tidings:v1:SocialService/ListUsers</a:Action>`
	for rule, want := range map[soap.ActionRule]map[string]bool{ // which actions are refused
		"":                 {"": false, `""`: false, right: false, "ListUsers": false, made: false, wrong: true, "nonsense": true},
		soap.ActionMatch:   {"": false, `""`: false, right: false, "ListUsers": false, wrong: true},
		soap.ActionRequire: {"": true, `""`: true, right: false, strings.Trim(right, `"`): false, wrong: true},
		soap.ActionIgnore:  {"": false, `""`: false, right: false, wrong: false, "nonsense": false},
	} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			o := trusting
			o.SOAPAction = rule
			w := newWorld(t, o)
			for action, refused := range want {
				for what, envelope := range map[string]string{"plain": envelope11("", "<t:ListUsers/>"), "addressed": envelope11(addressed, "<t:ListUsers/>")} {
					resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}, "Soapaction": {action}}, envelope)
					if refused != (resp.StatusCode == 500) || refused && !strings.Contains(answer, "SOAPAction") {
						t.Errorf("%s, %s: %s: %s", action, what, resp.Status, answer)
					}
				}
				contentType := "application/soap+xml"
				if action != "" {
					contentType += "; action=" + `"` + strings.Trim(action, `"`) + `"`
				}
				resp, answer := w.post(t, http.Header{"Content-Type": {contentType}}, envelope12("", "<t:ListUsers/>"))
				if refused != (resp.StatusCode == 500) {
					t.Errorf("%s in SOAP 1.2: %s: %s", contentType, resp.Status, answer)
				}
			}
		})
	}
}

func TestRuleForPartialResults(t *testing.T) {
	t.Parallel()
	const response = `{"data":{"result":{"id":"alice","name":"A","email":null,"adminNotes":null,"avatar":null,"createdAt":"2026-11-20T08:00:00Z"}},"errors":[` +
		`{"message":"too late","path":["result","avatar"],"extensions":{"code":"TIMEOUT"}}]}`
	for rule, header := range map[soap.PartialRule]map[string]bool{
		"":                 {"GetUser": false, "UpdateUser": true},
		soap.PartialHeader: {"GetUser": true, "UpdateUser": true},
		soap.PartialFault:  {"GetUser": false, "UpdateUser": false},
	} {
		c, err := soap.NewCodecWith(social(t), soap.Options{Partial: rule})
		if err != nil {
			t.Fatal(err)
		}
		for op, header := range header {
			answer, err := c.Encode(op, []byte(response))
			switch {
			case header && (err != nil || !strings.Contains(string(answer), "<tns:Errors><tns:error><tns:code>TIMEOUT</tns:code>")):
				t.Errorf("%q: %s: %v: %s", rule, op, err, answer)
			case !header && !fault.Is(err, fault.Timeout):
				t.Errorf("%q: %s: %v", rule, op, err)
			case !header && (op == "UpdateUser") != strings.Contains(err.Error(), "the change was made"):
				t.Errorf("%q: %s: %v", rule, op, err)
			}
		}
	}
}

func TestRulesThatThereAreNot(t *testing.T) {
	t.Parallel()
	for _, o := range []soap.Options{{SOAPAction: "maybe"}, {Partial: "maybe"}} {
		if _, err := soap.NewCodecWith(social(t), o); err == nil || !strings.Contains(err.Error(), "maybe") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Who is refused for a clock or a password that is wrong can ask what time it is.
func TestServiceInfoNeedsNoCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	header := http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer nonsense"}}
	expired := `<u:Timestamp><u:Created>2001-01-01T00:00:00Z</u:Created><u:Expires>2001-01-01T00:05:00Z</u:Expires></u:Timestamp>`
	resp, answer := w.post(t, header, envelope11(`<w:Security s:mustUnderstand="1">`+expired+usernameToken("alice", "wrong")+`</w:Security>`, "<t:GetServiceInfo/>"))
	if resp.StatusCode != 200 || !strings.Contains(answer, "<tns:service>SocialService</tns:service><tns:version>v1</tns:version><tns:contract>") || !strings.Contains(answer, "<wsse:Security") {
		t.Fatalf("%s: %s", resp.Status, answer)
	}
	text, _, _ := strings.Cut(between(answer, "<tns:time>"), "<")
	at, err := time.Parse(time.RFC3339, text)
	if off := time.Since(at).Abs(); err != nil || off > time.Minute {
		t.Errorf("time %q is off by %s: %v", text, off, err)
	}
	resp, answer = w.post(t, header, envelope11("", "<t:GetServiceInfo><t:id>a</t:id></t:GetServiceInfo>"))
	if resp.StatusCode != 500 || !strings.Contains(answer, "there is no element id here") {
		t.Errorf("with an argument: %s: %s", resp.Status, answer)
	}
}
