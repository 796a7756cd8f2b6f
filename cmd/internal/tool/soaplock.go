package tool

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidings/cmd/internal/boot"
	"tidings/schema"
	"tidings/soap"
)

var lockHelp = boot.Help{
	Text: `
Write down, in DIR/v2.soap.lock, what partners of SOAP see today as that version:
operations, documents, types, names. From then on the version keeps this shape,
whatever is added to the schema: docs/soap.md, Versions. What differs from the
present lock is listed with what it does to partners' programs.

Status: 0 it is written, or as it was; 1 it is not written over; 2 the command is
wrong.`,
	Usage: "$0 soap lock [--version v2] [--force] [--schema DIR] [settings]",
	Examples: `
$0 soap lock --schema notes
$0 soap lock --schema notes --version v2`,
	Flags: []boot.FlagHelp{
		{Name: "--version NAME", What: "version that is locked (default the newest one that is, or v1)"},
		{Name: "--force", What: "write over a lock, though some of what differs harms partners"},
		schemaFlag,
	},
	Settings: boot.Settings("--service names the service."),
}

var lockCheckHelp = boot.Help{
	Text: `
Say which promises of the locked versions of SOAP the schema does not hold.

Status: 0 it holds them all, 1 it does not, 2 nothing could be looked at.`,
	Usage:    "$0 soap check [--schema DIR] [settings]",
	Examples: "$0 soap check --schema notes",
	Flags:    []boot.FlagHelp{schemaFlag},
	Settings: boot.Settings("Few count here."),
}

// lockCommand is `api soap lock`.
func lockCommand(call Call) error {
	stdout := call.Stdout
	version, force, rest, help := takeLock(call.Args)
	if help {
		return call.help(lockHelp)
	}
	c, m, locks, err := readLocked(call, rest)
	if err != nil {
		return err
	}
	if version == "" {
		version = "v1"
		if len(locks) > 0 {
			version = locks[len(locks)-1].Version
		}
	}
	next, err := c.LockSOAP(m, version)
	if err != nil {
		return err
	}
	path := filepath.Join(c.Schema, next.File())
	i := slices.IndexFunc(locks, func(l *soap.Lock) bool { return l.Version == version })
	if i < 0 {
		if err := os.WriteFile(path, next.Text(), 0o644); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stdout, "%s: %d operations are locked as %s of %s; keep the file in version control\n", path, next.Operations(), version, next.Service)
		return err
	}
	if string(locks[i].Text()) == string(next.Text()) {
		_, err := fmt.Fprintf(stdout, "%s: nothing has changed\n", path)
		return err
	}
	differences := soap.Differences(locks[i], next)
	if err := printDifferences(stdout, differences); err != nil {
		return err
	}
	harms := slices.ContainsFunc(differences, func(d soap.Difference) bool { return d.Effect != soap.EffectNone })
	if harms && !force {
		return exitError{statusFound, fmt.Errorf("%s is not written over: write the next version by --version, or, if no partner uses this one yet, add --force", path)}
	}
	if err := os.WriteFile(path, next.Text(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: written anew\n", path)
	return err
}

// takeLock takes the words of `api soap lock` out of the arguments.
func takeLock(args []string) (version string, force bool, rest []string, help bool) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch isFlag := strings.HasPrefix(arg, "-"); {
		case isFlag && (name == "help" || name == "h"):
			help = true
		case isFlag && name == "force" && !given:
			force = true
		case isFlag && name == "version" && given:
			version = value
		case isFlag && name == "version" && len(args) > 0:
			version, args = args[0], args[1:]
		default:
			rest = append(rest, arg)
		}
	}
	return version, force, rest, help
}

// readLocked reads a schema and the locks beside it.
func readLocked(call Call, args []string) (boot.Config, *schema.Model, []*soap.Lock, error) {
	c, err := call.settings(args)
	if err != nil {
		return c, nil, nil, err
	}
	m, err := c.LoadSchema()
	if err != nil {
		return c, nil, nil, err
	}
	locks, err := c.Locks()
	return c, m, locks, err
}

// printDifferences lists them under what they do.
func printDifferences(stdout io.Writer, list []soap.Difference) error {
	var b strings.Builder
	var effect soap.Effect
	for _, d := range list {
		if d.Effect != effect {
			effect = d.Effect
			fmt.Fprintf(&b, "%s\n", effect)
		}
		fmt.Fprintf(&b, "  %s\n", d.What)
	}
	if len(list) == 0 {
		b.WriteString("nothing changes for partners: only descriptions and documents have\n")
	}
	_, err := io.WriteString(stdout, b.String())
	return err
}

// lockCheckCommand is `api soap check`.
func lockCheckCommand(call Call) error {
	if _, _, _, help := takeLock(call.Args); help {
		return call.help(lockCheckHelp)
	}
	c, m, locks, err := readLocked(call, call.Args)
	if err != nil {
		return exitError{statusUsage, err}
	}
	found := 0
	for _, l := range locks {
		found += len(l.Check(m))
	}
	if err := printBreaches(call.Stdout, m, locks); err != nil {
		return err
	}
	if found > 0 {
		return exitError{statusFound, fmt.Errorf("promises that are not held: %d", found)}
	}
	return newer(call, c, m, locks)
}

// printBreaches says of each version what it promises in vain.
func printBreaches(stdout io.Writer, m *schema.Model, locks []*soap.Lock) error {
	var b strings.Builder
	for _, l := range locks {
		breaches := l.Check(m)
		for _, breach := range breaches {
			fmt.Fprintln(&b, breach)
		}
		if len(breaches) == 0 {
			fmt.Fprintf(&b, "%s: held, %d operations\n", l.File(), l.Operations())
		}
	}
	_, err := io.WriteString(stdout, b.String())
	return err
}

// newer says what the schema shows beyond the newest lock, which is no fault.
func newer(call Call, c boot.Config, m *schema.Model, locks []*soap.Lock) error {
	if len(locks) == 0 {
		_, err := fmt.Fprintf(call.Stdout, "nothing is locked: %s soap lock writes v1\n", call.Program)
		return err
	}
	last := locks[len(locks)-1]
	next, err := c.LockSOAP(m, last.Version)
	if err != nil {
		return exitError{statusFound, err}
	}
	if n := len(soap.Differences(last, next)); n > 0 {
		_, err = fmt.Fprintf(call.Stdout, "%s does not show what the schema has more or has otherwise (%d): %s soap lock lists it\n", last.Version, n, call.Program)
	}
	return err
}
