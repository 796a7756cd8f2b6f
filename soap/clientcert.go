package soap

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"

	"tidings/bus"
)

// headerCertificate carries the certificates that the sender has shown in the TLS
// handshake, the sender's own first, each the base64 of its DER. The gateway makes
// all headers of an envelope itself: callers cannot set it.
const headerCertificate = "Tidings-Certificate"

// The bounds of what somebody shows.
const (
	maxCertificates     = 8
	maxCertificateBytes = 9 << 10
)

// setCertificates puts the certificates that the sender of a request has shown
// into its headers. What is beyond the bounds stays away, from the end.
func (g *Gateway) setCertificates(h bus.Header, r *http.Request) error {
	shown, err := g.options.Shown(r)
	if err != nil {
		return err
	}
	bytes := 0
	for i, cert := range shown {
		if bytes += len(cert.Raw); i == maxCertificates || bytes > maxCertificateBytes {
			return nil
		}
		h[headerCertificate] = append(h[headerCertificate], base64.StdEncoding.EncodeToString(cert.Raw))
	}
	return nil
}

// shownOnConnection are the certificates of the connection itself.
func shownOnConnection(r *http.Request) ([]*x509.Certificate, error) {
	if r.TLS == nil {
		return nil, nil
	}
	return r.TLS.PeerCertificates, nil
}

// certificatesOf reads what setCertificates wrote.
func certificatesOf(h bus.Header) ([]*x509.Certificate, error) {
	values := h[headerCertificate]
	if len(values) > maxCertificates {
		return nil, fmt.Errorf("%s has %d values", headerCertificate, len(values))
	}
	var chain []*x509.Certificate
	for _, value := range values {
		der, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", headerCertificate, err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", headerCertificate, err)
		}
		chain = append(chain, cert)
	}
	return chain, nil
}
