package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/edge"
	"tidings/cmd/internal/tool"
)

// dataFolder is where a service in development keeps what it stores, below its schema.
const dataFolder = ".tidings"

const devUsage = `Usage:
  tidings dev DIR [settings]

Run the service of the schema in DIR in development, all of it in one process:
GraphQL, subscriptions, SOAP, and the log in DIR/.tidings. A change of the schema is
taken up when it is saved, while clients stay connected. It prints tokens and what to
paste next. Stop it by Ctrl-C; what is stored stays.

Most wanted settings
  --listen 127.0.0.1:8081   another address than 127.0.0.1:8080
  --admin ''                no admin port, or another one than :9090
  --data DIR                another directory of what is stored
  --operations DIR          registered operations
  --log-level debug         each request

The others are in docs/configuration.md, and tidings completion completes them.

Examples
  tidings dev notes
  tidings dev notes --listen 127.0.0.1:8081 --admin ''
`

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
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), devUsage) })
	return c
}

// dev runs the service until it is told to end. Settings win over what it says.
func (p program) dev(c *cobra.Command, dir string, settings []string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
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
		return boot.Usage(fmt.Errorf("%w\nSomething else has the address. With another: tidings dev %s --listen 127.0.0.1:8081 --admin ''", err, dir))
	}
	return err
}

// devSettings are those of a service in development.
func devSettings(dir string) []string {
	return []string{"--dev", "--schema", dir, "--data", filepath.Join(dir, dataFolder), "--listen", "127.0.0.1:8080"}
}
