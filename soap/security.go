package soap

import (
	"time"

	"tidings/fault"
	"tidings/wssec"
	"tidings/xmltree"
)

const (
	wsseNS = wssec.SecurityNS
	wsuNS  = wssec.UtilityNS
)

// clockSkew is by how much a caller's clock may be off ours.
const clockSkew = time.Minute

// readSecurity reads the Security header: a UsernameToken, and a Timestamp that must
// not have expired and is answered by one. A signature and its certificate are
// left to bySignature. nil means that there is no token. What is not known is
// refused instead of ignored.
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
	signed := wssec.HasSignature(security)
	var found *credentials
	for e := range security.Children() {
		switch {
		case e.Is(wsseNS, "UsernameToken") && found == nil:
			found = &r.token
			if f := found.read(e, now); f != nil {
				return nil, f
			}
		case e.Is(wsseNS, "UsernameToken"):
			return nil, insecure(invalidSecurity, "there is more than one UsernameToken")
		case e.Is(wsuNS, "Timestamp"):
			r.echo = wssec.AppendTimestamp(nil, now)
			if err := wssec.CheckTime(e, now); err != nil {
				return nil, unproved(err)
			}
		case r.secrecy.opened(e):
		case signed && e.Is(wssec.SignatureNS, "Signature"):
		case (signed || r.secrecy.message != nil) && e.Is(wsseNS, "BinarySecurityToken"):
		default:
			return nil, insecure(unsupportedSecurityToken, "the security token or element "+e.Name().Local+" is not supported: send a UsernameToken, or sign with a certificate")
		}
	}
	return found, nil
}

func insecure(code wire, message string) *failure {
	return &failure{Error: fault.New(fault.Unauthenticated, "%s", message), wire: code}
}
