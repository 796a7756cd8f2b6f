package auth

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// maxForwarded bounds what a proxy says of a certificate, in bytes.
const maxForwarded = 64 << 10

// ParseForwarded reads the certificates that a proxy has taken from its client
// and tells in a header, the client's own first. It knows the ways of proxies:
//
//   - :MII…=: and lists of it (RFC 9440: HAProxy and others)
//   - PEM, with escapes of URLs (nginx, AWS) or without, one certificate or several
//   - MII…,MII… (Traefik)
//   - By=…;Cert="…";Chain="…" (Envoy). Of several the last one counts: it is what
//     the proxy itself says, the others came to it
//
// An empty value is no certificate. The error does not say whose certificate it is.
func ParseForwarded(value string) ([]*x509.Certificate, error) {
	if len(value) > maxForwarded {
		return nil, errors.New("the certificate of the client is too long")
	}
	value = strings.TrimSpace(value)
	if value == "" {
		return nil, nil
	}
	if element, ok, err := envoy(value); ok {
		if err != nil {
			return nil, err
		}
		return element.certificates()
	}
	plain, err := url.PathUnescape(value)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the client is escaped in no known way: %w", err)
	}
	if strings.Contains(plain, "-----BEGIN") {
		return allPEM(plain)
	}
	var chain []*x509.Certificate
	for part := range strings.SplitSeq(plain, ",") {
		cert, err := oneBase64(part)
		if err != nil {
			return nil, err
		}
		chain = append(chain, cert)
	}
	return bounded(chain)
}

func oneBase64(text string) (*x509.Certificate, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, ":"); ok {
		if text, ok = strings.CutSuffix(inner, ":"); !ok {
			return nil, errors.New("the certificate of the client ends early")
		}
	}
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the client is not base64: %w", err)
	}
	return x509.ParseCertificate(der)
}

// allPEM reads a certificate, and those that follow it. Proxies that may not put
// line breaks into a header put blanks or tabs there.
func allPEM(text string) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for rest := []byte(lines(text)); len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("the certificate of the client is no PEM block CERTIFICATE")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		chain = append(chain, cert)
	}
	return bounded(chain)
}

// lines puts line breaks where PEM has them.
func lines(text string) string {
	const begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
	text = strings.Join(strings.Fields(strings.NewReplacer(begin, " \x00 ", end, " \x01 ").Replace(text)), "\n")
	return strings.NewReplacer("\x00", begin, "\x01", end).Replace(text)
}

func bounded(chain []*x509.Certificate) ([]*x509.Certificate, error) {
	if len(chain) > maxChain {
		return nil, fmt.Errorf("the client has shown more than %d certificates", maxChain)
	}
	return chain, nil
}

// envoyElement is the last element of X-Forwarded-Client-Cert: what the proxy
// itself says. Those before it came to the proxy, from anybody.
type envoyElement map[string]string

// envoy takes the header of Envoy apart: elements between commas, of pairs
// between semicolons, whose values may be quoted. It reports false for a text
// that does not begin like one.
func envoy(value string) (e envoyElement, ok bool, err error) {
	if key, _, _ := strings.Cut(value, "="); !isEnvoyKey(key) {
		return nil, false, nil
	}
	e = envoyElement{}
	for rest := lastElement(value); rest != ""; {
		at := unquoted(rest, ';')
		pair := rest[:at]
		rest = rest[min(at+1, len(rest)):]
		key, text, found := strings.Cut(pair, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		inner, quoted := strings.CutPrefix(text, `"`)
		if quoted {
			inner, found = strings.CutSuffix(inner, `"`)
		}
		_, twice := e[key]
		if !found || twice && (key == "cert" || key == "chain") || unquoted(pair, ',') < len(pair) {
			return nil, true, fmt.Errorf("what the proxy tells of the client is malformed at %.40q", key)
		}
		e[key] = inner
	}
	return e, true, nil
}

// lastElement is what stands behind the last comma outside of quotes. It is read
// from the end, because nobody but the proxy has written what stands there: a
// quote that came to the proxy must not open a text that swallows it.
func lastElement(value string) string {
	quoted := false
	for i := len(value) - 1; i >= 0; i-- {
		switch {
		case value[i] == '"' && !escaped(value[:i]):
			quoted = !quoted
		case value[i] == ',' && !quoted:
			return value[i+1:]
		}
	}
	return value
}

// escaped reports whether the character that follows a text is escaped.
func escaped(before string) bool {
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}

// unquoted is where a character stands first outside of quotes, or the length of
// the text.
func unquoted(text string, c byte) int {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"' && !escaped(text[:i]):
			quoted = !quoted
		case text[i] == c && !quoted:
			return i
		}
	}
	return len(text)
}

func isEnvoyKey(key string) bool {
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "by", "hash", "cert", "chain", "subject", "uri", "dns":
		return true
	}
	return false
}

// certificates are those of the element: without Cert and Chain the proxy tells
// too little.
func (e envoyElement) certificates() ([]*x509.Certificate, error) {
	text := e["chain"]
	if text == "" {
		text = e["cert"]
	}
	if text == "" {
		return nil, errors.New("the proxy tells no certificate of the client: have it send Cert or Chain")
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the client is escaped in no known way: %w", err)
	}
	return allPEM(plain)
}
