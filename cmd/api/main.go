// Command api serves GraphQL, live subscriptions and SOAP. With a bus it is a
// stateless pod; without one it embeds the bus and a worker and is the whole
// service.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/edge"
	"tidings/cmd/internal/tool"
	"tidings/internal/proc"
)

func main() {
	ctx, cancel := proc.Context()
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "api:", tool.Printable(err.Error()))
		os.Exit(tool.StatusOf(err))
	}
}

// run is the whole program: a subcommand, or the service until ctx ends.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && slices.Contains(tool.Names(), args[0]) {
		return tool.Run(ctx, args[0], tool.Call{Program: "api", Args: args[1:], Environ: environ, Stdin: os.Stdin, Stdout: stdout, Stderr: stderr})
	}
	c, err := boot.ReadConfig("api", args, environ, func(format string, a ...any) { fmt.Fprintf(stdout, format, a...) })
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return edge.Run(ctx, c, stdout, stderr)
}
