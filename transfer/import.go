package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"tidings/bus"
	"tidings/fault"
	"tidings/resource"
	"tidings/schema"
)

// ImportOptions says how records are taken into a log. The zero value refuses what
// is there otherwise.
type ImportOptions struct {
	// OnConflict is what becomes of a record that the log has otherwise; empty:
	// ConflictReplace for an incremental export, which tells of changes, and
	// ConflictFail for any other file.
	OnConflict resource.OnConflict
	// DropUnknown leaves out members that the schema does not have; otherwise they
	// are errors.
	DropUnknown bool
	// Dry finds out what would happen and writes nothing.
	Dry bool
	// Progress is told how far the import has come, often; nil: nobody is.
	Progress func(Progress)
	// Logger; nil means silent.
	Logger *slog.Logger
}

// ImportReport is what an import did.
type ImportReport struct {
	Summary
	// Loaded counts the records by what became of them.
	Loaded map[resource.Loaded]int
}

// maxRefusals is how many lines an error names.
const maxRefusals = 10

// Check reads a file to its end and writes nothing: whether it is whole, and each
// record fits the schema. The error, of ErrFile, names the first lines that do
// not, and the member that is to blame, without its value.
func Check(m *schema.Model, from io.Reader, o ImportOptions) (Summary, error) {
	var wrong []string
	count := 0
	var s Summary
	err := s.scan(from, func(number int, l Line) error {
		if _, err := fit(m, l, o); err != nil {
			if count++; len(wrong) < maxRefusals {
				wrong = append(wrong, fmt.Sprintf("line %d: %s", number, err))
			}
		}
		return nil
	})
	if err == nil && count > 0 {
		if more := count - len(wrong); more > 0 {
			wrong = append(wrong, fmt.Sprintf("and %d more", more))
		}
		err = fmt.Errorf("%w: of %d records %d do not fit the schema; mend these lines, or the schema:\n  %s", ErrFile, s.Records+s.Deleted, count, strings.Join(wrong, "\n  "))
	}
	return s, err
}

func fit(m *schema.Model, l Line, o ImportOptions) (resource.Loadable, error) {
	item, unknown, err := resource.Fit(m, resource.Given{Type: l.Type, ID: l.ID, Record: l.Record, Deleted: l.Deleted})
	if err == nil && len(unknown) > 0 && !o.DropUnknown {
		slices.Sort(unknown)
		err = fmt.Errorf("%s has no field %s; --drop-unknown leaves it out", l.Type, strings.Join(unknown, ", "))
	}
	return item, err
}

// Import writes the records of a file into the log, in batches, and returns after
// the log has acknowledged all of them. It may run beside the service, whose
// clients see what it writes. To import a file again does no harm: what is there
// already is left as it is; so an import that was cut off is run again. An error
// names the line where it stopped; what came before it is in the log.
func Import(ctx context.Context, b *bus.Bus, m *schema.Model, from io.Reader, o ImportOptions) (ImportReport, error) {
	if err := resource.Admit(ctx, b, m, resource.AdmitOptions{Write: !o.Dry, Logger: o.Logger}); err != nil {
		return ImportReport{}, err
	}
	i := &importer{ctx: ctx, bus: b, model: m, options: o, loaded: map[resource.Loaded]int{}, known: map[string]bool{}}
	if i.options.Progress == nil {
		i.options.Progress = func(Progress) {}
	}
	err := i.summary.scan(from, i.line)
	if err == nil {
		err = i.flush()
	}
	if err == nil {
		err = i.rest()
	}
	i.progress()
	return ImportReport{Summary: i.summary, Loaded: i.loaded}, err
}

// importer is one run of Import.
type importer struct {
	ctx     context.Context
	bus     *bus.Bus
	model   *schema.Model
	options ImportOptions
	loader  *resource.Loader
	summary Summary
	loaded  map[resource.Loaded]int
	done    int

	batch []numbered
	size  int
	known map[string]bool // the records of the batch
	// late are records that others are in the way of, which the file may move.
	late []numbered
}

