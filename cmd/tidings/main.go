// Command tidings is for people at a terminal: it begins a schema and runs it,
// speaks to a service as its clients do, and looks after what is stored. api and
// worker are the two servers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
	"tidings/internal/proc"
)

func main() {
	ctx, cancel := proc.Context()
	defer cancel()
	p := program{args: os.Args[1:], environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	if err := p.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tidings:", printable(renamed(permitted(err).Error())))
		os.Exit(tool.StatusOf(err))
	}
}

// program is one call of this program.
type program struct {
	args, environ  []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// run is the whole program: a command, until it or ctx has ended.
func (p program) run(ctx context.Context) error {
	root := p.root()
	root.SetArgs(p.args)
	return root.ExecuteContext(ctx)
}

// The groups of commands, in the order in which somebody needs them.
const (
	groupStart    = "start"
	groupCall     = "call"
	groupContract = "contract"
	groupData     = "data"
	groupOperate  = "operate"
)

func (p program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tidings",
		Short: "One GraphQL schema, running: queries, mutations, live subscriptions, SOAP",
		Args:  cobra.ArbitraryArgs, // fallen says which commands there are
		Long: `Tidings turns one annotated GraphQL schema into a running service: queries,
mutations, live subscriptions that resume without a gap, and the same operations
as SOAP.`,
		Example: `  tidings init notes             # a schema to begin with
  tidings dev notes              # run it; a saved change is taken up
  tidings watch 'subscription { noteChanged { kind note { text } } }'`,
		Version:      fmt.Sprint(proc.ThisBuild()),
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true},
		SuggestionsMinimumDistance: 2,
		RunE:                       fallen,
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetHelpFunc(showHelp)
	root.SetUsageFunc(showUsage)
	root.SetVersionTemplate("tidings {{.Version}}\n")
	root.Flags().Bool("version", false, "print which build this is, and end")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return boot.Usage(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
	})
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Begin:"},
		&cobra.Group{ID: groupCall, Title: "Call a service:"},
		&cobra.Group{ID: groupContract, Title: "Contracts:"},
		&cobra.Group{ID: groupData, Title: "What is stored:"},
		&cobra.Group{ID: groupOperate, Title: "Operate:"},
	)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Say what a command is for", RunE: help(root), ValidArgsFunction: cobra.NoFileCompletions})
	p.commands(root)
	return root
}

// commands adds those that there are, group by group.
func (p program) commands(root *cobra.Command) {
	add := func(group string, list ...*cobra.Command) {
		for _, c := range list {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupStart, initCommand(), p.devCommand(), p.shared("token", "Print a token of the development key"))
	add(groupCall, p.queryCommand(), p.watchCommand())
	add(groupContract, p.persistCommand(), family("schema", "Print a schema's contract, and say what a change does",
		p.shared("schema print", "Print the expanded contract as SDL"),
		p.shared("schema check", "Say what changes for clients, or which stored records do not fit")),
		family("soap", "What partners of SOAP see, and who they are",
			p.wsdlCommand(), p.callCommand(),
			p.shared("soap lock", "Write down what partners see as a version"),
			p.shared("soap check", "Say which locked versions the schema breaks"),
			p.shared("soap secret", "Make a secret for an account"),
			p.shared("soap password", "Hash a password for an account"),
			p.shared("soap certificate", "Print how an account names a certificate"),
			p.shared("soap accounts", "Check an accounts file")))
	add(groupData, p.shared("export", "Write all records, as of one position, into a file"),
		p.shared("import", "Write the records of a file into the log"),
		family("log", "Say what is wrong with the log, and mend it",
			p.shared("log check", "Say what is wrong with what is stored"),
			p.shared("log repair", "Mend the reservations of unique values"),
			p.shared("log renew", "Give a restored log an identity of its own")))
	add(groupOperate, p.doctorCommand(), family("bus", "Prepare an external bus", p.shared("bus setup", "Create the streams and buckets of the service")),
		p.shared("drain", "Empty the process on this machine before it ends"),
		p.shared("revoke", "Take tokens back, in all processes"),
		p.shared("erase", "Delete a record and erase at once what it was"))
	root.AddCommand(p.shared("version", "Print which build this is"), completionCommand(), p.manCommand())
}

// help says what a command is for, or that there is none of that name.
func help(root *cobra.Command) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		switch {
		case err != nil:
			return boot.Usage(err)
		case len(rest) > 0:
			return unknown(c, rest[0])
		}
		return c.Help()
	}
}

// The statuses with which the program ends, beside those of the shared commands.
const (
	statusAnswer = 1 // the service has answered with errors, or a subscription was refused
	statusUsage  = 2 // nobody was asked: the command is wrong, or nobody is there
)

// interrupted reports whether err says that ctx was ended by a signal, as a person
// ends what runs until then.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}
