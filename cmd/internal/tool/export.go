package tool

import (
	"bufio"
	"compress/gzip"
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
	"tidings/transfer"
)

// statusPartial says that an export is whole, but not all that one may expect.
const statusPartial = 3

var exportHelp = boot.Help{
	Text: `
Write all records, as the log says at one position, as lines of JSON: docs/operations.md,
Export and import. The service may go on meanwhile. Nothing is written to the log.

Status: 0 it is done; 1 it is not; 2 nothing could be exported; 3 it is done, but the
log holds messages that are no records, or did not keep some records as they were at
the position: the file has them as they were after it.`,
	Usage: "$0 export [--out FILE] [--type T]… [--after POSITION] [--resume] [settings]",
	Examples: `
$0 export --data notes/.tidings --out notes.jsonl.gz
$0 export --data notes/.tidings --type Note | head -3
$0 export --data notes/.tidings --out changes.jsonl --after dg4wqjkb1k8-2s`,
	Flags: []boot.FlagHelp{
		{Name: "--out FILE", What: "where it is written, packed when the name ends in .gz; -: the standard output. FILE.part is there until it is whole (default -)"},
		{Name: "--type NAME", What: "records of this type alone; may be given several times (default all)"},
		{Name: "--after POSITION", What: "what was changed or deleted since a position alone, such as the first line of an export has"},
		{Name: "--resume", What: "go on with the FILE.part that an export has left which was cut off"},
		{Name: "--schema DIR", What: "the schema: refuses types that it does not have, and is named in the file"},
	},
	Settings: boot.Settings(logSettings),
}

// exporting is one run of `api export`.
type exporting struct {
	out    string
	types  []string
	after  string
	resume bool

	config boot.Config
	call   Call
}

// exportCommand is `api export`.
func exportCommand(ctx context.Context, call Call) error {
	e := exporting{out: "-", call: call}
	own := words{switches: map[string]*bool{"resume": &e.resume}, texts: map[string]*string{"out": &e.out, "after": &e.after}, lists: map[string]*[]string{"type": &e.types}}
	names, rest, help, err := own.take(call.Args)
	switch {
	case err != nil:
		return exitError{statusUsage, err}
	case help:
		return call.help(exportHelp)
	case len(names) > 0:
		return exitError{statusUsage, fmt.Errorf("unknown argument %q; the file is named by --out FILE: see %s export --help", names[0], call.Program)}
	case e.resume && e.out == "-":
		return exitError{statusUsage, errors.New("--resume goes on with a file: name it with --out FILE")}
	}
	if e.config, err = call.settings(rest); errors.Is(err, boot.ErrHelp) {
		return nil
	} else if err != nil {
		return exitError{statusUsage, err}
	}
	return e.run(ctx)
}

