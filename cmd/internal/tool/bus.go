package tool

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

var busHelp = boot.Help{
	Text: `
Create the log, the buckets and the queues of the service on an external bus, those
that are not there, and list all. It may be run again at any time. Run it with the
credentials of the admin role (deploy/nats/admin.conf) where those of the api and of
the workers may not create streams: docs/nats.md.`,
	Usage: "$0 bus setup [--edit] [settings]",
	Examples: `
TIDINGS_NATS_URL=nats://localhost:4222 $0 bus setup
TIDINGS_NATS_URL=nats://nats:4222 $0 bus setup --edit --nats-creds admin.creds --replicas 3`,
	Flags: []boot.FlagHelp{
		{Name: "--edit", What: "change those that are there to what the settings say: copies, bounds of size and age, changes of each record that are kept; without it a difference of the log is an error, and those of the others stay"},
	},
	Settings: boot.Settings("TIDINGS_NATS_URL, --nats-creds, --prefix, --replicas, --history and the bounds of the buckets."),
}

// busCommand is `api bus`: it prepares an external bus.
func busCommand(ctx context.Context, call Call) error {
	if len(call.Args) == 0 || asked(call.Args) {
		return call.help(busHelp)
	}
	if call.Args[0] != "setup" {
		return boot.Usage(fmt.Errorf("unknown command %[1]s bus %[2]s; see %[1]s bus --help", call.Program, call.Args[0]))
	}
	args := call.Args[1:]
	settings := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--edit" })
	c, err := call.settings(settings)
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := proc.Logger(call.Stderr, c.LogLevel, c.Dev)
	if err != nil {
		return err
	}
	kept, err := c.SetUp(ctx, len(settings) < len(args), log)
	if err != nil {
		return err
	}
	return tabulate(call.Stdout, kept)
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
