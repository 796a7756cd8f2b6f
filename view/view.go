// Package view holds what the log says now, in SQL, indexed for reading.
//
// It is a process's own disposable copy: each record as the raw JSON that the
// log carried, and beside it one column for each field that may be filtered or
// ordered by. It can be deleted at any time and is filled again from the log.
//
// It does not know the bus, who may read what (a query can be narrowed to one
// owner, and that is all), or what a record means beyond the types of its
// indexed fields. It is the door to database/sql and to modernc.org/sqlite.
package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"tidings/fault"
	"tidings/schema"
)

var (
	// ErrDamaged says that the view's file cannot be read. Fill mends it, and so
	// does the next Open.
	ErrDamaged = errors.New("the view's file is damaged")
	// ErrUnwritable says that the disk does not take what the view would write:
	// as a rule it is full. Nothing is lost, and it is tried again.
	ErrUnwritable = errors.New("the view's file cannot be written: is the disk full?")
)

// ErrClosed is returned by every method of a View after Close.
var ErrClosed = errors.New("the view is closed")

// Options of Open. The zero value is a view that nothing of remains after Close.
type Options struct {
	// Dir holds the view's files; it is created when missing. Only one process
	// may use it at a time. Empty: a temporary directory, removed by Close.
	Dir string
	// Memory is how many bytes of records and pages that are read again are
	// kept in memory. Zero means 64 MiB, less than zero none.
	Memory int
	// Logger is told when and why a view is built anew; nil is silent.
	Logger *slog.Logger
}

// View answers reads from the records that Apply was given. All methods may be
// called concurrently. A read by id never waits for Apply nor Apply for it; one
// that needs SQL waits until the changes of its types are in the file. There are max(2, GOMAXPROCS) readers: further reads wait for a free one, as
// long as their context allows.
//
// A failure that the caller's input is to blame for is a fault.BadUserInput; a
// context that ended comes back as its own error; every other error is foreign.
type View struct {
	tables map[string]*table
	log    *slog.Logger
	dir    string
	temp   bool // dir is ours to remove

	position  atomic.Uint64
	memory    *memory    // nil: nothing is remembered
	apply     sync.Mutex // one Apply at a time; guards before and marks
	marks     marks
	before    *session   // reads what is about to change
	filling   sync.Mutex // one file at a time is built beside
	snapshots sync.Mutex // held while a snapshot is open

	behind  behind
	some    chan struct{} // holds a token when the file lacks something
	written atomic.Uint64 // the position of the file
	hurry   atomic.Int32  // how many wait for the file, or write for themselves
	writers sync.WaitGroup

	damaged  chan struct{} // holds a token when the file was found damaged
	identity identity
	files    *files
	writing  chan struct{} // holds a token for the one who may use writer and walLimit
	writer   *session
	walLimit int64 // 0: maxWAL

	readers   chan *session // the free ones
	count     int           // of all readers
	connected bool          // there are readers and a writer; whoever holds all of writing and readers may change it
	closing   sync.Once
	closed    chan struct{}
}

// Open opens the view of the log with the given identity, or builds an empty
// one at position 0 when there is none, when it shows another log, another
// model or an older format, or when its file is damaged. The reason is logged.
//
// It fails when the directory cannot be written or another process uses it.
// The caller closes the view. The model must not change while it is open.
func Open(ctx context.Context, model *schema.Model, logID string, opts Options) (*View, error) {
	v := &View{
		tables:  newTables(model, sqliteDialect{}),
		log:     opts.Logger,
		dir:     opts.Dir,
		closed:  make(chan struct{}),
		some:    make(chan struct{}, 1),
		writing: make(chan struct{}, 1),
		damaged: make(chan struct{}, 1),
		behind:  behind{waiting: newLayer(0)},
		count:   max(2, runtime.GOMAXPROCS(0)),
		memory:  newMemory(cmp.Or(opts.Memory, 64<<20)),
	}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	if err := v.makeDir(); err != nil {
		return nil, fmt.Errorf("open view: %w", err)
	}
	v.identity = identity{fingerprint: model.Fingerprint, logID: logID}
	v.readers = make(chan *session, v.count)
	if err := v.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open view in %s: %w", v.dir, err), v.release())
	}
	return v, nil
}

