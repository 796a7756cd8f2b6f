package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidings/cmd/internal/boot"
)

// asked reports whether a subcommand's arguments ask what it is for.
func asked(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" })
}

var printHelp = boot.Help{
	Text:     "Print the expanded contract of a schema, as clients see it, as SDL.",
	Usage:    "$0 schema print [--schema DIR] [settings]",
	Examples: "$0 schema print --schema notes > contract.graphql",
	Flags:    []boot.FlagHelp{schemaFlag},
	Settings: boot.Settings("Few count here."),
}

// schemaFlag is the setting that most subcommands want.
var schemaFlag = boot.FlagHelp{Name: "--schema DIR", What: "directory of the *.graphql files of the service (TIDINGS_SCHEMA; default .)"}

var versionHelp = boot.Help{Text: "Print which build this is: release, revision, compiler and platform.", Usage: "$0 version", Examples: "$0 version"}

// versionCommand is `api version`.
func versionCommand(_ context.Context, c Call) error {
	switch {
	case asked(c.Args):
		return c.help(versionHelp)
	case len(c.Args) > 0:
		return boot.Usage(fmt.Errorf("unknown argument %q; see %s version --help", c.Args[0], c.Program))
	}
	_, err := boot.ReadConfig(c.Program, []string{"--version"}, nil, printer(c.Stdout))
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	return err
}
