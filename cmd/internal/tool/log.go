package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tidings/bus"
	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
	"tidings/resource"
)

// logSettings say which log is meant.
const logSettings = "TIDINGS_NATS_URL names a bus of its own, beside which the service may run; otherwise --data is the directory of a service that is stopped."

// logHelp says what the subcommands of `api log` are for.
var logHelp = map[string]boot.Help{
	"check": {
		Text: `
Walk through the log and say what is wrong with it, and the remedy: messages that are
no records, records that do not fit the schema, unique values that are reserved for
nobody or not at all, references to what is not there, clocks that went back. Nothing
is written.

Status: 0 nothing is wrong, 1 something is, 2 the log could not be looked at.`,
		Usage:    "$0 log check [--format text|json] [--schema DIR] [settings]",
		Examples: "$0 log check --schema notes --data notes/.tidings",
		Flags:    []boot.FlagHelp{{Name: "--format WORD", What: "text, or json for programs (default text)"}, schemaFlag},
		Settings: boot.Settings(logSettings),
	},
	"repair": {
		Text: `
Mend what needs no choice: release the unique values that are reserved for records
which do not have them, and reserve those that a record has and nobody holds. It may
run beside the service.

Status: 0 nothing was wrong, or all of it is mended; 1 not all of it; 2 nothing could
be looked at.`,
		Usage:    "$0 log repair [--schema DIR] [settings]",
		Examples: "$0 log repair --schema notes --data notes/.tidings",
		Flags:    []boot.FlagHelp{schemaFlag},
		Settings: boot.Settings(logSettings),
	},
	"renew": {
		Text: `
Give a log that was restored from a backup an identity of its own, before anything
uses it: cursors and positions from before expire, and views are built anew. Processes
that have the log open end.`,
		Usage:    "$0 log renew [settings]",
		Examples: "TIDINGS_NATS_URL=nats://localhost:4222 $0 log renew",
		Settings: boot.Settings(logSettings),
	},
}

// logCommand is `api log`.
func logCommand(ctx context.Context, call Call) error {
	l := logs{format: "text", call: call}
	names, rest, help, err := words{texts: map[string]*string{"format": &l.format}}.take(call.Args)
	switch {
	case err != nil:
		return exitError{statusUsage, err}
	case help && len(names) == 1 && logHelp[names[0]].Usage != "":
		return call.help(logHelp[names[0]])
	case help:
		return call.help(logHelp["check"], logHelp["repair"], logHelp["renew"])
	case len(names) != 1:
		return exitError{statusUsage, fmt.Errorf("usage: %[1]s log check, %[1]s log repair or %[1]s log renew; see %[1]s log --help", call.Program)}
	case l.format != "text" && l.format != "json":
		return exitError{statusUsage, fmt.Errorf("--format is text or json, not %q", l.format)}
	}
	run, known := map[string]func(context.Context, *bus.Bus) error{"check": l.check, "repair": l.repair, "renew": l.renew}[names[0]]
	if !known {
		return exitError{statusUsage, fmt.Errorf("there is no %[1]s log %[2]s; see %[1]s log --help", call.Program, names[0])}
	}
	if l.config, err = call.settings(rest); errors.Is(err, boot.ErrHelp) {
		return nil
	} else if err != nil {
		return exitError{statusUsage, err}
	}
	return l.on(ctx, run)
}

// logs is one run of `api log`.
type logs struct {
	format string
	config boot.Config
	call   Call
}

// on calls run with the log.
func (l *logs) on(ctx context.Context, run func(context.Context, *bus.Bus) error) error {
	logger, err := proc.Logger(l.call.Stderr, l.config.LogLevel, true)
	if err != nil {
		return exitError{statusUsage, err}
	}
	b, err := l.config.OpenLog(ctx, logger)
	if err != nil {
		return exitError{statusUsage, err}
	}
	err = run(ctx, b)
	if _, ok := errors.AsType[exitError](err); err != nil && !ok {
		err = exitError{statusUsage, err}
	}
	if closed := b.Close(context.WithoutCancel(ctx)); err == nil {
		err = closed
	}
	return err
}