// numbered is a record with its line.
type numbered struct {
	resource.Loadable
	number int
	err    error
}

const (
	// batchBytes bounds what one batch brings to the log.
	batchBytes = 2 << 20
	// maxLate bounds the records that wait for others.
	maxLate = 100_000
)

func (i *importer) line(number int, l Line) error {
	item, err := fit(i.model, l, i.options)
	if err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrFile, number, err)
	}
	name := item.Type + "." + item.ID
	if i.known[name] || len(i.batch) == resource.MaxLoad || i.size > batchBytes {
		if err := i.flush(); err != nil {
			return err
		}
	}
	i.known[name] = true
	i.batch = append(i.batch, numbered{Loadable: item, number: number})
	i.size += item.Size()
	return nil
}

// flush loads the batch.
func (i *importer) flush() error {
	err := i.load(i.batch)
	i.batch, i.size = i.batch[:0], 0
	clear(i.known)
	i.progress()
	return err
}

func (i *importer) progress() { i.options.Progress(Progress{Done: i.done, At: i.summary.Bytes}) }

// load loads records. Those for which another record has a unique value wait
// until all others are done.
func (i *importer) load(batch []numbered) error {
	if len(batch) == 0 {
		return nil
	}
	items := make([]resource.Loadable, len(batch))
	for n, item := range batch {
		items[n] = item.Loadable
	}
	results, err := i.loads().Load(i.ctx, items)
	if err != nil {
		return fmt.Errorf("lines %d to %d: %w; run the import again, it goes on where this one stopped", batch[0].number, batch[len(batch)-1].number, err)
	}
	var failed []numbered
	for n, result := range results {
		switch {
		case result.Err == nil:
			i.loaded[result.Loaded]++
			i.done++
			continue
		case fault.Of(result.Err).Field != "" && len(i.late) < maxLate:
			i.late = append(i.late, numbered{batch[n].Loadable, batch[n].number, result.Err})
			continue
		}
		failed = append(failed, numbered{batch[n].Loadable, batch[n].number, result.Err})
	}
	return i.refuse(failed)
}

// loads is the loader. It is made with the first batch, when it is known of what
// kind the file is.
func (i *importer) loads() *resource.Loader {
	if i.loader == nil {
		if h := i.summary.Header; i.options.OnConflict == "" && h != nil && h.After != "" {
			i.options.OnConflict = resource.ConflictReplace
		}
		i.loader = resource.NewLoader(i.bus, i.model, resource.LoadOptions{OnConflict: i.options.OnConflict, Dry: i.options.Dry, Logger: i.options.Logger})
	}
	return i.loader
}

// rest loads those that waited for others, until none of them gets any further.
func (i *importer) rest() error {
	for len(i.late) > 0 {
		late := i.late
		i.late = nil
		for batch := range slices.Chunk(late, resource.MaxLoad) {
			if err := i.load(batch); err != nil {
				return err
			}
		}
		if len(i.late) == len(late) {
			return i.refuse(i.late)
		}
	}
	return nil
}

// refuse is the error of records that cannot be loaded; nil for none.
func (i *importer) refuse(failed []numbered) error {
	if len(failed) == 0 {
		return nil
	}
	var b strings.Builder
	for n, item := range failed {
		if n == maxRefusals {
			fmt.Fprintf(&b, "\n  and %d more", len(failed)-n)
			break
		}
		fmt.Fprintf(&b, "\n  line %d: %s", item.number, fault.Of(item.err).Message)
	}
	return fmt.Errorf("%w:%s", ErrConflict, b.String())
}

// ErrConflict says that the log has records otherwise than the file.
var ErrConflict = errors.New("the log has it otherwise; --on-conflict=replace takes the file's records, --on-conflict=skip keeps the log's")
