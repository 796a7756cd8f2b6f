package bus

import (
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// guard stands at the door of an embedded server that listens: it lets in who
// shows what Access says, read anew for each who comes, and this process itself
// by a secret that nobody else has.
type guard struct {
	access Access
	user   string // of this process
	secret string
	log    *slog.Logger
	tls    atomic.Pointer[tls.Config]
}

func newGuard(o Options) (*guard, error) {
	g := &guard{access: o.Access, user: o.Prefix, secret: rand.Text(), log: o.Logger}
	a := o.Access
	switch {
	case o.Listen == "":
		return g, nil
	case a.Creds != "" || a.NKey != "":
		return nil, errors.New("credentials and NKeys are for an external server: for those who come to the embedded one, set a user with a password, a token, or a certificate with authorities")
	case a.CA != "" && a.Cert == "":
		return nil, errors.New("the embedded server needs a certificate of its own before it can ask clients for theirs")
	}
	if err := g.renew(); err != nil {
		return nil, err
	}
	if host, _, err := splitListen(o.Listen); err == nil && !o.Unguarded && !g.asks() && !loopback(host) {
		return nil, fmt.Errorf("the embedded server would listen on %s, where other machines reach it, and ask nobody who they are, although its clients may write any record: set a user with a password, a token, or a certificate with the authorities of the clients, or let it listen on 127.0.0.1", o.Listen)
	}
	return g, nil
}

// asks reports whether strangers are kept out.
func (g *guard) asks() bool {
	a := g.access
	return a.User != "" || a.Token != "" || a.TokenFile != "" || a.CA != ""
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// renew reads the certificate and the authorities anew.
func (g *guard) renew() error {
	m, err := g.access.read()
	if err != nil || m.pair == nil {
		return err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*m.pair}}
	if m.roots != nil {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, m.roots
	}
	g.tls.Store(c)
	return nil
}

// arm sets the guard at the door.
func (g *guard) arm(o *server.Options) {
	o.CustomClientAuthentication = g
	if c := g.tls.Load(); c != nil {
		o.TLSConfig = c.Clone()
		o.TLSConfig.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return g.tls.Load(), nil }
		o.TLSTimeout = 5
	}
}

// Check lets a client in or not. The server calls it.
func (g *guard) Check(c server.ClientAuthentication) bool {
	shown := c.GetOpts()
	if same(shown.Username, g.user) && same(shown.Password, g.secret) {
		return true
	}
	if !g.asks() {
		return true
	}
	m, err := g.access.read()
	if err != nil {
		g.log.Error("nobody can come to the embedded server", "error", err, "remedy", "mend the file")
		return false
	}
	switch {
	case g.access.User != "":
		return same(shown.Username, g.access.User) && same(shown.Password, m.password)
	case m.token != "":
		return same(shown.Token, m.token)
	}
	return true // with a certificate that TLS has looked at
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
