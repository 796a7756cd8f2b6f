package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
)

// shared is a command that the servers have, too: tool reads its arguments, and says
// what it is for.
func (p program) shared(path, short string) *cobra.Command {
	words := strings.Fields(path)
	c := &cobra.Command{
		Use: words[len(words)-1], Short: short,
		DisableFlagParsing: true,
		ValidArgsFunction:  settingsBegun,
		RunE: func(c *cobra.Command, args []string) error {
			return tool.Run(c.Context(), words[0], p.call(slices.Concat(words[1:], args)))
		},
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		fmt.Fprint(c.OutOrStdout(), p.said(words))
	})
	return c
}

// said is what a shared command says of itself.
func (p program) said(words []string) string {
	var text strings.Builder
	call := p.call(append(slices.Clone(words[1:]), "--help"))
	call.Stdout = &text
	if err := tool.Run(context.Background(), words[0], call); err != nil { // the help asks nobody
		return err.Error() + "\n"
	}
	return text.String()
}

func (p program) call(args []string) tool.Call {
	return tool.Call{Program: "tidings", Args: args, Environ: p.environ, Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr}
}

// settingsBegun completes the flags of the service's settings, and leaves all else
// to the shell, which completes files.
func settingsBegun(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(begun, "-") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var list []string
	for flag, help := range boot.Flags() {
		if strings.HasPrefix("--"+flag, begun) {
			list = append(list, cobra.CompletionWithDesc("--"+flag, help))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// family is a command that has commands of its own and does nothing by itself.
func family(name, short string, list ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, RunE: fallen, SuggestionsMinimumDistance: 2}
	c.AddCommand(list...)
	return c
}

// fallen runs where a command is named that does not exist, or none.
func fallen(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return unknown(c, args[0])
}

// unknown says that there is no such command, and which was probably meant.
func unknown(c *cobra.Command, name string) error {
	near := "."
	if list := c.SuggestionsFor(name); len(list) > 0 {
		near = "; did you mean " + c.CommandPath() + " " + list[0] + "?"
	}
	return boot.Usage(fmt.Errorf("there is no %s %s%s See %[1]s --help", c.CommandPath(), name, near))
}
