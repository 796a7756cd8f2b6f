package soap

import (
	"time"

	"tidings/fault"
	"tidings/xmltree"
)

const (
	wsseNS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	wsuNS  = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
)

const (
	clockSkew = time.Minute     // by which a caller's clock may be behind ours
	validity  = 5 * time.Minute // of an answer with a Timestamp
)

// readSecurity reads the Security header: a UsernameToken, and a Timestamp that must not have expired and is answered by one. nil means that there is no
// token. What cannot be checked here, such as a signature, is refused instead
// of ignored.
func (r *request) readSecurity(now time.Time) (*credentials, *failure) {
	var security xmltree.Elem
	for _, block := range r.headers {
		if !block.Is(wsseNS, "Security") {
			continue
		}
		if security.Exists() {
			return nil, insecure(invalidSecurity, "there is more than one Security header")
		}
		security = block
	}
	if !security.Exists() {
		return nil, nil
	}
	var found *credentials
	for e := range security.Children() {
		switch {
		case e.Is(wsseNS, "UsernameToken") && found == nil:
			c, f := readUsernameToken(e, now)
			if f != nil {
				return nil, f
			}
			found = c
		case e.Is(wsseNS, "UsernameToken"):
			return nil, insecure(invalidSecurity, "there is more than one UsernameToken")
		case e.Is(wsuNS, "Timestamp"):
			r.echo = appendTimestamp(nil, now)
			if f := checkTimestamp(e, now); f != nil {
				return nil, f
			}
		case r.secrecy.opened(e):
		default:
			return nil, insecure(unsupportedSecurityToken, "the security token or element "+e.Name().Local+" is not supported: send a UsernameToken")
		}
	}
	return found, nil
}

func checkTimestamp(stamp xmltree.Elem, now time.Time) *failure {
	for e := range stamp.Children() {
		if !e.Is(wsuNS, "Expires") {
			continue
		}
		expires, err := xmltree.ParseDateTime(xmltree.Trim(e.Text()))
		if err != nil {
			return insecure(invalidSecurity, "the Timestamp is malformed")
		}
		if now.After(expires.Add(clockSkew)) {
			return insecure(messageExpired, "the message has expired: check the clock of the sender")
		}
	}
	return nil
}

// appendTimestamp writes the Security header that .NET wants in the answer to a
// message that had a Timestamp.
func appendTimestamp(out []byte, now time.Time) []byte {
	const layout = "2006-01-02T15:04:05.000Z"
	out = append(out, `<wsse:Security xmlns:wsse="`+wsseNS+`"><wsu:Timestamp xmlns:wsu="`+wsuNS+`"><wsu:Created>`...)
	out = append(now.UTC().AppendFormat(out, layout), `</wsu:Created><wsu:Expires>`...)
	out = append(now.Add(validity).UTC().AppendFormat(out, layout), `</wsu:Expires></wsu:Timestamp></wsse:Security>`...)
	return out
}

func insecure(code wire, message string) *failure {
	return &failure{Error: fault.New(fault.Unauthenticated, "%s", message), wire: code}
}
