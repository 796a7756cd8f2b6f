package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// embedded is a NATS server inside this process.
type embedded struct {
	ns     *server.Server
	guard  *guard
	listen bool
	unlock func()
	temp   string // removed by stop; empty when the directory is the caller's
}

// embed starts a server with JetStream. It takes no signals: the process that
// embeds it decides when it stops.
func embed(ctx context.Context, o Options) (*embedded, error) {
	e := &embedded{unlock: func() {}, listen: o.Listen != ""}
	if err := e.start(ctx, o); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

func (e *embedded) start(ctx context.Context, o Options) (err error) {
	so := &server.Options{
		ServerName: o.Prefix,
		DontListen: o.Listen == "",
		JetStream:  true,
		SyncAlways: o.SyncAlways,
		NoSigs:     true,
		// Who may be slow at its door: services of the adopter's and other
		// processes of this one, which are not thousands.
		MaxConn: 1024, AuthTimeout: 2, WriteDeadline: 10 * time.Second, PingInterval: 20 * time.Second, MaxPingsOut: 2,
	}
	if o.Listen != "" {
		if so.Host, so.Port, err = splitListen(o.Listen); err != nil {
			return err
		}
	}
	if e.guard, err = newGuard(o); err != nil {
		return err
	}
	e.guard.arm(so)
	if so.StoreDir, err = e.claim(o.Dir); err != nil {
		return err
	}
	if e.ns, err = server.NewServer(so); err != nil {
		return fmt.Errorf("embedded server: %w", err)
	}
	e.ns.SetLoggerV2(serverLog{o.Logger}, false, false, false)
	e.ns.Start()
	wait := 20 * time.Second
	if d, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(d))
	}
	if !e.ns.ReadyForConnections(wait) {
		return fmt.Errorf("the embedded server did not start within %s: see its messages in the log; is the address %q free, and the directory %q readable and writable", wait.Round(time.Second), o.Listen, o.Dir)
	}
	if !e.ns.JetStreamEnabled() {
		return fmt.Errorf("the embedded server could not open its store in %q: see its messages in the log; is the directory writable and the disk not full", o.Dir)
	}
	return nil
}

// claim locks the directory, or makes a temporary one: the server keeps its own
// notes in files even when the log is in memory.
func (e *embedded) claim(dir string) (string, error) {
	if dir == "" {
		temp, err := os.MkdirTemp("", "tidings-bus-*")
		e.temp = temp
		return temp, err
	}
	unlock, err := lockDir(dir)
	if err == nil {
		e.unlock = unlock
	}
	return dir, err
}

func (e *embedded) stop() {
	if e.ns != nil {
		e.ns.Shutdown()
		e.ns.WaitForShutdown()
	}
	e.unlock()
	if e.temp != "" {
		os.RemoveAll(e.temp)
	}
}

func (e *embedded) url() string {
	if !e.listen {
		return ""
	}
	return e.ns.ClientURL()
}

func splitListen(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("the listen address %q has not the form host:port", addr)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// lockDir makes sure that no other process uses the directory: two servers on
// the same files would destroy them. The lock ends with the process, however
// it ends.
func lockDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("the directory %s %w: stop that one, give this one a directory of its own, or let both use one external NATS server by its URL", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// ErrInUse says that another process has the directory of an embedded server.
var ErrInUse = errors.New("is in use by another process")

var errLocked = errors.New("locked by another process")

// serverLog hands the embedded server's messages to slog. Its notices are a
// banner and a diary: debug for us.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (l serverLog) Warnf(format string, v ...any)   { l.write(slog.LevelWarn, format, v) }
func (l serverLog) Fatalf(format string, v ...any)  { l.write(slog.LevelError, format, v) }
func (l serverLog) Errorf(format string, v ...any)  { l.write(slog.LevelError, format, v) }
func (l serverLog) Debugf(format string, v ...any)  { l.write(slog.LevelDebug, format, v) }
func (l serverLog) Tracef(format string, v ...any)  { l.write(slog.LevelDebug, format, v) }

func (l serverLog) write(level slog.Level, format string, v []any) {
	ctx := context.Background()
	if !l.log.Enabled(ctx, level) {
		return
	}
	text := strings.TrimSpace(fmt.Sprintf(format, v...))
	l.log.LogAttrs(ctx, level, "nats-server", slog.String("text", text))
}
