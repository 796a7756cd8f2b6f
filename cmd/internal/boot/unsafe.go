package boot

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
)

// What a start refuses and --allow-unsafe lets pass, each by its name.
const (
	openFiles    = "open-files"    // secret files that others may read
	openListener = "open-listener" // an embedded bus for everybody
)

var unsafes = []string{openFiles, openListener}

// allows reports whether an unsafe thing is let pass: in development everything is.
func (c Config) allows(what string) bool {
	return c.Dev || slices.Contains(list(c.AllowUnsafe), what)
}

func (c Config) checkUnsafe() error {
	for _, name := range list(c.AllowUnsafe) {
		if !slices.Contains(unsafes, name) {
			return fmt.Errorf("TIDINGS_ALLOW_UNSAFE has %q; it takes %s", name, strings.Join(unsafes, ", "))
		}
	}
	return nil
}

// warnOfPlaintext says when credentials go to another machine in the clear.
func (r *Rooms) warnOfPlaintext(ctx context.Context) {
	c := r.config
	if c.NATSCA != "" || c.NATSCert != "" || c.NATSServerName != "" {
		return // which make TLS a condition
	}
	for i, raw := range list(c.NATSURL) {
		if !strings.Contains(raw, "://") {
			raw = "nats://" + raw
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "nats" && u.Scheme != "ws" || local(u.Hostname()) {
			continue
		}
		if u.User != nil || c.NATSUser != "" || c.NATSToken != "" || c.NATSTokenFile != "" {
			r.log.LogAttrs(ctx, slog.LevelWarn, "credentials go to the bus in the clear, unless it asks for TLS by itself",
				slog.Int("server", i+1), slog.String("host", u.Host), slog.String("remedy", "use tls:// in TIDINGS_NATS_URL and name the authorities with TIDINGS_NATS_CA; or NKeys or credentials, which never send their secret"))
			return
		}
	}
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
