package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/edge"
	"tidings/cmd/internal/tool"
)

// dataFolder is where a service in development keeps what it stores, below its schema.
const dataFolder = ".tidings"

var devHelp = boot.Help{
	Text: `
Run the service of the schema in DIR in development, all of it in one process:
GraphQL, subscriptions, SOAP, and the log in DIR/.tidings. A change of the schema is
taken up when it is saved, while clients stay connected. It prints tokens and what to
paste next. Stop it by Ctrl-C; what is stored stays.`,
	Usage: "$0 dev DIR [settings]",
	Examples: `
$0 dev notes
$0 dev notes --listen 127.0.0.1:8081 --admin ''`,
	Flags: []boot.FlagHelp{
		{Name: "--listen ADDRESS", What: "where it answers (default 127.0.0.1:8080)"},
		{Name: "--admin ADDRESS", What: "where its admin port answers, with the console; empty: nowhere (default 127.0.0.1:9090)"},
		{Name: "--data DIR", What: "directory of what is stored (default DIR/.tidings)"},
		{Name: "--operations DIR", What: "directory of persisted operations (default none)"},
		{Name: "--log-level WORD", What: "what is logged: debug (each request), info, warn or error (default info)"},
	},
	Settings: boot.Settings("All others, too; tidings completion completes them."),
}

func (p program) devCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "dev DIR", Short: "Run the service of a schema, and take up its changes",
		DisableFlagParsing: true,
		ValidArgsFunction:  settingsBegun,
		RunE: func(c *cobra.Command, args []string) error {
			names, settings, help, err := tool.Own(nil, nil, args)
			switch {
			case help:
				return c.Help()
			case err != nil:
				return boot.Usage(err)
			case len(names) != 1:
				return boot.Usage(errors.New("name DIR, the directory of the schema: tidings dev DIR; see tidings dev --help"))
			}
			return p.dev(c, names[0], settings)
		},
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = devHelp.Print(c.OutOrStdout(), "tidings") }) // the terminal is gone if it fails
	return c
}

// dev runs the service until it is told to end. Settings win over what it says.
func (p program) dev(c *cobra.Command, dir string, settings []string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return boot.Usage(fmt.Errorf("%s is a file: name the directory of the schema", dir))
	} else if err != nil {
		return boot.Usage(fmt.Errorf("there is no directory %s: tidings init %[1]s makes one with a schema", dir))
	}
	config, err := boot.ReadConfig("tidings dev", slices.Concat(devSettings(dir), settings), p.environ, func(format string, a ...any) { fmt.Fprintf(p.stdout, format, a...) })
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	if err != nil {
		return boot.Usage(err)
	}
	err = edge.Run(c.Context(), config, p.stdout, p.stderr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return boot.Usage(fmt.Errorf("%w\nAnother program has the address, or this one already runs. With one that is free:\n  tidings dev %s --listen %s --admin ''", err, quoted(dir), freePort(config.Listen)))
	}
	return err
}

// devSettings are those of a service in development.
func devSettings(dir string) []string {
	return []string{"--dev", "--schema", dir, "--data", filepath.Join(dir, dataFolder), "--listen", "127.0.0.1:8080"}
}

// freePort is an address of this machine that is free, as near behind another one as
// there is.
func freePort(taken string) string {
	_, port, _ := net.SplitHostPort(taken)
	n, _ := strconv.Atoi(port) // which was listened on
	for next := n + 1; next <= min(n+100, 65535); next++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(next)))
		if err != nil {
			continue
		}
		l.Close()
		return l.Addr().String()
	}
	return "127.0.0.1:0"
}
