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
	oneCopy      = "one-copy"      // a log without replicas in a cluster
	evenCopies   = "even-copies"   // 2 or 4 of them
)

var unsafes = []string{openFiles, openListener, oneCopy, evenCopies}

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

// checkBus refuses a bus that would lose what was acknowledged with one server,
// and warns of what the process can do without.
func (r *Rooms) checkBus(ctx context.Context) error {
	c := r.config
	s, err := r.Bus.Survey(ctx)
	if err != nil {
		return fmt.Errorf("look at the bus: %w", err)
	}
	switch {
	case s.Replicas == 1 && s.Servers >= 3 && !c.allows(oneCopy):
		return fmt.Errorf("the log has one copy in a cluster of %d servers, so that it is lost with one of them: set TIDINGS_REPLICAS=3 (--replicas) for all processes, and change it with `%s bus setup --edit --replicas 3`; or let it pass with --allow-unsafe %s", s.Servers, c.program, oneCopy)
	case s.Replicas%2 == 0 && !c.allows(evenCopies):
		return fmt.Errorf("the log has %d copies, which survive the loss of no more servers than %d do, since more than half must be there: set TIDINGS_REPLICAS to an odd number (--replicas), and change it with `%s bus setup --edit`; or let it pass with --allow-unsafe %s", s.Replicas, s.Replicas-1, c.program, evenCopies)
	}
	for _, k := range r.Bus.Kept() {
		if k.Replicas < s.Replicas {
			r.log.LogAttrs(ctx, slog.LevelWarn, "a stream has fewer copies than the log; what it holds may be lost with one server",
				slog.String("stream", k.Stream), slog.Int("copies", k.Replicas), slog.Int("log_copies", s.Replicas), slog.String("remedy", fmt.Sprintf("%s bus setup --edit --replicas %d", c.program, s.Replicas)))
		}
	}
	if c.LogMaxBytes > 0 && c.NATSURL != "" {
		r.warnOfLimit(ctx)
	}
	return nil
}

func (r *Rooms) warnOfLimit(ctx context.Context) {
	u, err := r.Bus.Usage(ctx)
	if err == nil && u.MaxBytes != r.config.LogMaxBytes {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the log has another limit of size than the settings say; it stays",
			slog.Int64("limit", u.MaxBytes), slog.Int64("setting", r.config.LogMaxBytes), slog.String("remedy", r.config.program+" bus setup --edit"))
	}
}
