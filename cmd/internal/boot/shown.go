package boot

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"

	"tidings/auth"
	"tidings/quota"
)

// shown says which certificates the sender of a request has shown: to a proxy
// that is trusted, when it tells them in a header, and otherwise to this process.
func (c Config) shown() (func(*http.Request) ([]*x509.Certificate, error), error) {
	proxies, err := c.TrustedProxies()
	if err != nil || c.ClientCertHeader == "" {
		return nil, err
	}
	return func(r *http.Request) ([]*x509.Certificate, error) { return shownTo(proxies, c.ClientCertHeader, r) }, nil
}

func shownTo(proxies quota.Proxies, header string, r *http.Request) ([]*x509.Certificate, error) {
	if !proxies.Trust(r) {
		if r.TLS == nil {
			return nil, nil
		}
		return r.TLS.PeerCertificates, nil
	}
	value, err := single(r.Header, header)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(header, "Client-Cert") && value != "" {
		further, err := single(r.Header, "Client-Cert-Chain")
		if err != nil {
			return nil, err
		}
		if further != "" {
			value += "," + further
		}
	}
	return auth.ParseForwarded(value)
}

// single is the value of a header that a proxy sets. When there are several, one
// may have come from outside.
func single(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) > 1 {
		return "", fmt.Errorf("the header %s is there %d times: have the proxy replace what comes to it", name, len(values))
	}
	return h.Get(name), nil
}
