package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidings/cmd/internal/boot"
)

// showHelp says what a command is for.
func showHelp(c *cobra.Command, _ []string) {
	out := c.OutOrStdout()
	fmt.Fprintln(out, strings.TrimSpace(cmp.Or(c.Long, c.Short+".")))
	fmt.Fprintln(out)
	_ = showUsage(c) // the terminal is gone if it fails
}

// showUsage says how a command is called: itself, its examples, its commands by
// groups, its flags.
func showUsage(c *cobra.Command) error {
	out := c.OutOrStdout()
	fmt.Fprintf(out, "Usage:\n  %s\n", useLine(c))
	if c.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", c.Example)
	}
	showCommands(out, c)
	showFlags(out, c)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\nEach says more with --help: %s %s --help\n", c.CommandPath(), visible(c)[0].Name())
	}
	return nil
}

// useLine is how a command is called.
func useLine(c *cobra.Command) string {
	switch {
	case c.HasAvailableSubCommands():
		return c.CommandPath() + " COMMAND"
	case c.DisableFlagParsing:
		return c.UseLine() + " [settings]"
	}
	hasFlags := false
	c.Flags().VisitAll(func(f *pflag.Flag) { hasFlags = hasFlags || f.Name != "help" })
	if !hasFlags {
		return strings.TrimSuffix(c.UseLine(), " [flags]")
	}
	return c.UseLine()
}

// visible are the commands of a command.
func visible(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(s *cobra.Command) bool { return !s.IsAvailableCommand() })
}

func showCommands(out io.Writer, c *cobra.Command) {
	groups := append(slices.Clone(c.Groups()), &cobra.Group{Title: "Further:"})
	if !c.ContainsGroup(groupStart) {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		title := g.Title
		for _, s := range visible(c) {
			if s.GroupID != g.ID {
				continue
			}
			if title != "" {
				fmt.Fprintf(out, "\n%s\n", title)
				title = ""
			}
			fmt.Fprintf(out, "  %-12s %s\n", s.Name(), s.Short)
		}
	}
}

func showFlags(out io.Writer, c *cobra.Command) {
	title := "\nFlags:\n"
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		fmt.Fprintf(out, "%s  %s\n%s", title, flagName(f), boot.Paragraph(flagText(f)))
		title = ""
	})
}

// kinds are what follows a flag, where that is no text.
var kinds = map[string]string{
	"url": "URL", "token-file": "FILE", "password-file": "FILE", "out": "FILE", "schema": "DIR", "after": "CURSOR", "operation": "NAME",
	"id": "ID", "var": "NAME=VALUE", "variables": "JSON", "username": "NAME", "version": "NAME", "transport": "WORD", "format": "WORD", "soap": "WORD", "count": "NUMBER",
}

// flagName is a flag with what follows it.
func flagName(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if f.Value.Type() == "bool" {
		return name
	}
	return name + " " + cmp.Or(kinds[f.Name], "TEXT")
}

// flagText is what a flag does, with what holds without it.
func flagText(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "false" || f.DefValue == "[]" {
		return f.Usage
	}
	return f.Usage + " (default " + f.DefValue + ")"
}
