package soap

import (
	"cmp"
	"strconv"
	"strings"

	"tidings/fault"
	"tidings/xmltree"
)

// faultName is the element and the type of every fault's detail.
const faultName = "ServiceFault"

// wire is a fault code that does not follow from the fault.Code alone.
type wire string

const (
	versionMismatch          wire = "VersionMismatch"
	mustUnderstand           wire = "MustUnderstand"
	invalidSecurity          wire = "wsse:InvalidSecurity"
	failedAuthentication     wire = "wsse:FailedAuthentication"
	unsupportedSecurityToken wire = "wsse:UnsupportedSecurityToken"
	messageExpired           wire = "wsse:MessageExpired"
)

// retryAfter is how many seconds a caller waits before it tries again, where
// trying again can help and nothing better is known.
const retryAfter = 5

// failure is a fault on its way to the caller.
type failure struct {
	*fault.Error
	wire          wire // empty: as the code says
	notUnderstood []xmltree.Name
	requestID     string
	problem       *problem // of WS-Addressing
}

// failed makes a failure of any error. What is foreign stays in the log.
func failed(err error) *failure { return &failure{Error: fault.Of(err)} }

// ours reports whether the fault lies with the service: then the same envelope
// may succeed later.
func (f *failure) ours() bool {
	switch f.Code {
	case fault.Timeout, fault.Unavailable, fault.Internal:
		return true
	}
	return false
}

func (f *failure) retryAfter() int {
	switch f.Code {
	case fault.Timeout, fault.Unavailable, fault.RateLimited:
		return cmp.Or(f.RetryAfter, retryAfter)
	}
	return 0
}

// codes returns the fault code of SOAP 1.1, and the code and subcode of SOAP 1.2.
func (f *failure) codes() (eleven, twelve, sub string) {
	switch {
	case f.wire == versionMismatch || f.wire == mustUnderstand:
		return "soap:" + string(f.wire), "soap:" + string(f.wire), ""
	case f.wire == dataEncodingUnknown:
		return "soap:Client", "soap:" + string(f.wire), ""
	case f.wire != "":
		return string(f.wire), "soap:Sender", string(f.wire)
	case f.Code == fault.Unauthenticated:
		return string(invalidSecurity), "soap:Sender", string(invalidSecurity)
	case f.ours():
		return "soap:Server", "soap:Receiver", "tns:" + string(f.Code)
	}
	return "soap:Client", "soap:Sender", "tns:" + string(f.Code)
}

// envelope writes the whole answer; echo is the Security header of it, or empty.
func (f *failure) envelope(v version, namespace string, echo []byte) []byte {
	header := echo
	if v == soap12 {
		header = f.header(echo)
	} else {
		header = f.problem.appendHeader(echo)
	}
	out := beginBody(make([]byte, 0, 1024), v, namespace, header)
	out = append(out, "<soap:Fault xmlns:wsse=\""+wsseNS+"\""...)
	out = append(f.problem.appendDeclaration(out), '>')
	eleven, twelve, sub := f.codes()
	if v == soap11 {
		out = append(out, "<faultcode>"+eleven+"</faultcode><faultstring>"...)
		out = append(xmltree.AppendText(out, f.reason()), "</faultstring><detail>"...)
		out = append(f.detail(out), "</detail>"...)
	} else {
		out = append(out, "<soap:Code><soap:Value>"+twelve+"</soap:Value>"...)
		out = appendSubcodes(out, f.problem.broader(), sub)
		out = append(out, `</soap:Code><soap:Reason><soap:Text xml:lang="en">`...)
		out = append(xmltree.AppendText(out, f.reason()), "</soap:Text></soap:Reason><soap:Detail>"...)
		out = append(f.problem.appendDetail(f.detail(out)), "</soap:Detail>"...)
	}
	return append(out, "</soap:Fault></soap:Body></soap:Envelope>"...)
}

// reason is the message for those who see nothing else of the fault: with the path
// of the value to blame, where the message does not name it.
func (f *failure) reason() string {
	name, _, _ := strings.Cut(f.Field[strings.LastIndexByte(f.Field, '.')+1:], "[")
	if f.Field == "" || strings.Contains(f.Message, name) {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

// appendSubcodes writes subcodes, each inside of the one before it; empty ones are
// left out.
func appendSubcodes(out []byte, codes ...string) []byte {
	depth := 0
	for _, code := range codes {
		if code != "" {
			out = append(out, "<soap:Subcode><soap:Value>"+code+"</soap:Value>"...)
			depth++
		}
	}
	for range depth {
		out = append(out, "</soap:Subcode>"...)
	}
	return out
}

// header writes what SOAP 1.2 wants beside two of its faults.
func (f *failure) header(out []byte) []byte {
	switch f.wire {
	case versionMismatch:
		out = append(out, `<soap:Upgrade>`...)
		for _, ns := range envelopeNS {
			out = append(out, `<soap:SupportedEnvelope xmlns:q="`+ns+`" qname="q:Envelope"/>`...)
		}
		return append(out, `</soap:Upgrade>`...)
	case mustUnderstand:
		for _, n := range f.notUnderstood {
			out = append(xmltree.AppendText(append(out, `<soap:NotUnderstood xmlns:q="`...), n.Space), `" qname="q:`+n.Local+`"/>`...)
		}
	}
	return out
}

func (f *failure) detail(out []byte) []byte {
	out = append(out, "<tns:"+faultName+">"...)
	out = appendElement(out, "code", string(f.Code))
	out = appendElement(out, "message", f.Message)
	if f.Field != "" {
		out = appendElement(out, "path", f.Field)
	}
	if s := f.retryAfter(); s > 0 {
		out = appendElement(out, "retryAfterSeconds", strconv.Itoa(s))
	}
	if f.requestID != "" {
		out = appendElement(out, "requestId", f.requestID)
	}
	if f.CurrentVersion != nil {
		out = appendElement(out, "currentVersion", strconv.FormatInt(*f.CurrentVersion, 10))
	}
	return append(out, "</tns:"+faultName+">"...)
}

// beginBody writes up to the first child of the body, with the header if there
// is one. The prefixes soap, tns and xsi hold in the whole answer.
func beginBody(out []byte, v version, namespace string, header []byte) []byte {
	return appendHeader(appendOpening(out, v, namespace), header)
}

// appendOpening writes up to the header.
func appendOpening(out []byte, v version, namespace string) []byte {
	out = append(out, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<soap:Envelope xmlns:soap="`...)
	out = append(out, envelopeNS[v]...)
	out = append(out, `" xmlns:tns="`...)
	out = xmltree.AppendText(out, namespace)
	return append(out, `" xmlns:xsi="`+xsiNS+`">`...)
}

// appendHeader writes the header, if there is one, and begins the body.
func appendHeader(out, header []byte) []byte {
	if len(header) > 0 {
		out = append(append(append(out, "<soap:Header>"...), header...), "</soap:Header>"...)
	}
	return append(out, "<soap:Body>"...)
}

// appendElement writes an element of text in the service's namespace.
func appendElement(out []byte, local, text string) []byte {
	out = append(append(append(out, "<tns:"...), local...), '>')
	out = xmltree.AppendText(out, text)
	return append(append(append(out, "</tns:"...), local...), '>')
}