func (v *View) makeDir() (err error) {
	if v.dir != "" {
		return os.MkdirAll(v.dir, 0o750)
	}
	v.temp = true
	v.dir, err = os.MkdirTemp("", "tidings-view-")
	return err
}

func (v *View) open(ctx context.Context) (err error) {
	if v.files, err = lock(ctx, v.dir); err != nil {
		return err
	}
	v.files.temp = v.temp
	if v.writer, err = v.files.openWriter(ctx, v.identity, v.tables, v.log); err != nil {
		return err
	}
	if err := v.connect(ctx); err != nil {
		return err
	}
	v.writers.Go(v.writeBehind)
	return nil
}

// connect opens what reads the file that writer writes, and takes its position.
func (v *View) connect(ctx context.Context) (err error) {
	position, marks, err := v.writer.reached(ctx)
	if err != nil {
		return err
	}
	if v.before, err = v.files.openReader(ctx, v.count+1); err != nil {
		return err
	}
	readers := make([]*session, 0, v.count)
	for range v.count {
		r, err := v.files.openReader(ctx, v.count+1)
		if err != nil {
			for _, r := range readers {
				err = errors.Join(err, r.close())
			}
			return err
		}
		readers = append(readers, r)
	}
	v.marks = marks
	v.written.Store(position)
	v.position.Store(position)
	for _, r := range readers {
		v.readers <- r
	}
	v.connected = true
	return nil
}

// Condemn makes the next Open build the view anew. It is for those who learn
// that the log no longer holds what the view shows.
func (v *View) Condemn() error { return v.files.condemn() }

// Position returns the sequence that the view has reached: it shows every
// change of the log up to it and none after it.
func (v *View) Position() uint64 { return v.position.Load() }

// Close waits for the calls that are running, writes what the file lacks and
// lets go of every file. A second call does nothing.
func (v *View) Close() (err error) {
	v.closing.Do(func() {
		close(v.closed)
		v.writers.Wait()
		v.apply.Lock()
		defer v.apply.Unlock()
		v.writing <- struct{}{} // for good
		if !v.temp && v.connected {
			err = v.writeAll(context.Background())
		}
		if v.connected {
			for range v.count {
				err = errors.Join(err, (<-v.readers).close())
			}
		}
		if err = errors.Join(err, v.release()); err != nil {
			err = fmt.Errorf("close view: %w", err)
		}
	})
	return err
}

// release lets go of whatever Open had got hold of. No call is running.
func (v *View) release() (err error) {
	for len(v.readers) > 0 {
		err = errors.Join(err, (<-v.readers).close())
	}
	if v.before != nil {
		err = errors.Join(err, v.before.close())
	}
	if v.writer != nil {
		err = errors.Join(err, v.writer.close())
	}
	if v.files != nil {
		err = errors.Join(err, v.files.close())
	}
	if v.temp {
		err = errors.Join(err, os.RemoveAll(v.dir))
	}
	return err
}

// reader takes a free reader; giveBack returns it.
func (v *View) reader(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-v.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case r := <-v.readers:
		return r, nil
	case <-v.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (v *View) giveBack(r *session) { v.readers <- r }

// table returns the table of a resource.
func (v *View) table(typ string) (*table, error) {
	t := v.tables[typ]
	if t == nil {
		return nil, fmt.Errorf("the model has no resource %q", typ)
	}
	return t, nil
}

// Damaged holds a token when the file was found damaged since it was asked last.
func (v *View) Damaged() <-chan struct{} { return v.damaged }

// failed names what was being done, lets a context's end show as itself, and
// tells Damaged, and by a mark the next Open, when the file turned out to be
// damaged. What is wrong with the file is UNAVAILABLE.
func (v *View) failed(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if damaged(err) || errors.Is(err, errAway) {
		err = errors.Join(ErrDamaged, err, v.files.condemn())
		select {
		case v.damaged <- struct{}{}:
		default:
		}
		return fault.Wrap(fmt.Errorf("%s: %w", doing, err), fault.Unavailable, "the records cannot be read just now")
	}
	if unwritable(err) {
		return fault.Wrap(fmt.Errorf("%s: %w", doing, errors.Join(ErrUnwritable, err)), fault.Unavailable, "the newest records cannot be read just now")
	}
	return fmt.Errorf("%s: %w", doing, err)
}
