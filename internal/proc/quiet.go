package proc

import (
	"context"
	"log/slog"
	"strings"
)

// quiet makes little of what net/http says of connections that never became one:
// whoever looks whether a port is open, or has no certificate, can make it say so.
type quiet struct{ slog.Handler }

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		if r.Level = slog.LevelDebug; !q.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return q.Handler.Handle(ctx, r)
}
