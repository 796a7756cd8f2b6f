package edge

import (
	"log/slog"
	"net/http"
	"net/netip"
)

// hint tells the log, once, of a proxy that is not named, so that all of its clients
// count as one. A neighbour that says for whom it asks is taken for one; who comes
// from further away may say so for other reasons.
func (e *edge) hint(r *http.Request) {
	if len(r.Header["X-Forwarded-For"]) == 0 || e.unnamed.Load() || e.proxies.Trust(r) {
		return
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsPrivate() && !from.Addr().Unmap().IsLoopback() || e.unnamed.Swap(true) {
		return
	}
	e.log.LogAttrs(r.Context(), slog.LevelWarn, "a proxy that is not named says for whom it asks: all who come by it count as one caller",
		slog.String("remote_ip", from.Addr().Unmap().String()), slog.String("setting", "TIDINGS_TRUSTED_PROXIES"),
		slog.String("remedy", "name its network, and no more, if it is yours"))
}
