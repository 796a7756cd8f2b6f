package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tidings/client"
	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
)

const watchUsage = `Print the results of a subscription as they come, until it is complete or Ctrl-C.

When the connection ends, for whatever reason, it connects again after a pause that
grows up to half a minute (2 seconds while a service of this machine is started again),
and goes on after the last event that was printed: each is printed once, in order, and
none is left out. What becomes of the connection is on the standard error. It ends with
the reason when to come again would not help: the cursor has expired, the token is not
good any more, the operation is refused.

At the end it prints the last cursor, with which another call goes on: --after.

Status: 0 it is complete, was ended by Ctrl-C, or --count is reached; 1 the
subscription was refused; 2 the command is wrong.`

// watching are the flags of `tidings watch`.
type watching struct {
	remote
	operation
	json             bool
	transport, after string
	count            int
}

func (p program) watchCommand() *cobra.Command {
	w := watching{transport: string(client.Auto)}
	c := &cobra.Command{
		Use:   "watch [OPERATION | FILE | -]",
		Short: "Print what a subscription says, across losses of the connection",
		Long:  watchUsage,
		Example: `  tidings watch 'subscription { noteChanged { kind note { id text } } }'
  tidings watch notes.graphql --json | jq .data
  tidings watch notes.graphql --after dg4wqjkb1k8-2s --transport sse`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: filesOf("graphql", "gql"),
	}
	w.remote.flags(c.Flags())
	w.operation.flags(c.Flags())
	c.Flags().BoolVar(&w.json, "json", false, "print each result on a line of its own, as it came: NDJSON")
	c.Flags().StringVar(&w.transport, "transport", w.transport, "wss: WebSocket; sse: server-sent events; auto: sse where something on the way lets no sockets through")
	c.Flags().StringVar(&w.after, "after", "", "cursor to go on from; none: from now on")
	c.Flags().IntVarP(&w.count, "count", "n", 0, "end after so many results; 0: never")
	_ = c.RegisterFlagCompletionFunc("transport", cobra.FixedCompletions([]string{"auto", "wss", "sse"}, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error { return p.watch(c, w, args) }
	return c
}

// errEnough says that as many results have come as were wanted.
var errEnough = errors.New("enough")

func (p program) watch(c *cobra.Command, w watching, args []string) error {
	transport := client.Transport(w.transport)
	if transport != client.Auto && transport != client.WebSocket && transport != client.SSE {
		return boot.Usage(fmt.Errorf("--transport is auto, wss or sse, not %q", w.transport))
	}
	s, err := w.remote.service(p.environ)
	if err != nil {
		return err
	}
	op, err := w.operation.read(c, args)
	if err != nil {
		return err
	}
	if kind := kindOf(op.Query, op.Name); kind == "query" || kind == "mutation" {
		return boot.Usage(fmt.Errorf("a %s has one answer, which is printed by\n  %s", kind, instead(c, "query", args)))
	}
	people, seen, last := !w.json && tool.IsTerminal(p.stdout), 0, w.after
	teller := newTeller(p.stderr)
	err = s.Watch(c.Context(), client.Watch{Operation: op, After: w.after, Transport: transport, Tell: teller.tell}, func(e client.Event) error {
		text := []byte(e.Payload)
		if people {
			text = pretty(text)
		}
		if _, err := fmt.Fprintf(p.stdout, "%s\n", text); err != nil {
			return err
		}
		if e.Cursor != "" {
			last = e.Cursor
		}
		if seen++; seen == w.count {
			return errEnough
		}
		return nil
	})
	teller.end()
	if last != "" {
		fmt.Fprintf(p.stderr, "the last cursor: %s\n", printable(last))
	}
	if refused, ok := errors.AsType[*client.Refusal](err); ok {
		return tool.Exit(statusAnswer, refused)
	}
	if errors.Is(err, errEnough) || interrupted(c.Context(), err) {
		return nil
	}
	return err
}
