package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidings/cmd/internal/boot"
	"tidings/cmd/internal/tool"
	"tidings/internal/proc"
)

var doctorHelp = boot.Help{
	Text: `
Look at what a service needs, and say for each thing whether it is well, and if not
what to do: the settings, the schema, the keys of tokens, the bus, the streams and
their settings, clocks, disks, addresses, and a service that runs. DIR is the schema's
directory; without settings that name a bus, what tidings dev DIR keeps in DIR/.tidings
is looked at. Run it where and as the service runs, once with the credentials of each
role that it has at the bus.

Nothing is changed. Each permission that the role needs is tried with a message that
reaches nobody, and named when it is missing; the log of the NATS server has a line for
it. One request asks whether a worker answers, and is refused by it.

Status: 0 nothing fails, 1 something does, 2 the command is wrong.`,
	Usage: "$0 doctor [DIR] [--url URL] [--role api|worker|admin] [--json] [settings]",
	Examples: `
$0 doctor notes
TIDINGS_NATS_URL=nats://localhost:4222 $0 doctor --schema notes --json
TIDINGS_NATS_URL=nats://nats:4222 $0 doctor notes --nats-creds creds/worker.creds`,
	Flags: []boot.FlagHelp{
		{Name: "--url URL", What: "a service to look at, too (TIDINGS_URL; default none)"},
		{Name: "--role WORD", What: "whose credentials these are: api, worker or admin (default what they may do says it)"},
		{Name: "--json", What: `print an array of {"check", "state", "what", "remedy"}, for programs`},
	},
	Settings: boot.Settings("Those of the service that is looked at."),
}

func (p program) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor [DIR]", Short: "Look at what a service needs, and say what to do",
		DisableFlagParsing: true,
		ValidArgsFunction:  settingsBegun,
		RunE:               p.doctor,
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = doctorHelp.Print(c.OutOrStdout(), "tidings") }) // the terminal is gone if it fails
	return c
}

// The states of a finding.
const (
	stateOK      = "ok"
	stateWarning = "warning"
	stateFailure = "failure"
	stateSkipped = "skipped"
)

// finding is what was found of one thing.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

// examination is one run of `tidings doctor`.
type examination struct {
	program
	config boot.Config
	dev    bool // what tidings dev runs
	url    string
	role   string // whose credentials they are; empty: what they may do says it
	found  []finding
}

func (x *examination) add(check, state, remedy, format string, a ...any) {
	x.found = append(x.found, finding{Check: check, State: state, What: renamed(fmt.Sprintf(format, a...)), Remedy: renamed(remedy)})
}

// fail notes an error. What follows a semicolon in errors of ours is the remedy.
func (x *examination) fail(check string, err error, remedy string) {
	what, rest, _ := strings.Cut(err.Error(), "; ")
	x.add(check, stateFailure, cmp.Or(rest, remedy), "%s", what)
}

func (p program) doctor(c *cobra.Command, args []string) error {
	own := struct {
		url, role string
		json      bool
	}{url: variable(p.environ, variableURL)}
	names, settings, help, err := tool.Own(map[string]*bool{"json": &own.json}, map[string]*string{"url": &own.url, "role": &own.role}, args)
	switch {
	case help:
		return c.Help()
	case err != nil:
		return boot.Usage(err)
	case own.role != "" && !slices.Contains(roles, own.role):
		return boot.Usage(fmt.Errorf("--role is %s, not %q", strings.Join(roles, ", "), own.role))
	case len(names) > 1:
		return boot.Usage(fmt.Errorf("unknown argument %q; see tidings doctor --help", names[1]))
	}
	x := examination{program: p, url: own.url, role: own.role}
	x.examine(c.Context(), names, settings)
	if own.json {
		err = x.json()
	} else {
		err = x.text()
	}
	if n := x.count(stateFailure); n > 0 && err == nil {
		return tool.Exit(statusAnswer, fmt.Errorf("failures: %d", n))
	}
	return err
}

// examine looks at everything that can be looked at.
func (x *examination) examine(ctx context.Context, names, settings []string) {
	if !x.settings(names, settings) {
		return
	}
	x.schema()
	x.keys(ctx)
	x.addresses(ctx)
	x.disk()
	x.bus(ctx)
	x.service(ctx)
}

// settings reads the settings; nothing else can be looked at without.
func (x *examination) settings(names, settings []string) bool {
	silent := func(string, ...any) {}
	args := settings
	if len(names) == 1 {
		args = append([]string{"--schema", names[0]}, settings...)
	}
	c, err := boot.ReadConfig("tidings doctor", args, x.environ, silent)
	if err == nil && c.NATSURL == "" && len(names) == 1 { // what tidings dev would do
		x.dev = true
		c, err = boot.ReadConfig("tidings doctor", append(devSettings(names[0]), settings...), x.environ, silent)
	}
	if err != nil {
		if errors.Is(err, boot.ErrHelp) {
			err = errors.New("--print-config and --version print, and nothing is looked at")
		}
		x.fail("settings", err, "docs/configuration.md lists the settings")
		return false
	}
	x.config = c
	x.add("settings", stateOK, "", "all are read and fit each other")
	return true
}

func (x *examination) count(state string) (n int) {
	for _, f := range x.found {
		if f.State == state {
			n++
		}
	}
	return n
}

func (x *examination) json() error {
	e := json.NewEncoder(x.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(x.found)
}

func (x *examination) text() error {
	var b strings.Builder
	for _, f := range x.found {
		fmt.Fprintf(&b, "%-8s %-10s %s\n", f.State, f.Check, strings.ReplaceAll(f.What, "\n", "\n"+strings.Repeat(" ", 20)))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%20s%s\n", "→ ", f.Remedy)
		}
	}
	fmt.Fprintf(&b, "\nok: %d, warnings: %d, failures: %d; version %s\n", x.count(stateOK), x.count(stateWarning), x.count(stateFailure), proc.ThisBuild())
	_, err := fmt.Fprint(x.stdout, printable(b.String()))
	return err
}

// bounded is ctx for one look.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 10*time.Second)
}
