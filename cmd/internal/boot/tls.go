package boot

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"

	"tidings/auth"
)

// clientAuth are the words of --tls-client-auth, with and without authorities.
var clientAuth = map[string][2]tls.ClientAuthType{
	"none":     {tls.NoClientCert, tls.NoClientCert},
	"optional": {tls.RequestClientCert, tls.VerifyClientCertIfGiven},
	"require":  {tls.RequireAnyClientCert, tls.RequireAndVerifyClientCert},
}

// checkTLS refuses settings of TLS that do not fit each other.
func (c Config) checkTLS() error {
	_, known := clientAuth[c.TLSClientAuth]
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("TIDINGS_TLS_CERT and TIDINGS_TLS_KEY belong together: name both files")
	case !known:
		return fmt.Errorf("TIDINGS_TLS_CLIENT_AUTH is %q; use none, optional or require", c.TLSClientAuth)
	case c.TLSCert == "" && c.TLSClientAuth != "none":
		return errors.New("TIDINGS_TLS_CLIENT_AUTH needs TLS: name a certificate with TIDINGS_TLS_CERT and its key with TIDINGS_TLS_KEY")
	case c.TLSClientCA != "" && c.TLSClientAuth == "none":
		return errors.New("TIDINGS_TLS_CLIENT_CA has no effect: set TIDINGS_TLS_CLIENT_AUTH to optional or require")
	case c.ClientCertHeader != "" && c.Proxies == "":
		return errors.New("TIDINGS_CLIENT_CERT_HEADER is believed from proxies that are trusted, and there are none: name them with TIDINGS_TRUSTED_PROXIES")
	}
	return nil
}

// openTLS makes the public port's side of TLS, whose files may be exchanged
// while connections come; nil without a certificate.
func (r *Rooms) openTLS() error {
	c := r.config
	if c.TLSCert == "" || !r.role.Edge {
		return nil
	}
	var current atomic.Pointer[tls.Config]
	k, err := keep("the certificate and the key of TLS", func(texts [][]byte) error {
		made, err := c.tls(texts[0], texts[1], texts[2])
		if err == nil {
			current.Store(made)
			r.expiries.note("public", certificates(texts[0])...)
		}
		return err
	}, c.TLSCert, c.TLSKey, c.TLSClientCA)
	if err != nil {
		return err
	}
	r.kept = append(r.kept, k)
	r.TLS = current.Load().Clone()
	r.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return current.Load(), nil }
	return nil
}

// tls is the server's side of TLS with a certificate, its key, and the
// authorities of clients, all as PEM.
func (c Config) tls(cert, key, authorities []byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate %s and the key %s: %w", c.TLSCert, c.TLSKey, err)
	}
	o := &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"}, ClientAuth: clientAuth[c.TLSClientAuth][0],
	}
	if c.TLSClientCA == "" {
		return o, nil
	}
	list, err := auth.ParseAuthorities(authorities)
	if err == nil && len(list) == 0 {
		err = errors.New("there is no certificate")
	}
	if err != nil {
		return nil, fmt.Errorf("the authorities of clients %s: %w", c.TLSClientCA, err)
	}
	o.ClientAuth, o.ClientCAs = clientAuth[c.TLSClientAuth][1], x509.NewCertPool()
	for _, authority := range list {
		o.ClientCAs.AddCert(authority)
	}
	return o, nil
}
