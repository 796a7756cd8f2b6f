package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// connect makes a connection that comes back by itself for as long as the
// process lives. While it is away nothing is buffered: what cannot be sent
// fails at once, since a request that leaves after its caller gave up helps nobody.
func (b *Bus) connect(ctx context.Context, name string, more ...nats.Option) (*nats.Conn, error) {
	target := b.opts.URL
	opts := []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 500*time.Millisecond),
		nats.ReconnectBufSize(-1),
		// A silent peer is noticed after 10 to 15 s.
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.Timeout(5 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.LogAttrs(context.Background(), slog.LevelWarn, "bus connection lost", slog.String("conn", name), slog.Any("error", err))
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			b.log.LogAttrs(context.Background(), slog.LevelInfo, "bus connection is back", slog.String("conn", name), slog.String("server", nc.ConnectedUrlRedacted()))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			b.log.LogAttrs(context.Background(), slog.LevelWarn, "bus connection reported an error", slog.String("conn", name), slog.String("subject", subject), slog.Any("error", err))
		}),
	}
	opts = append(opts, more...)
	if b.server != nil {
		target = ""
		opts = append(opts, nats.InProcessServer(b.server.ns))
	} else if err := checkURLs(target); err != nil {
		return nil, err
	}
	if d, ok := ctx.Deadline(); ok {
		opts = append(opts, nats.Timeout(min(5*time.Second, time.Until(d))))
	}
	nc, err := nats.Connect(target, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %s: is the server running, and reachable from here", redact(target), hide(err.Error(), target))
	}
	return nc, nil
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
