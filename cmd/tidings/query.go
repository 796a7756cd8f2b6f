package main

import (
	"fmt"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"

	"github.com/spf13/cobra"
)

func (p program) queryCommand() *cobra.Command {
	var from remote
	var op operation
	var raw bool
	c := &cobra.Command{
		Use:   "query [OPERATION | FILE | -]",
		Short: "Send a query or mutation, and print the answer",
		Long: `Send a query or a mutation and print the answer as JSON, for people on a terminal.
The operation is the argument itself, or the file of that name, or what comes on the
standard input.

Status: 0 the answer has no errors; 1 it has, and they are on the standard error, too;
2 there is no answer.`,
		Example: `  tidings query '{ notes { nodes { id text } } }'
  tidings query 'query($id: ID!) { note(id: $id) { text } }' --var id=n1
  tidings query create.graphql --variables @note.json --token-file token
  echo '{ __typename }' | tidings query --url https://api.example.com`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: filesOf("graphql", "gql"),
	}
	from.flags(c.Flags())
	op.flags(c.Flags())
	c.Flags().BoolVar(&raw, "raw", false, "print the answer as it came, on a terminal, too")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := from.service(p.environ)
		if err != nil {
			return err
		}
		request, err := op.read(c, args)
		if err != nil {
			return err
		}
		if kindOf(request.Query, request.Name) == "subscription" {
			return boot.Usage(fmt.Errorf("a subscription goes on, and is printed as it comes by\n  %s", instead(c, "watch", args)))
		}
		answer, err := s.Do(c.Context(), request)
		if err != nil {
			return tool.Exit(statusUsage, away(err))
		}
		text := []byte(answer.Body)
		if !raw && tool.IsTerminal(p.stdout) {
			text = pretty(text)
		}
		if _, err := fmt.Fprintf(p.stdout, "%s\n", text); err != nil {
			return err
		}
		if len(answer.Errors) > 0 {
			first := answer.Errors[0]
			return tool.Exit(statusAnswer, refusal(first, first.Extensions.Code, s))
		}
		return nil
	}
	return c
}

// filesOf completes the names of files with these endings.
func filesOf(endings ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}
