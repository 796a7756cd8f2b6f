package proc

import (
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// Bound bounds how many connections of a listener of Listen are open at a time,
// so that the process always has file descriptors left for its probes, its files
// and the bus. One that comes on top is closed at once, and the log says so, once
// a second at most. Other listeners, and most 0, stay without a bound. Accept is
// for one caller at a time.
func Bound(log *slog.Logger, l net.Listener, most int64) net.Listener {
	w, ok := l.(watchful)
	if !ok || most <= 0 {
		return l
	}
	return &bounded{watchful: w, log: log, most: most}
}

// Room is how many connections clients may open by the limit of file descriptors:
// all but a reserve of 1,024, or half of a limit below 2,048; 0 where it is not
// known.
func Room() int64 {
	limit := descriptors()
	return limit - min(limit/2, 1024)
}

type bounded struct {
	watchful
	log     *slog.Logger
	most    int64
	open    atomic.Int64
	refused int       // since it was told
	told    time.Time // the log
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.AcceptTCP()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.most {
			conn := &Conn{TCPConn: c}
			conn.counted.Store(&b.open)
			return conn, nil
		}
		_ = c.Close() // nothing was sent
		b.open.Add(-1)
		b.refuse()
	}
}

func (b *bounded) refuse() {
	b.refused++
	if time.Since(b.told) < time.Second {
		return
	}
	b.log.Warn("connections are refused: as many are open as file descriptors allow", "connections", b.refused, "max", b.most,
		"remedy", "raise the limit of open files (ulimit -n, LimitNOFILE), or run more processes")
	b.refused, b.told = 0, time.Now()
}
