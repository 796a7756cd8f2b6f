// Command worker carries out commands and answers SOAP envelopes that reach it
// over the bus. Any number of workers share the load.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
	"tidings/console"
	"tidings/internal/proc"
)

func main() {
	ctx, cancel := proc.Context()
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", tool.Printable(err.Error()))
		os.Exit(boot.StatusOf(err))
	}
}

// run is the whole program: a subcommand, or the worker until ctx ends and everything has stopped.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	if len(args) > 1 && args[0] == "version" && (args[1] == "--help" || args[1] == "-help" || args[1] == "-h") {
		_, err := io.WriteString(stdout, "Usage:\n  worker version\n      Print which build this is. It takes no settings.\n")
		return err
	}
	if slices.Equal(args, []string{"version"}) {
		args = []string{"--version"}
	}
	if len(args) > 0 && args[0] == "drain" {
		return boot.DrainCommand(ctx, "worker", args[1:], environ, stdout)
	}
	c, err := boot.ReadConfig("worker", args, environ, func(format string, a ...any) { fmt.Fprintf(stdout, format, a...) })
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.NATSURL == "" {
		return boot.Usage(errors.New("TIDINGS_NATS_URL is not set: a worker needs the bus that the api processes use; api alone has a worker of its own"))
	}
	log, err := c.Logger(stderr)
	if err != nil {
		return err
	}
	c.Fit(log)
	rooms, admin, err := boot.Start(ctx, c, boot.Role{Writes: true, Terminal: stderr}, log)
	if err != nil || rooms == nil {
		return err
	}
	parts := rooms.Parts()
	if c.Console {
		seen, err := console.New(console.Options{Bus: rooms.Bus, Metrics: rooms.Metrics, Ready: rooms.Ready, Role: "worker", Logger: log})
		if err != nil {
			return errors.Join(err, rooms.Close())
		}
		parts = slices.Insert(parts, 0, proc.Part{Name: "console", Run: seen.Run})
	}
	if admin != nil {
		parts = slices.Insert(parts, 0, proc.Part{Name: "admin", Run: func(ctx context.Context) error { return proc.Admin(ctx, log, admin, rooms.Ready, rooms.Routes()...) }})
	}
	log.Info("worker runs", "schema", c.Schema)
	return errors.Join(proc.Run(ctx, log, parts...), rooms.Close())
}
