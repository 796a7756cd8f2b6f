package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tidings/cmd/internal/boot"

	"github.com/spf13/cobra"
)

// template is the schema that newcomers begin with.
//
//go:embed template.graphql
var template string

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init DIR",
		Short: "Write a small schema to begin with",
		Long: `Write a small schema with comments into DIR, ready for tidings dev. DIR is made
when it is not there; one that has a schema already is left as it is.`,
		Example: "  tidings init notes",
		Args:    one("DIR, the directory of the new schema"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := begin(args[0]); err != nil {
				return boot.Usage(err)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), `%[1]s has a schema now: read it, and change it as you like.

  tidings dev %[2]s             # run it; a saved change is taken up
  tidings schema print --schema %[2]s   # the whole contract that clients see
`, filepath.Join(args[0], "schema.graphql"), args[0])
			return err
		},
	}
}

// begin writes the template into a directory.
func begin(dir string) error {
	if there, err := filepath.Glob(filepath.Join(dir, "*.graphql")); err != nil || len(there) > 0 {
		return errors.Join(err, fmt.Errorf("%s has a schema already, which is left as it is: choose another directory, or run it by tidings dev %s", dir, dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "schema.graphql"), []byte(template), 0o644); err != nil {
		return err
	}
	ignore, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = ignore.WriteString(dataFolder + "/\n")
	return errors.Join(err, ignore.Close())
}

// one wants one argument.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return boot.Usage(fmt.Errorf("name %s: %s; see %s --help", what, c.UseLine(), c.CommandPath()))
		case len(args) > 1:
			return boot.Usage(fmt.Errorf("unknown argument %q; see %s --help", args[1], c.CommandPath()))
		}
		return nil
	}
}
