package view

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
)

// A view that is behind by much is built anew beside the file that is in use:
// each record is written once, as it is now, and the indexes are made after all
// records are there. Nothing is synced but the end, and nothing can be undone: a
// build that does not get there is thrown away, and the file in use stays.

// errAway says that a new file could not be put into its place.
var errAway = errors.New("the view has no file, and must be filled again")

// Source hands the newest change of each record to add, each record once and in
// any order, and returns add's error.
type Source func(add func([]Change) error) error

// Fill builds the view anew from what source hands over and then shows it, at
// position upto, in the place of what it showed. Meanwhile reads show that. It
// costs a fraction of as many changes by Apply, and the disk holds both files
// while it runs.
//
// It fails without any effect when source does, when a record is not a JSON
// object or comes twice, when upto lies before the position, and when the disk
// is full. When it fails in the moment that puts the file into its place, reads
// that need the file wait until a further Fill succeeds or the view is closed.
func (v *View) Fill(ctx context.Context, upto uint64, source Source) error {
	v.filling.Lock()
	defer v.filling.Unlock()
	err := v.fill(ctx, upto, source)
	if err == nil {
		return nil
	}
	return v.failed(ctx, "build the view", errors.Join(err, v.files.removeFresh()))
}

func (v *View) fill(ctx context.Context, upto uint64, source Source) error {
	if err := v.files.removeFresh(); err != nil {
		return err
	}
	db, err := openDB(v.files.path(freshFile))
	if err != nil {
		return err
	}
	s, err := newSession(ctx, db, "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA locking_mode=EXCLUSIVE", "PRAGMA cache_size=-32000")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	var seen marks
	if err = v.pour(ctx, s, &seen, source); err == nil {
		// The end is the one thing that is synced: with it all the rest is.
		if err = s.all(ctx, []string{"PRAGMA synchronous=FULL"}); err == nil {
			err = s.finish(ctx, v.identity, upto, &seen)
		}
	}
	if err = errors.Join(err, s.close(), db.Close()); err != nil {
		return err
	}
	return v.install(ctx, upto)
}

// rowsAtOnce is how many records the one who writes gets at a time; a few such
// lots may wait.
const rowsAtOnce = 500

// pour writes all records and then makes their indexes. One goroutine takes the
// records apart while another one writes.
func (v *View) pour(ctx context.Context, s *session, seen *marks, source Source) error {
	if err := s.all(ctx, []string{"BEGIN"}); err != nil {
		return err
	}
	if err := s.tabulate(ctx, v.tables); err != nil {
		return err
	}
	lots := make(chan []row, 4)
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(lots)
		return source(func(changes []Change) error {
			for i := range changes {
				if changes[i].Seq > seen[0].Seq {
					seen.add(&changes[i])
				}
			}
			return v.takeApart(running, changes, lots)
		})
	})
	g.Go(func() error {
		for lot := range lots {
			for _, r := range lot {
				if err := s.exec(running, r.table.insert, r.args...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if err := s.index(ctx, v.tables); err != nil {
		return err
	}
	return s.all(ctx, []string{"COMMIT"})
}

func (v *View) takeApart(ctx context.Context, changes []Change, lots chan<- []row) error {
	rows := make([]row, 0, rowsAtOnce)
	for i := range changes {
		t := v.tables[changes[i].Type]
		if t == nil || changes[i].Raw == nil {
			continue
		}
		r, err := t.row(changes[i])
		if err != nil {
			return fmt.Errorf("change %d of %s %q: %w", changes[i].Seq, changes[i].Type, changes[i].ID, err)
		}
		rows = append(rows, r)
		if len(rows) < rowsAtOnce && i < len(changes)-1 {
			continue
		}
		select {
		case lots <- rows:
			rows = make([]row, 0, rowsAtOnce)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// install puts the finished file in the place of the one in use. Reads that run
// end first, others wait for it; so does Apply.
func (v *View) install(ctx context.Context, upto uint64) error {
	v.apply.Lock()
	defer v.apply.Unlock()
	if position := v.position.Load(); upto < position {
		return fmt.Errorf("it shows %d, and would be at %d", position, upto)
	}
	idle, err := v.halt(ctx)
	if err != nil {
		return err
	}
	defer func() { <-v.writing }()
	if err := v.disconnect(idle); err != nil {
		return err
	}
	if err := v.files.adopt(); err != nil {
		return err
	}
	for _, t := range v.tables {
		t.changing.Store(upto)
	}
	v.memory.forget(upto)
	v.behind.leave()
	v.behind.left(nil) // the new file has it
	if v.writer, err = v.files.connect(ctx); err != nil {
		return errors.Join(err, v.files.closeDB())
	}
	return v.connect(ctx)
}

// halt takes the turn to write and all readers.
func (v *View) halt(ctx context.Context) (idle []*session, err error) {
	back := func() {
		for _, r := range idle {
			v.readers <- r
		}
	}
	for v.connected && len(idle) < v.count {
		r, err := v.reader(ctx)
		if err != nil {
			back()
			return nil, err
		}
		idle = append(idle, r)
	}
	select {
	case v.writing <- struct{}{}:
		return idle, nil
	case <-v.closed:
		back()
		return nil, ErrClosed
	case <-ctx.Done():
		back()
		return nil, ctx.Err()
	}
}

// disconnect closes the file in use.
func (v *View) disconnect(readers []*session) (err error) {
	v.connected = false
	for _, r := range readers {
		err = errors.Join(err, r.close())
	}
	for _, s := range []*session{v.before, v.writer} {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}
	v.before, v.writer = nil, nil
	return errors.Join(err, v.files.closeDB())
}

// adopt makes the fresh file the view's own.
func (f *files) adopt() error {
	if err := f.removeData(); err != nil {
		return err
	}
	if err := os.Rename(f.path(freshFile), f.path(dataFile)); err != nil {
		return err
	}
	if f.temp {
		return nil
	}
	dir, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
