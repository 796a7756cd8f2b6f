// Package tool holds the subcommands that the programs share: each looks after
// what is stored, or speaks to a process of the service on this machine.
package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tidings/cmd/internal/boot"
)

// Call is one call of a subcommand.
type Call struct {
	// Program is the name under which it was called, for what it says of itself.
	Program string
	Args    []string // after the subcommand's own name
	Environ []string // as of os.Environ

	Stdin          io.Reader
	Stdout, Stderr io.Writer

	command string // its first word
}

// commands are the subcommands by their first words.
var commands = map[string]func(context.Context, Call) error{
	"schema":  schemaCommand,
	"log":     logCommand,
	"export":  exportCommand,
	"import":  importCommand,
	"bus":     busCommand,
	"revoke":  revokeCommand,
	"erase":   eraseCommand,
	"soap":    soapCommand,
	"token":   tokenCommand,
	"version": versionCommand,
	"drain": func(ctx context.Context, c Call) error {
		return boot.DrainCommand(ctx, c.Program, c.Args, c.Environ, c.Stdout)
	},
}

// Names returns the subcommands, in no order.
func Names() []string { return slices.Collect(maps.Keys(commands)) }

// Run runs the subcommand of a name until it has ended, or ctx has. An error has
// the status with which the program ends: StatusOf. It panics when there is no
// such subcommand.
func Run(ctx context.Context, name string, call Call) error {
	call.command = name
	return commands[name](ctx, call)
}

// exitError ends the program with a status of its own.
type exitError struct {
	status int
	error
}

// Unwrap returns what happened.
func (e exitError) Unwrap() error { return e.error }

// Exit is an error with which a program ends with a status of its own: StatusOf.
func Exit(status int, err error) error { return exitError{status, err} }

// The statuses of most subcommands.
const (
	statusFound = 1 // what was looked for is there: breaking changes, records that do not fit
	statusUsage = 2 // nothing could be done
)

// StatusOf is the status with which a program ends after an error: what the
// subcommand says, else that of boot.StatusOf.
func StatusOf(err error) int {
	if e, ok := errors.AsType[exitError](err); ok {
		return e.status
	}
	return boot.StatusOf(err)
}

// named puts the program's name in the place of $0.
func (c Call) named(text string) string { return strings.ReplaceAll(text, "$0", c.Program) }

// help prints what subcommands are for.
func (c Call) help(list ...boot.Help) error {
	for i, h := range list {
		if i > 0 {
			fmt.Fprintln(c.Stdout) // the next line finds the error
		}
		if err := h.Print(c.Stdout, c.Program); err != nil {
			return err
		}
	}
	return nil
}

// settings reads arguments as settings of the service.
func (c Call) settings(args []string) (boot.Config, error) {
	return boot.ReadConfig(c.Program+" "+c.command, args, c.Environ, printer(c.Stdout))
}

// after is the same call, without its first arguments.
func (c Call) after(n int) Call {
	c.Args = c.Args[n:]
	return c
}

func printer(w io.Writer) func(string, ...any) {
	return func(format string, a ...any) { fmt.Fprintf(w, format, a...) }
}
