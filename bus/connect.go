package bus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// connect makes a connection that comes back by itself for as long as the
// process lives. While it is away nothing is buffered: what cannot be sent
// fails at once, since a request that leaves after its caller gave up helps nobody.
func (b *Bus) connect(ctx context.Context, name string, more ...nats.Option) (*nats.Conn, error) {
	l := &link{bus: b, name: name}
	opts, err := b.way(l)
	if err != nil {
		return nil, err
	}
	if d, ok := ctx.Deadline(); ok {
		opts = append(opts, nats.Timeout(min(dialTimeout, time.Until(d))))
	}
	nc, err := nats.Connect(b.opts.URL, append(opts, more...)...)
	if err != nil {
		return nil, b.unreached(l, err)
	}
	l.nc.Store(nc)
	b.links.add(l)
	return nc, nil
}

// way are the options with which a connection finds its server and says who comes.
func (b *Bus) way(l *link) ([]nats.Option, error) {
	opts := l.options()
	if b.opts.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(b.opts.Inbox))
	}
	if b.server != nil {
		return append(opts, nats.InProcessServer(b.server.ns), nats.UserInfo(b.server.guard.user, b.server.guard.secret)), nil
	}
	if err := checkURLs(b.opts.URL); err != nil {
		return nil, err
	}
	own, err := l.credentials(b.opts.Access)
	return append(opts, own...), err
}

// ErrAbsent says that the servers of the bus, or enough of them for the log, are
// not there yet, rather than that anything is wrong with a setting: Open may be
// tried again.
var ErrAbsent = errors.New("the bus is not there yet")

// absent is an error that is ErrAbsent, in its own words.
type absent struct{ error }

func (a *absent) Is(err error) bool { return err == ErrAbsent }
func (a *absent) Unwrap() error     { return a.error }

// unreached says why there is no connection, without a word of the credentials.
func (b *Bus) unreached(l *link, err error) error {
	why, remedy := b.opts.Access.explain(err, l.held.Load())
	why = hide(why, b.opts.URL)
	if file, ok := errors.AsType[*AccessError](err); ok {
		return file
	}
	if remedy == "" {
		return &absent{fmt.Errorf("connect to %s: %s: is the server running, and reachable from here", redact(b.opts.URL), why)}
	}
	remedy, _, _ = strings.Cut(remedy, ";")
	return fmt.Errorf("connect to %s: %s: %s", redact(b.opts.URL), why, remedy)
}

// checkURLs refuses what is no URL before a library can quote it in an error,
// with the password in it.
func checkURLs(list string) error {
	for i, raw := range strings.Split(list, ",") {
		raw = strings.TrimSpace(raw)
		if !strings.Contains(raw, "://") {
			raw = "nats://" + raw
		}
		u, err := url.Parse(raw)
		if err != nil || u.Hostname() == "" {
			return fmt.Errorf("entry %d of the NATS URL cannot be read; it has the form nats://user:password@host:4222, with special letters of the password percent-encoded", i+1)
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("entry %d of the NATS URL has the scheme %q; use nats, tls, ws or wss", i+1, u.Scheme)
		}
	}
	return nil
}

// redact returns the list of URLs without passwords and tokens.
func redact(list string) string {
	if list == "" {
		return "the embedded server"
	}
	var out []string
	for raw := range strings.SplitSeq(list, ",") {
		if _, host, ok := cutLast(raw, "@"); ok {
			scheme := "nats://"
			if s, _, ok := strings.Cut(raw, "://"); ok {
				scheme = s + "://"
			}
			raw = scheme + host
		}
		out = append(out, strings.TrimSpace(raw))
	}
	return strings.Join(out, ",")
}

// hide takes every credential of the URLs out of a text.
func hide(text, list string) string {
	for raw := range strings.SplitSeq(list, ",") {
		before, _, ok := cutLast(raw, "@")
		if !ok {
			continue
		}
		if _, cred, ok := strings.Cut(before, "://"); ok {
			before = cred
		}
		text = strings.ReplaceAll(text, before, "…")
		if _, password, ok := strings.Cut(before, ":"); ok && password != "" {
			text = strings.ReplaceAll(text, password, "…")
		}
	}
	return text
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// notSent reports whether err means that the message never left this process.
func notSent(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionDraining) ||
		errors.Is(err, nats.ErrConnectionReconnecting)
}
