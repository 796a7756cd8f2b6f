package soap

import (
	"time"

	"tidings/fault"
)

const (
	wsseNS       = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	wsuNS        = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	passwordText = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordText"
)

const (
	clockSkew = time.Minute     // by which a caller's clock may be behind ours
	validity  = 5 * time.Minute // of an answer with a Timestamp
)

// credentials are what an envelope says about its sender. No String method and
// no log ever shows them.
type credentials struct{ user, password string }

// readSecurity reads the Security header: a user name with its password in
// text, and a Timestamp that must not have expired and is answered by one. nil means that there is no
// token. What cannot be checked here, such as a signature, is refused instead
// of ignored.
func (r *request) readSecurity(now time.Time) (*credentials, *failure) {
	var security elem
	for _, block := range r.headers {
		if !block.is(wsseNS, "Security") {
			continue
		}
		if security.exists() {
			return nil, insecure(invalidSecurity, "there is more than one Security header")
		}
		security = block
	}
	if !security.exists() {
		return nil, nil
	}
	var found *credentials
	for e := range security.children() {
		switch {
		case e.is(wsseNS, "UsernameToken") && found == nil:
			c, f := readUsernameToken(e)
			if f != nil {
				return nil, f
			}
			found = c
		case e.is(wsseNS, "UsernameToken"):
			return nil, insecure(invalidSecurity, "there is more than one UsernameToken")
		case e.is(wsuNS, "Timestamp"):
			r.echo = appendTimestamp(nil, now)
			if f := checkTimestamp(e, now); f != nil {
				return nil, f
			}
		default:
			return nil, insecure(unsupportedSecurityToken, "the security token or element "+e.name().local+" is not supported: send a UsernameToken")
		}
	}
	return found, nil
}

func readUsernameToken(token elem) (*credentials, *failure) {
	var user, password elem
	for e := range token.children() {
		switch {
		case e.is(wsseNS, "Username") && !user.exists():
			user = e
		case e.is(wsseNS, "Password") && !password.exists():
			password = e
		case e.is(wsseNS, "Nonce"), e.is(wsuNS, "Created"): // belong to digests
		default:
			return nil, insecure(invalidSecurity, "the UsernameToken is malformed at "+e.name().local)
		}
	}
	if !user.exists() || !password.exists() || user.hasElements() || password.hasElements() {
		return nil, insecure(invalidSecurity, "the UsernameToken needs a Username and a Password")
	}
	if kind, ok := password.attr("", "Type"); ok && kind != passwordText && kind != "PasswordText" && kind != "wsse:PasswordText" {
		return nil, insecure(unsupportedSecurityToken, "send the password as PasswordText")
	}
	return &credentials{user: user.text(), password: password.text()}, nil
}

func checkTimestamp(stamp elem, now time.Time) *failure {
	for e := range stamp.children() {
		if !e.is(wsuNS, "Expires") {
			continue
		}
		expires, err := parseDateTime(trim(e.text()))
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