func (e *exporting) run(ctx context.Context) error {
	o, err := e.options()
	if err != nil {
		return exitError{statusUsage, err}
	}
	o.Logger, err = proc.Logger(e.call.Stderr, e.config.LogLevel, true)
	if err != nil {
		return exitError{statusUsage, err}
	}
	b, err := e.config.OpenLog(ctx, o.Logger)
	if err != nil {
		return exitError{statusUsage, err}
	}
	bar := newProgress(e.call.Stderr, "exported")
	o.Progress = bar.tell
	r, err := e.write(ctx, b, o)
	bar.end()
	if err := errors.Join(err, b.Close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	return e.report(r)
}

// options reads what the words say.
func (e *exporting) options() (transfer.Options, error) {
	o := transfer.Options{Types: e.types}
	if e.after != "" {
		after, err := resource.ParsePosition(e.after)
		if err != nil {
			return o, fmt.Errorf("--after %s is no position; it looks like dg4wqjkb1k8-2s, and the first line of an export has it", e.after)
		}
		o.After = &after
	}
	if e.config.Schema == "." { // nobody has named one
		return o, nil
	}
	m, err := e.config.LoadSchema()
	if err != nil {
		return o, err
	}
	o.Schema = m.Fingerprint
	for _, t := range e.types {
		if m.Resource(t) == nil {
			return o, fmt.Errorf("--type %s: the schema has no such resource", t)
		}
	}
	return o, nil
}

// write exports into the file. It has its name when it is whole; until then it is
// FILE.part, and what a resumed export copies is FILE.part.new until it is there.
func (e *exporting) write(ctx context.Context, b *bus.Bus, o transfer.Options) (transfer.Report, error) {
	if e.out == "-" {
		return transfer.Export(ctx, b, e.call.Stdout, o)
	}
	if _, err := os.Stat(e.out); err == nil {
		return transfer.Report{}, exitError{statusUsage, fmt.Errorf("%s is there already: choose another name, or remove it", e.out)}
	}
	part := e.out + ".part"
	old, err := os.Open(part)
	switch {
	case err == nil && !e.resume:
		old.Close()
		return transfer.Report{}, exitError{statusUsage, fmt.Errorf("%s was left by an export that was cut off: go on with it by --resume, or remove it", part)}
	case err != nil && e.resume:
		return transfer.Report{}, exitError{statusUsage, fmt.Errorf("there is nothing to resume: %w", err)}
	case err != nil:
		return e.into(part, part, func(to io.Writer, _ func() error) (transfer.Report, error) { return transfer.Export(ctx, b, to, o) })
	}
	defer old.Close()
	_ = os.Remove(part + ".new") // what an attempt before this one has left; what cannot go is found below
	return e.into(part+".new", part, func(to io.Writer, copied func() error) (transfer.Report, error) {
		o.Resumed = copied
		return transfer.Resume(ctx, b, old, to, o)
	})
}

// into makes a file, which is called part from when copied is called on, and has
// its own name when fn has ended well. It is nobody's but the owner's: one that
// somebody else has put there is not written to.
func (e *exporting) into(name, part string, fn func(to io.Writer, copied func() error) (transfer.Report, error)) (transfer.Report, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return transfer.Report{}, exitError{statusUsage, err}
	}
	var to interface {
		io.WriteCloser
		Flush() error
	} = buffered{bufio.NewWriterSize(f, 1<<16)}
	if strings.HasSuffix(e.out, ".gz") {
		to = gzip.NewWriter(f)
	}
	r, err := fn(to, func() error {
		if err := to.Flush(); err != nil {
			return err
		}
		err := os.Rename(name, part)
		name = part
		return err
	})
	err = errors.Join(err, to.Close(), f.Sync(), f.Close())
	if errors.Is(err, transfer.ErrFinished) { // it was cut off just before it had its name
		return r, errors.Join(os.Remove(name), os.Rename(part, e.out))
	}
	switch {
	case err != nil && name != part: // nothing came of it, and what there was is still there
		return r, errors.Join(err, os.Remove(name))
	case err != nil:
		return r, fmt.Errorf("%w; --resume goes on with what there is", err)
	}
	return r, os.Rename(name, e.out)
}

// buffered is a file's writer.
type buffered struct{ *bufio.Writer }

// Close writes what waits.
func (b buffered) Close() error { return b.Flush() }

// report says what was written, on stderr: the records may be on stdout.
func (e *exporting) report(r transfer.Report) error {
	t := r.Trailer
	fmt.Fprintf(e.call.Stderr, "exported %d records and %d deletions as of position %s\n", t.Records, t.Deleted, r.Header.Position)
	for _, typ := range e.types {
		if t.Types[typ] == 0 {
			fmt.Fprintf(e.call.Stderr, "there are none of the type %s\n", typ)
		}
	}
	switch {
	case t.Newer > 0:
		return exitError{statusPartial, fmt.Errorf("%d records are in the file as they were after %s, because the log no longer kept what they were then (--history); messages of the log that are no records: %d", t.Newer, r.Header.Position, t.Malformed)}
	case t.Malformed > 0:
		return exitError{statusPartial, fmt.Errorf("the log holds %d messages that are no records, named above; the file has the records as they were before them. See %s log check", t.Malformed, e.call.Program)}
	}
	return nil
}
