package soap

import (
	"encoding/base64"
	"strings"
	"time"

	"tidings/xmltree"
)

// The types of a Password, and the one way to write a Nonce (OASIS Web Services
// Security UsernameToken Profile 1.1).
const (
	usernameProfile = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#"
	passwordText    = "PasswordText"
	passwordDigest  = "PasswordDigest"
	base64Binary    = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"
)

// The bounds of a token, and how old a Created may be, by our clock.
const (
	maxUsername = 256 // bytes
	minNonce    = 8   // bytes
	maxNonce    = 64  // bytes
	maxCreated  = 64  // bytes
	window      = 5 * time.Minute
)

// credentials are what a UsernameToken says about the sender. No String method
// and no log ever shows them.
type credentials struct {
	element        xmltree.Elem // the UsernameToken, or none
	user, password string
	digest         []byte // nil: password is the password itself
	nonce          []byte // nil: there is none
	created        string // as it was written; empty: there is none
}

// read reads a token. Its Created, if there is one, is in the window.
func (c *credentials) read(token xmltree.Elem, now time.Time) *failure {
	parts, f := partsOfToken(token)
	if f != nil {
		return f
	}
	c.element, c.user = token, parts.user.Text()
	if len(c.user) > maxUsername {
		return insecure(invalidSecurity, "the Username is too long")
	}
	if parts.nonce.Exists() {
		if c.nonce, f = readNonce(parts.nonce); f != nil {
			return f
		}
	}
	if parts.created.Exists() {
		if c.created, f = readCreated(parts.created, now); f != nil {
			return f
		}
	}
	return c.readPassword(parts.password)
}

// tokenParts are the children of a UsernameToken.
type tokenParts struct{ user, password, nonce, created xmltree.Elem }

func partsOfToken(token xmltree.Elem) (p tokenParts, f *failure) {
	for e := range token.Children() {
		var to *xmltree.Elem
		switch {
		case e.Is(wsseNS, "Username"):
			to = &p.user
		case e.Is(wsseNS, "Password"):
			to = &p.password
		case e.Is(wsseNS, "Nonce"):
			to = &p.nonce
		case e.Is(wsuNS, "Created"):
			to = &p.created
		}
		if to == nil || to.Exists() || e.HasElements() {
			return p, insecure(invalidSecurity, "the UsernameToken is malformed at "+e.Name().Local)
		}
		*to = e
	}
	if !p.user.Exists() || !p.password.Exists() {
		return p, insecure(invalidSecurity, "the UsernameToken needs a Username and a Password")
	}
	return p, nil
}

// readPassword reads the Password. Its type is written as the profile has it, or
// by its bare name, as clients also do.
func (c *credentials) readPassword(e xmltree.Elem) *failure {
	kind, _ := e.Attr("", "Type")
	kind = strings.TrimPrefix(strings.TrimPrefix(kind, usernameProfile), "wsse:")
	switch kind {
	case "", passwordText:
		c.password = e.Text()
		return nil
	case passwordDigest:
		if c.nonce == nil || c.created == "" {
			return insecure(invalidSecurity, "a PasswordDigest needs a Nonce and a Created")
		}
		sum, err := base64.StdEncoding.DecodeString(xmltree.Trim(e.Text()))
		if err != nil || len(sum) != 20 {
			return insecure(invalidSecurity, "the PasswordDigest is not the base64 of a SHA-1")
		}
		c.digest = sum
		return nil
	}
	return insecure(unsupportedSecurityToken, "send the password as PasswordText or PasswordDigest")
}

func readNonce(e xmltree.Elem) ([]byte, *failure) {
	if kind, ok := e.Attr("", "EncodingType"); ok && kind != base64Binary {
		return nil, insecure(unsupportedSecurityToken, "send the Nonce as Base64Binary")
	}
	text := xmltree.Trim(e.Text())
	nonce, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(nonce) < minNonce || len(nonce) > maxNonce {
		return nil, insecure(invalidSecurity, "the Nonce is not the base64 of 8 to 64 bytes")
	}
	return nonce, nil
}

// readCreated returns the time as it was written, which is what digests are made
// of, if it lies in the window.
func readCreated(e xmltree.Elem, now time.Time) (string, *failure) {
	text := xmltree.Trim(e.Text())
	at, err := xmltree.ParseDateTime(text)
	if err != nil || len(text) > maxCreated || !zoned(text) {
		return "", insecure(invalidSecurity, "the Created of the UsernameToken is no time with a zone, such as 2026-11-20T07:25:22Z")
	}
	if now.After(at.Add(window)) || at.After(now.Add(clockSkew)) {
		return "", insecure(messageExpired, "the UsernameToken was made more than 5 minutes ago or 1 minute ahead: check the clock of the sender")
	}
	return text, nil
}

// zoned reports whether a time says its zone.
func zoned(text string) bool {
	if strings.HasSuffix(text, "Z") {
		return true
	}
	return len(text) > 6 && strings.ContainsRune("+-", rune(text[len(text)-6])) && text[len(text)-3] == ':'
}
