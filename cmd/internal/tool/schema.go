package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
	"tidings/resource"
	"tidings/schema"
	"tidings/soap"
)

// schemaCommand is `api schema print` and `api schema check`.
func schemaCommand(ctx context.Context, call Call) error {
	switch args := call.Args; {
	case len(args) > 0 && args[0] == "print" && asked(args[1:]):
		return call.help(printHelp)
	case len(args) == 1 && asked(args):
		return call.help(printHelp, checkHelp)
	case len(args) > 0 && args[0] == "print":
		return printCommand(call.after(1))
	case len(args) > 0 && args[0] == "check":
		err := checkCommand(ctx, call.after(1))
		if _, ok := errors.AsType[exitError](err); err == nil || ok {
			return err
		}
		return exitError{statusUsage, err}
	}
	return boot.Usage(fmt.Errorf("want %[1]s schema print or %[1]s schema check; see %[1]s schema --help", call.Program))
}

// printCommand writes the contract.
func printCommand(call Call) error {
	c, err := call.settings(call.Args)
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := c.LoadSchema()
	if err != nil {
		return err
	}
	_, err = io.WriteString(call.Stdout, m.SDL)
	return err
}

var checkHelp = boot.Help{
	Text: `
Say what changes for clients from one schema to another, the worst first: BREAKING,
DANGEROUS, SAFE; or with --against-log which stored records do not fit the schema.
OLD and NEW are each a directory of annotated *.graphql files, or a contract as
$0 schema print writes it. Locked versions of SOAP (v1.soap.lock) in the directory
NEW are looked at, too: $0 soap check. Nothing is written.

Status: 0 nothing breaks, all records fit; 1 something breaks, some do not fit; 2
nothing could be looked at.`,
	Usage: `
$0 schema check OLD NEW [--format text|json]
$0 schema check --against-log [--schema DIR] [--format text|json] [settings]`,
	Examples: `
$0 schema check contract.graphql notes
$0 schema check --against-log --schema notes --data notes/.tidings`,
	Flags: []boot.FlagHelp{
		{Name: "--against-log", What: "look at what is stored, instead of another schema"},
		{Name: "--format WORD", What: "text, or json for programs (default text)"},
		schemaFlag,
	},
	Settings: boot.Settings(logSettings),
}

// checkCommand is `api schema check`. It takes its own words out of the
// arguments; the others are settings of the service.
func checkCommand(ctx context.Context, call Call) error {
	c := check{format: "text", call: call}
	rest, help := c.take(call.Args)
	switch {
	case help:
		return call.help(checkHelp)
	case c.format != "text" && c.format != "json":
		return fmt.Errorf("--format is text or json, not %q", c.format)
	case c.log:
		return c.records(ctx, rest)
	case len(rest) != 2 || slices.ContainsFunc(rest, func(s string) bool { return strings.HasPrefix(s, "-") }):
		return fmt.Errorf("two schemas are compared: %[1]s schema check OLD NEW; see %[1]s schema check --help", call.Program)
	}
	var err error
	if c.config, err = boot.ReadConfig(call.Program, nil, call.Environ, printer(call.Stderr)); err != nil {
		return err
	}
	return c.contracts(rest[0], rest[1])
}

// take reads the words of `api schema check` and returns the other arguments.
func (c *check) take(args []string) (rest []string, help bool) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch isFlag := strings.HasPrefix(arg, "-"); {
		case isFlag && (name == "help" || name == "h"):
			help = true
		case isFlag && name == "against-log":
			c.log = true
		case isFlag && name == "format" && !given && len(args) > 0:
			c.format, args = args[0], args[1:]
		case isFlag && name == "format":
			c.format = value
		default:
			rest = append(rest, arg)
		}
	}
	return rest, help
}

// check is one run of `api schema check`.
type check struct {
	format string // text or json
	log    bool
	config boot.Config // of the variables
	call   Call
}

