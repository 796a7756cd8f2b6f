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
			run, print := "tidings dev "+quoted(args[0]), "tidings schema print --schema "+quoted(args[0])
			_, err := fmt.Fprintf(c.OutOrStdout(), `%s is a schema to begin with: read it, and change it as you like.

  %-*s   # run it; a saved change is taken up
  %s   # the whole contract that clients see
`, filepath.Join(args[0], "schema.graphql"), len(print), run, print)
			return err
		},
	}
}

// begin writes the template into a directory.
func begin(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file: name a directory, which is made if it is not there", dir)
	}
	if there, err := filepath.Glob(filepath.Join(dir, "*.graphql")); err != nil || len(there) > 0 {
		return errors.Join(err, fmt.Errorf("%s has a schema already, which is left as it is: choose another directory, or run it by tidings dev %s", dir, dir))
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "schema.graphql"), []byte(template), 0o644)
	}
	if err != nil {
		return fmt.Errorf("%w; choose a directory that you may write to", err)
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
			return boot.Usage(fmt.Errorf("name %s: %s; see %s --help", what, useLine(c), c.CommandPath()))
		case len(args) > 1:
			return boot.Usage(fmt.Errorf("unknown argument %q; see %s --help", args[1], c.CommandPath()))
		}
		return nil
	}
}
