package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tidings/bus"
	"tidings/cmd/internal/boot"
	"tidings/internal/proc"
	"tidings/resource"
	"tidings/schema"
	"tidings/transfer"
)

var importHelp = boot.Help{
	Text: `
Write the records of a file into the log: one that $0 export has written, packed or
not, or lines such as {"type":"User","record":{"id":"u1","name":"Ann"}} from another
system; - is the standard input. Ids, owners, times and numbers stay as they are, and
no defaults are filled in. The service may go on meanwhile, and its clients see what
is written.

A file is read to its end first, and nothing is written unless each record fits the
schema (the standard input is written as it comes). To run an import again does no
harm: what is there already is passed over, so that one that was cut off goes on
where it stopped.

Status: 0 it is done; 1 it is not, and an error names the lines; 2 nothing could be
imported.`,
	Usage: "$0 import FILE [--on-conflict fail|skip|replace] [--drop-unknown] [--dry-run] [--schema DIR] [settings]",
	Examples: `
$0 import notes.jsonl.gz --schema notes --data notes/.tidings --dry-run
TIDINGS_NATS_URL=nats://localhost:4222 $0 import notes.jsonl.gz --schema notes`,
	Flags: []boot.FlagHelp{
		{Name: "--on-conflict WORD", What: "what becomes of a record that the log has otherwise, or has deleted: fail, skip (the log's stays) or replace (the file's counts) (default fail; for an export with --after: replace)"},
		{Name: "--drop-unknown", What: "leave out members that the schema does not have, instead of refusing their records"},
		{Name: "--dry-run", What: "say what would be done, and do nothing"},
		{Name: "--schema DIR", What: "the schema with which the service runs (TIDINGS_SCHEMA; default .)"},
	},
	Settings: boot.Settings(logSettings),
}

// importing is one run of `api import`.
type importing struct {
	file     string
	options  transfer.ImportOptions
	conflict string

	config boot.Config
	call   Call
}

// importCommand is `api import`.
func importCommand(ctx context.Context, call Call) error {
	i := importing{call: call}
	own := words{
		switches: map[string]*bool{"dry-run": &i.options.Dry, "drop-unknown": &i.options.DropUnknown},
		texts:    map[string]*string{"on-conflict": &i.conflict},
	}
	names, rest, help, err := own.take(call.Args)
	switch i.options.OnConflict = resource.OnConflict(i.conflict); {
	case err != nil:
		return exitError{statusUsage, err}
	case help:
		return call.help(importHelp)
	case len(names) != 1:
		return exitError{statusUsage, fmt.Errorf("one file is imported: %[1]s import FILE; see %[1]s import --help", call.Program)}
	case i.conflict != "" && i.options.OnConflict != resource.ConflictFail && i.options.OnConflict != resource.ConflictSkip && i.options.OnConflict != resource.ConflictReplace:
		return exitError{statusUsage, fmt.Errorf("--on-conflict is fail, skip or replace, not %q", i.conflict)}
	}
	i.file = names[0]
	if i.config, err = call.settings(rest); errors.Is(err, boot.ErrHelp) {
		return nil
	} else if err != nil {
		return exitError{statusUsage, err}
	}
	return i.run(ctx)
}

func (i *importing) run(ctx context.Context) error {
	m, err := i.config.LoadSchema()
	if err != nil {
		return exitError{statusUsage, err}
	}
	if i.options.Logger, err = proc.Logger(i.call.Stderr, i.config.LogLevel, true); err != nil {
		return exitError{statusUsage, err}
	}
	bytes, err := i.check(m)
	if err != nil {
		return err
	}
	b, err := i.open(ctx)
	if err != nil {
		return exitError{statusUsage, err}
	}
	bar := newProgress(i.call.Stderr, "imported")
	bar.of, i.options.Progress = bytes, bar.tell
	var r transfer.ImportReport
	err = i.read(func(from io.Reader) (err error) {
		r, err = transfer.Import(ctx, b, m, from, i.options)
		return err
	})
	bar.end()
	i.report(r)
	return errors.Join(err, b.Close(context.WithoutCancel(ctx)))
}

// open opens the log, and makes it unless nothing is to be written.
func (i *importing) open(ctx context.Context) (*bus.Bus, error) {
	if i.options.Dry {
		return i.config.OpenLog(ctx, i.options.Logger)
	}
	return i.config.MakeLog(ctx, i.options.Logger)
}

// check reads the file to its end, and returns the bytes of its records. What
// comes from the standard input can be read once only.
func (i *importing) check(m *schema.Model) (bytes int64, err error) {
	if i.file == "-" {
		return 0, nil
	}
	err = i.read(func(from io.Reader) (err error) {
		s, err := transfer.Check(m, from, i.options)
		bytes = s.Bytes
		return err
	})
	if err != nil {
		err = fmt.Errorf("%w\nnothing was written", err)
	}
	return bytes, err
}

func (i *importing) read(fn func(io.Reader) error) error {
	if i.file == "-" {
		return fn(i.call.Stdin)
	}
	f, err := os.Open(i.file)
	if err != nil {
		return exitError{statusUsage, err}
	}
	defer f.Close()
	if err := fn(f); err != nil {
		return fmt.Errorf("%s: %w", i.file, err)
	}
	return nil
}

// report says what became of the records.
func (i *importing) report(r transfer.ImportReport) {
	var parts []string
	for _, what := range []resource.Loaded{resource.LoadedNew, resource.LoadedReplaced, resource.LoadedDeleted, resource.LoadedSame, resource.LoadedSkipped} {
		if n := r.Loaded[what]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	verb := "imported"
	if i.options.Dry {
		verb = "would be imported"
	}
	fmt.Fprintf(i.call.Stdout, "%s: %s\n", verb, strings.Join(parts, ", "))
}
