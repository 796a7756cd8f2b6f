package bus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// link is one connection and what there is to say about it while it is away.
// Every try to connect reads the files of Access anew; those that cannot be used
// count as not replaced.
type link struct {
	bus  *Bus
	name string
	nc   atomic.Pointer[nats.Conn] // nil during the first connect
	held atomic.Pointer[material]  // what the last try came with

	mu   sync.Mutex
	why  error                // it is away; nil while it stands
	told map[string]time.Time // reasons, and when each was logged last
}

// links are the connections of a bus. The zero value is ready.
type links struct {
	mu   sync.Mutex
	list []*link
}

func (ls *links) add(l *link) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.list = append(slices.DeleteFunc(ls.list, func(old *link) bool { return old.nc.Load().IsClosed() }), l)
}

func (ls *links) all() []*link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Clone(ls.list)
}

const (
	// complainEvery is how often the same trouble is logged again.
	complainEvery = 30 * time.Second
	reconnectWait = 250 * time.Millisecond
)

// options make the connection one that comes back for as long as the process
// lives, whatever the server says of its credentials: somebody may replace them.
func (l *link) options() []nats.Option {
	return []nats.Option{
		nats.Name(l.name),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(l.pause),
		nats.ReconnectBufSize(-1),
		// Lost is who left so many pings unanswered when the next one is due: a
		// server that is merely busy answers one of them.
		nats.PingInterval(l.bus.opts.Silence / (pingsOut + 1)),
		nats.MaxPingsOutstanding(pingsOut),
		nats.Timeout(dialTimeout),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				l.trouble(err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.trouble(err) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { l.back(nc.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(l.reported),
	}
}

const (
	dialTimeout = 5 * time.Second
	pingsOut    = 3
)

// credentials are the options that say who comes. They ask for what the dialer
// has read just before.
func (l *link) credentials(a Access) ([]nats.Option, error) {
	m, err := a.read()
	if err != nil {
		return nil, err
	}
	l.held.Store(m)
	opts := []nats.Option{nats.SetCustomDialer(l)}
	sign := func(nonce []byte) ([]byte, error) { return l.held.Load().sign(nonce) }
	switch {
	case a.Creds != "":
		opts = append(opts, nats.UserJWT(func() (string, error) { return l.held.Load().jwt() }, sign))
	case a.NKey != "":
		opts = append(opts, nats.Nkey(m.nkey, sign))
	case a.User != "":
		opts = append(opts, nats.UserInfoHandler(func() (string, string) { return a.User, l.held.Load().password }))
	case m.token != "":
		opts = append(opts, nats.TokenHandler(func() string { return l.held.Load().token }))
	}
	if a.CA == "" && a.Cert == "" && a.ServerName == "" {
		return opts, nil
	}
	opts = append(opts, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.ServerName}))
	var pair nats.TLSCertHandler
	var roots nats.RootCAsHandler
	if a.Cert != "" {
		pair = func() (tls.Certificate, error) { return *l.held.Load().pair, nil }
	}
	if a.CA != "" {
		roots = func() (*x509.CertPool, error) { return l.held.Load().roots, nil }
	}
	if pair != nil || roots != nil {
		opts = append(opts, nats.ClientTLSConfig(pair, roots))
	}
	return opts, nil
}

// Dial opens the socket of one try to connect, with what the files hold; where they
// cannot be used, with what they held before. The library calls it, and holds its
// lock meanwhile.
func (l *link) Dial(network, address string) (net.Conn, error) {
	m, err := l.bus.opts.Access.read()
	if err != nil {
		l.trouble(err)
		m = l.held.Load()
	}
	l.held.Store(m)
	if nc := l.nc.Load(); nc != nil && m.nkey != "" {
		nc.Opts.Nkey = m.nkey // read under that lock, right after this
	}
	return (&net.Dialer{Timeout: dialTimeout / 2}).Dial(network, address)
}

// pause is between two rounds of tries. Here the library tells what became of
// the last one.
func (l *link) pause(int) time.Duration {
	if nc := l.nc.Load(); nc != nil {
		if err := nc.LastError(); err != nil {
			l.trouble(err)
		}
	}
	return reconnectWait + rand.N(reconnectWait)
}

// trouble notes why the connection is away, and logs it: at once when it is
// something else than before, and then now and then.
func (l *link) trouble(err error) {
	why, remedy := l.bus.opts.Access.explain(err, l.held.Load())
	why = hide(why, l.bus.opts.URL)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = errors.New(why)
	if now := time.Now(); now.Sub(l.told[why]) >= complainEvery {
		if l.told == nil || len(l.told) >= maxTold {
			l.told = map[string]time.Time{}
		}
		l.told[why] = now
		l.complain(why, remedy)
	}
}

func (l *link) complain(why, remedy string) {
	level, attrs := slog.LevelWarn, []slog.Attr{slog.String("link", l.name), slog.String("error", why)}
	if remedy != "" {
		level, attrs = slog.LevelError, append(attrs, slog.String("remedy", remedy))
	}
	l.bus.log.LogAttrs(context.Background(), level, "bus connection lost", attrs...)
}

func (l *link) back(server string) {
	l.mu.Lock()
	l.why, l.told = nil, nil
	l.mu.Unlock()
	l.bus.log.LogAttrs(context.Background(), slog.LevelInfo, "bus connection is back", slog.String("link", l.name), slog.String("server", server))
}

// reason is why the connection is away; nil when that is not known.
func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// reported takes what the library reports of a connection besides.
func (l *link) reported(_ *nats.Conn, sub *nats.Subscription, err error) {
	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		l.bus.denials.tell(l, err)
	case isAuth(err):
		l.trouble(err)
	default:
		subject := ""
		if sub != nil {
			subject = sub.Subject
		}
		l.bus.log.LogAttrs(context.Background(), slog.LevelWarn, "bus connection reported an error", slog.String("link", l.name), slog.String("subject", subject), slog.Any("error", err))
	}
}

