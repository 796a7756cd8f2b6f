// Package edge is the public port of a process, and with one the whole service: it
// finds out who calls, and which binding answers.
package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"

	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
)

// Run serves GraphQL, subscriptions and SOAP until ctx ends and everything has
// stopped. Without a bus of its own in c it embeds one, and a worker. The log goes
// to stderr, and what a newcomer can try in development to stdout. With settings
// that order something instead of running, it does that alone.
func Run(ctx context.Context, c boot.Config, stdout, stderr io.Writer) error {
	log, err := c.Logger(stderr)
	if err != nil {
		return err
	}
	c.Fit(log)
	public, err := proc.Listen(c.Listen)
	if err != nil {
		return fmt.Errorf("%w; another address is chosen with --listen", err)
	}
	defer public.Close()
	public = proc.Bound(log, public, proc.Room())
	if c.PublicURL == "" {
		c.PublicURL = localURL(public.Addr(), c.TLSCert != "")
	}
	rooms, admin, err := boot.Start(ctx, c, boot.Role{Edge: true, Writes: c.NATSURL == "", Terminal: stderr}, log)
	if err != nil || rooms == nil {
		return err
	}
	if rooms.TLS != nil {
		public = proc.Private(public, rooms.TLS)
	}
	defer proc.Collector()()
	parts, err := parts(c, rooms, log, public, admin, stdout)
	if err != nil {
		return errors.Join(err, rooms.Close())
	}
	log.Info("api runs", "url", c.PublicURL, "schema", c.Schema)
	return errors.Join(proc.Run(ctx, log, parts...), rooms.Close())
}

// parts lists what the process does. They stop from the last to the first: the
// edge before what it calls.
func parts(c boot.Config, rooms *boot.Rooms, log *slog.Logger, public, admin net.Listener, stdout io.Writer) ([]proc.Part, error) {
	e, err := newEdge(c, rooms, log)
	if err != nil {
		return nil, err
	}
	if err := e.openConsole(c, admin); err != nil {
		return nil, err
	}
	var list []proc.Part
	if admin != nil {
		list = append(list, proc.Part{Name: "admin", Run: func(ctx context.Context) error {
			return proc.Admin(ctx, log, admin, e.ready, slices.Concat(rooms.Routes(), e.console.Routes())...)
		}})
	}
	if e.console != nil {
		list = append(list, proc.Part{Name: "console", Run: e.console.Run})
	}
	list = append(list, rooms.Parts()...)
	list = append(list, proc.Part{Name: "edge", Run: func(ctx context.Context) error {
		return proc.ServeHTTP(ctx, log, public, e, rooms.Drain, e.empty)
	}})
	if c.Dev {
		list = append(list, proc.Part{Name: "banner", Run: func(ctx context.Context) error {
			return banner(ctx, stdout, c, e)
		}})
	}
	return list, nil
}

// localURL is how a client on this machine reaches the listener.
func localURL(a net.Addr, private bool) string {
	scheme := "http://"
	if private {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsUnspecified() || ip.IsLoopback() {
		host = "localhost"
	}
	return scheme + net.JoinHostPort(host, port)
}