// contracts compares two schemas.
func (c check) contracts(oldPath, newPath string) error {
	old, err := c.readContract(oldPath)
	if err != nil {
		return err
	}
	after, err := c.readContract(newPath)
	if err != nil {
		return err
	}
	changes := schema.Diff(old, after)
	count := map[schema.Class]int{}
	for _, change := range changes {
		count[change.Class]++
	}
	breaches, err := c.breaches(newPath)
	if err != nil {
		return err
	}
	if c.format == "json" {
		err = c.json(map[string]any{
			"breaking": count[schema.Breaking], "dangerous": count[schema.Dangerous], "safe": count[schema.Safe],
			"changes": append([]schema.Change{}, changes...),
			"soap":    append([]soap.Breach{}, breaches...),
		})
	} else {
		err = c.text(changes, count, breaches)
	}
	if n := count[schema.Breaking] + len(breaches); n > 0 && err == nil {
		return exitError{statusFound, fmt.Errorf("breaking changes: %d", n)}
	}
	return err
}

// breaches are the promises of the locked versions of SOAP, where a directory has
// some, that its schema does not hold.
func (c check) breaches(path string) (list []soap.Breach, err error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, err
	}
	c.config.Schema = path
	locks, err := c.config.Locks()
	if err != nil || len(locks) == 0 {
		return nil, err
	}
	m, err := c.config.LoadSchema()
	if err != nil {
		return nil, err
	}
	for _, l := range locks {
		list = append(list, l.Check(m)...)
	}
	return list, nil
}

// text prints the changes under the names of their classes.
func (c check) text(changes []schema.Change, count map[schema.Class]int, breaches []soap.Breach) error {
	var b strings.Builder
	var class schema.Class
	for _, change := range changes {
		if change.Class != class {
			class = change.Class
			fmt.Fprintf(&b, "%s (%d)\n", class, count[class])
		}
		fmt.Fprintf(&b, "  %s\n      %s %s\n", change.Message, change.Kind, change.Coordinate)
	}
	if len(breaches) > 0 {
		fmt.Fprintf(&b, "BREAKING for partners of SOAP (%d)\n", len(breaches))
	}
	for _, breach := range breaches {
		fmt.Fprintf(&b, "  %s\n", breach)
	}
	if len(changes)+len(breaches) == 0 {
		b.WriteString("nothing changes for clients\n")
	}
	_, err := io.WriteString(c.call.Stdout, Printable(b.String()))
	return err
}

func (c check) json(v any) error {
	enc := json.NewEncoder(c.call.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// readContract reads a directory of annotated files or a printed contract.
func (c check) readContract(path string) (*schema.Contract, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no directory or file %s; name a directory of *.graphql files, or a contract", path)
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		c.config.Schema = path
		m, err := c.config.LoadSchema()
		if err != nil {
			return nil, err
		}
		return m.Contract, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	contract, err := schema.LoadContract(path, string(text))
	if err != nil {
		return nil, fmt.Errorf("contract %s is refused:\n%w", path, err)
	}
	return contract, nil
}

// records looks through what is stored.
func (c check) records(ctx context.Context, args []string) error {
	config, err := c.call.settings(args)
	if errors.Is(err, boot.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := config.LoadSchema()
	if err != nil {
		return err
	}
	log, err := proc.Logger(c.call.Stderr, config.LogLevel, true)
	if err != nil {
		return err
	}
	b, err := config.OpenLog(ctx, log)
	if err != nil {
		return err
	}
	found, err := resource.Inspect(ctx, b, m)
	if err := errors.Join(err, b.Close(ctx)); err != nil {
		return err
	}
	if c.format == "json" {
		err = c.json(found)
	} else {
		err = c.findings(found)
	}
	if found.Flawed > 0 && err == nil {
		return exitError{statusFound, fmt.Errorf("%d of %d stored records do not fit the schema", found.Flawed, found.Records)}
	}
	return err
}

func (c check) findings(found resource.Inspection) error {
	var b strings.Builder
	for _, f := range found.Findings {
		fmt.Fprintln(&b, f)
	}
	if found.Flawed == 0 {
		fmt.Fprintf(&b, "all stored records fit the schema: %d\n", found.Records)
	}
	if found.DanglingCount > 0 {
		fmt.Fprintf(&b, "references to records that are not there, which stay as they are until they are changed: %d\n", found.DanglingCount)
	}
	for _, d := range found.Dangling {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	_, err := io.WriteString(c.call.Stdout, Printable(b.String()))
	return err
}