func isAuth(err error) bool {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired) {
		return true
	}
	text := strings.ToLower(err.Error()) // a refusal at connect has no value of its own
	return strings.Contains(text, "authorization violation") || strings.Contains(text, "authentication expired") || strings.Contains(text, "authentication revoked")
}

// explain says in words why a connection failed, and what helps; an empty remedy
// is that it may come back by itself.
func (a Access) explain(err error, m *material) (why, remedy string) {
	const again = "; the files are read again at each try, and it goes on trying"
	switch text := err.Error(); {
	case errors.As(err, new(*AccessError)):
		return text, "mend the file" + again
	case isAuth(err) && m != nil && !m.expires.IsZero() && time.Now().After(m.expires):
		return fmt.Sprintf("the server refuses the credentials in %s, which expired at %s", a.Creds, m.expires.UTC().Format(time.RFC3339)), "put new ones into the file" + again
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired):
		return "the credentials, or those of their account, have expired (" + text + ")", "put new ones in their place" + again
	case errors.Is(err, nats.ErrAuthRevoked):
		return "the credentials were revoked (" + text + ")", "put new ones in their place" + again
	case isAuth(err):
		return "the server refuses the credentials (" + text + ")", "give this process credentials that the server knows" + again
	case errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, new(x509.HostnameError)), errors.As(err, new(x509.CertificateInvalidError)):
		return "the server's certificate is not trusted (" + text + ")", "name the authorities that issued it, and the name that it has" + again
	case strings.Contains(text, "remote error: tls:"), strings.Contains(text, "closed by remote after TLS handshake"):
		return "the server refuses the certificate of this process (" + text + ")", "put one in its place that the server's authorities issued and that has not expired" + again
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server speaks no TLS", "give the server a certificate, or remove the settings of TLS here"
	default:
		return text, ""
	}
}
