package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"tidings/bus"
	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
)

const busUsage = `Usage:
  api bus setup [--edit] [settings]

Creates the log, the buckets and the queues of the service on an external bus,
those that are not there, and prints all. It may be run again at any time. Run it
with the credentials of the admin role (deploy/nats/admin.conf) when those of the
api and of the workers may not create streams.

  --edit
        change those that are there to what the settings say: copies, bounds of
        size and age, changes of each record that are kept. Without it a
        difference of the log is an error, and those of the others stay.

Settings are those of the service, such as TIDINGS_NATS_URL, --nats-creds,
--prefix, --replicas, --history and the bounds of the buckets: api --help.
`

// busCommand is `api bus`: it prepares an external bus.
func busCommand(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "--help" || a == "-help" }) {
		fmt.Fprint(stdout, busUsage)
		return nil
	}
	if args[0] != "setup" {
		return fmt.Errorf("unknown command api bus %s; see api bus --help", args[0])
	}
	args = args[1:]
	settings := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--edit" })
	c, err := boot.ReadConfig("api", settings, environ, printer(stdout))
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := proc.Logger(stderr, c.LogLevel, c.Dev)
	if err != nil {
		return err
	}
	kept, err := c.SetUp(ctx, len(settings) < len(args), log)
	if err != nil {
		return err
	}
	return tabulate(stdout, kept)
}

func tabulate(w io.Writer, kept []bus.Kept) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "STREAM\tCOPIES\tSTORAGE\tMAX BYTES\tMAX AGE\t")
	for _, k := range kept {
		size, age := "-", "-"
		if k.MaxBytes > 0 {
			size = fmt.Sprint(k.MaxBytes)
		}
		if k.MaxAge > 0 {
			age = k.MaxAge.String()
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", k.Stream, k.Replicas, k.Storage, size, age, k.Done)
	}
	return table.Flush()
}
