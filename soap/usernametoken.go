package soap

import "tidings/xmltree"

const passwordText = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordText"

// credentials are what an envelope says about its sender. No String method and
// no log ever shows them.
type credentials struct{ user, password string }

func readUsernameToken(token xmltree.Elem) (*credentials, *failure) {
	var user, password xmltree.Elem
	for e := range token.Children() {
		switch {
		case e.Is(wsseNS, "Username") && !user.Exists():
			user = e
		case e.Is(wsseNS, "Password") && !password.Exists():
			password = e
		case e.Is(wsseNS, "Nonce"), e.Is(wsuNS, "Created"): // belong to digests
		default:
			return nil, insecure(invalidSecurity, "the UsernameToken is malformed at "+e.Name().Local)
		}
	}
	if !user.Exists() || !password.Exists() || user.HasElements() || password.HasElements() {
		return nil, insecure(invalidSecurity, "the UsernameToken needs a Username and a Password")
	}
	if kind, ok := password.Attr("", "Type"); ok && kind != passwordText && kind != "PasswordText" && kind != "wsse:PasswordText" {
		return nil, insecure(unsupportedSecurityToken, "send the password as PasswordText")
	}
	return &credentials{user: user.Text(), password: password.Text()}, nil
}
