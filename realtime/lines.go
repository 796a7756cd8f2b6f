package realtime

import (
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// The log tells of connections: at debug of each that opens and ends, and of each
// operation on a socket; at info of those that end because the server has decided
// so, or are not taken, of these some a second at most. It never tells what is sent.

// spared is how many lines of one kind there are a second; of what is left out the
// next line tells the number.
const spared = 10

// sparing bounds the lines of one kind. The zero value is ready.
type sparing struct {
	mu      sync.Mutex
	since   time.Time
	lines   int
	leftOut int
}

// line reports whether there may be one more, and how many there were none for.
func (s *sparing) line(now time.Time) (leftOut int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= time.Second {
		s.since, s.lines = now, 0
	}
	if s.lines == spared {
		s.leftOut++
		return 0, false
	}
	s.lines++
	leftOut, s.leftOut = s.leftOut, 0
	return leftOut, true
}

// decided reports whether the server has ended a connection on account of its
// client. When the process lets all of them go there is one line for that.
func (why ending) decided() bool {
	switch why {
	case byOverload, byExpiry, byRevocation, bySlowness, byIdleness, byProtocol, byRefusal, byOperator:
		return true
	}
	return false
}

// nextConn names a connection among those of the process.
func (h *Hub) nextConn() uint64 { return h.numbers.Add(1) }

// connID is the name as the log has it: that of the process stands before it.
func (h *Hub) connID(n uint64) string { return h.name + "-" + strconv.FormatUint(n, 36) }

// opened tells of a connection that was taken.
func (h *Hub) opened(t transport, conn uint64, from netip.Addr) {
	if !h.opts.Logger.Enabled(h.life, slog.LevelDebug) {
		return
	}
	h.opts.Logger.LogAttrs(h.life, slog.LevelDebug, "connection opened", slog.String("conn_id", h.connID(conn)),
		slog.String("transport", transportNames[t]), slog.String("remote_ip", from.String()))
}

// parting is a connection that has ended.
type parting struct {
	transport transport
	conn      uint64
	from      netip.Addr
	user      string
	why       ending
	code      int // of the close frame; 0: none was sent
	err       error
}

// closed tells of it.
func (h *Hub) closed(p parting) {
	level := slog.LevelDebug
	if p.why.decided() {
		level = slog.LevelInfo
	}
	if !h.opts.Logger.Enabled(h.life, level) {
		return
	}
	list := append(make([]slog.Attr, 0, 9), slog.String("conn_id", h.connID(p.conn)), slog.String("transport", transportNames[p.transport]),
		slog.String("remote_ip", p.from.String()), slog.String("reason", endingNames[p.why]))
	if level == slog.LevelInfo {
		leftOut, due := h.partings.line(time.Now())
		if !due {
			return
		}
		if leftOut > 0 {
			list = append(list, slog.Int("left_out", leftOut))
		}
	}
	if p.user != "" {
		list = append(list, slog.String("user", p.user))
	}
	if p.code != 0 {
		list = append(list, slog.Int("close_code", p.code))
	}
	if p.err != nil {
		list = append(list, slog.Any("error", p.err))
	}
	h.opts.Logger.LogAttrs(h.life, level, "connection closed", list...)
}

// turnedAway counts and tells of a connection that was not taken.
func (h *Hub) turnedAway(why refusal) {
	h.stats.refused[why].Add(1)
	leftOut, due := h.refusals.line(time.Now())
	if !due {
		return
	}
	list := []slog.Attr{slog.String("reason", refusalNames[why])}
	if leftOut > 0 {
		list = append(list, slog.Int("left_out", leftOut))
	}
	h.opts.Logger.LogAttrs(h.life, slog.LevelInfo, "connection refused", list...)
}

// tell tells of an operation that begins.
func (op *operation) tell(kind, name string) {
	h := op.socket.hub
	if !h.opts.Logger.Enabled(h.life, slog.LevelDebug) {
		return
	}
	h.opts.Logger.LogAttrs(h.life, slog.LevelDebug, "operation", slog.String("conn_id", h.connID(op.socket.conn)), slog.String("op_id", clipped(op.id)),
		slog.String("op_type", kind), slog.String("op_name", clipped(name)), slog.String("transport", transportNames[overSocket]))
}

// clipped bounds what clients choose.
func clipped(text string) string {
	if len(text) <= 60 {
		return text
	}
	return text[:57] + "…"
}
