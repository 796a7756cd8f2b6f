// Command api serves GraphQL, live subscriptions and SOAP. With a bus it is a
// stateless pod; without one it embeds the bus and a worker and is the whole
// service.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
)

func main() {
	ctx, cancel := proc.Context()
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(statusOf(err))
	}
}

// commands are the subcommands by their first words.
var commands = map[string]func(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error{
	"schema": schemaCommand,
	"log":    logCommand,
	"export": exportCommand,
	"bus":    busCommand,
	"import": func(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
		return importCommand(ctx, args, environ, os.Stdin, stdout, stderr)
	},
	"drain": func(ctx context.Context, args, environ []string, stdout, _ io.Writer) error {
		return boot.DrainCommand(ctx, "api", args, environ, stdout)
	},
	"revoke": func(ctx context.Context, args, environ []string, stdout, _ io.Writer) error {
		return revokeCommand(ctx, args, environ, stdout)
	},
	"erase": func(ctx context.Context, args, environ []string, stdout, _ io.Writer) error {
		return eraseCommand(ctx, args, environ, stdout)
	},
	"soap": func(_ context.Context, args, environ []string, stdout, _ io.Writer) error {
		return soapCommand(args, environ, os.Stdin, stdout)
	},
	"version": func(_ context.Context, args, _ []string, stdout, _ io.Writer) error {
		return versionCommand(args, stdout, func() error {
			_, err := boot.ReadConfig("api", []string{"--version"}, nil, printer(stdout))
			return help(err)
		})
	},
	"token": func(_ context.Context, args, environ []string, stdout, _ io.Writer) error {
		return tokenCommand(args, environ, stdout)
	},
}

// run is the whole program: a subcommand, or the service until ctx ends.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](ctx, args[1:], environ, stdout, stderr)
	}
	c, err := boot.ReadConfig("api", args, environ, printer(stdout))
	if err != nil {
		return help(err)
	}
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
	rooms, admin, err := boot.Start(ctx, c, boot.Role{Edge: true, Writes: c.NATSURL == "", Console: stderr}, log)
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

// help makes nothing of the error that says that help was printed.
func help(err error) error {
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	return err
}

// parts lists what the process does. They stop from the last to the first: the
// edge before what it calls.
func parts(c boot.Config, rooms *boot.Rooms, log *slog.Logger, public, admin net.Listener, stdout io.Writer) ([]proc.Part, error) {
	e, err := newEdge(c, rooms, log)
	if err != nil {
		return nil, err
	}
	var list []proc.Part
	if admin != nil {
		list = append(list, proc.Part{Name: "admin", Run: func(ctx context.Context) error { return proc.Admin(ctx, log, admin, e.ready, rooms.Routes()...) }})
	}
	list = append(list, rooms.Parts()...)
	list = append(list, proc.Part{Name: "edge", Run: func(ctx context.Context) error {
		return proc.ServeHTTP(ctx, log, public, e, rooms.Drain, e.empty)
	}})
	if c.Dev {
		list = append(list, proc.Part{Name: "banner", Run: func(ctx context.Context) error {
			return banner(ctx, stdout, c, rooms, e.namespace)
		}})
	}
	return list, nil
}

func printer(w io.Writer) func(string, ...any) {
	return func(format string, a ...any) { fmt.Fprintf(w, format, a...) }
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