func (l *logs) look(ctx context.Context, b *bus.Bus) (resource.LogCheck, error) {
	m, err := l.config.LoadSchema()
	if err != nil {
		return resource.LogCheck{}, err
	}
	return resource.CheckLog(ctx, b, m, nil)
}

func (l *logs) check(ctx context.Context, b *bus.Bus) error {
	found, err := l.look(ctx, b)
	if err != nil {
		return err
	}
	if l.format == "json" {
		enc := json.NewEncoder(l.call.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(found)
	} else {
		_, err = io.WriteString(l.call.Stdout, Printable(l.call.named(checked(found))))
	}
	if n := found.Flaws(); n > 0 && err == nil {
		return exitError{statusFound, fmt.Errorf("the log has %d flaws", n)}
	}
	return err
}

// checked tells what was found, and the remedy of each sort.
func checked(c resource.LogCheck) string {
	var b strings.Builder
	section := func(count, named int, title, remedy string, line func(i int) string) {
		if count == 0 {
			return
		}
		fmt.Fprintf(&b, "%s: %d\n", title, count)
		for i := range named {
			fmt.Fprintf(&b, "  %s\n", line(i))
		}
		if more := count - named; more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
		fmt.Fprintf(&b, "  remedy: %s\n", remedy)
	}
	section(c.MalformedCount, len(c.Malformed), "messages that are no records",
		"they are passed over. See who may write into the log (docs/bus.md). Where it says \"the newest\", change the record once, or import it from an export; a subject that names no record is purged by nats stream purge --subject", func(i int) string {
			m := c.Malformed[i]
			last := ""
			if m.Last {
				last = "; it is the newest of its subject"
			}
			return fmt.Sprintf("%d %s: %s%s", m.Seq, m.Subject, m.Reason, last)
		})
	reservation := func(r resource.Reservation) string {
		return fmt.Sprintf("%s.%s, for %q (%s)", r.Type, r.Field, r.ID, r.Hash)
	}
	section(c.OrphanCount, len(c.Orphans), "unique values that are reserved for records which do not have them",
		"$0 log repair releases them; until then they are free for whoever wants them", func(i int) string { return reservation(c.Orphans[i]) })
	section(c.UnreservedCount, len(c.Unreserved), "unique values of records that are not reserved: another record could take them",
		"$0 log repair reserves them", func(i int) string { return reservation(c.Unreserved[i]) })
	section(c.DanglingCount, len(c.Dangling), "references to records that are not there",
		"change or delete the records that refer, or import the others", func(i int) string { return c.Dangling[i].String() })
	section(c.Records.Flawed, len(c.Records.Findings), "records that do not fit the schema",
		"docs/schema.md, Changing a schema", func(i int) string { return c.Records.Findings[i].String() })
	if c.Backward > 0 {
		fmt.Fprintf(&b, "the time goes back %d times, by %s at most, at %d: see to the clocks of the NATS servers. Nothing depends on it but what clients are told\n", c.Backward, c.BackwardMost.Round(time.Millisecond), c.BackwardSeq)
	}
	fmt.Fprintf(&b, "looked at %d messages up to %d, and %d records\n", c.Messages, c.Seq, c.Records.Records)
	if c.Flaws() == 0 {
		b.WriteString("nothing is wrong\n")
	}
	return b.String()
}

func (l *logs) repair(ctx context.Context, b *bus.Bus) error {
	m, err := l.config.LoadSchema()
	if err != nil {
		return err
	}
	total := 0
	for {
		found, err := resource.CheckLog(ctx, b, m, nil)
		if err != nil {
			return err
		}
		mended, err := resource.RepairLog(ctx, b, m, found, nil)
		if total += mended; err != nil {
			return err
		}
		if mended > 0 && found.OrphanCount+found.UnreservedCount > mended { // not all were named
			continue
		}
		fmt.Fprintf(l.call.Stdout, "mended: %d\n", total)
		if rest := found.Flaws() - mended; rest > 0 {
			return exitError{statusFound, fmt.Errorf("%d flaws need somebody's choice: %s log check names them", rest, l.call.Program)}
		}
		return nil
	}
}

func (l *logs) renew(ctx context.Context, b *bus.Bus) error {
	id, err := b.NewIdentity(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.call.Stdout, "the log is %s now; it was %s\n", id, b.LogID())
	return err
}
