package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// A snapshot is the view's file, as VACUUM writes it anew, so that nothing of
// what was deleted is left in its pages, and compressed. Whoever has no file
// begins with it and reads of the log only what came since.

// SnapshotFormat names what a snapshot is; only those of the same format can be
// restored.
const SnapshotFormat = "sqlite-2-zstd"

// snapshotFile is where a snapshot is made before it leaves.
const snapshotFile = "view.snapshot.db"

// Snapshot is a view as of one position, to be read once: compressed, with a
// checksum. It must be closed.
type Snapshot struct {
	Position uint64
	Bytes    int64 // when unpacked

	*io.PipeReader
	done chan struct{} // closed when nothing writes any more
	end  func() error
}

// Snapshot takes one. Reads and Apply go on meanwhile; another Snapshot waits
// until this one is closed. Until then the disk holds one more file of the view;
// when there is no room for it, the error is ErrUnwritable.
func (v *View) Snapshot(ctx context.Context) (*Snapshot, error) {
	v.snapshots.Lock()
	end := func() error {
		defer v.snapshots.Unlock()
		return v.files.removeSnapshot()
	}
	s, err := v.snapshot(ctx)
	if err != nil {
		return nil, v.failed(ctx, "take a snapshot", errors.Join(err, end()))
	}
	s.end = end
	return s, nil
}

func (v *View) snapshot(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{done: make(chan struct{})}
	var err error
	if s.Position, err = v.vacuum(ctx); err != nil {
		return nil, err
	}
	file, err := os.Open(v.files.path(snapshotFile))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.Bytes = info.Size()
	var into *io.PipeWriter
	s.PipeReader, into = io.Pipe()
	go func() {
		defer close(s.done)
		into.CloseWithError(errors.Join(compress(into, file), file.Close()))
	}()
	return s, nil
}

// Close frees what the snapshot holds.
func (s *Snapshot) Close() error {
	_ = s.PipeReader.Close() // is always nil
	<-s.done
	return s.end()
}

// compress costs little of one processor: speed counts more than size here.
func compress(into io.Writer, file io.Reader) error {
	w, err := zstd.NewWriter(into, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return errors.Join(err, w.Close())
}

// vacuum writes the database anew into the snapshot's file.
func (v *View) vacuum(ctx context.Context) (position uint64, err error) {
	v.filling.Lock() // the file stays in its place
	defer v.filling.Unlock()
	if err := v.Sync(ctx); err != nil {
		return 0, err
	}
	if err := v.files.removeSnapshot(); err != nil {
		return 0, err
	}
	if info, err := os.Stat(v.files.path(dataFile)); err != nil {
		return 0, err
	} else if err := v.files.room(info.Size()); err != nil {
		return 0, err
	}
	s, err := newSession(ctx, v.files.db)
	if err != nil {
		return 0, err
	}
	_, err = s.conn.ExecContext(ctx, "VACUUM INTO ?", v.files.path(snapshotFile))
	if err = errors.Join(err, s.close()); err != nil {
		return 0, err
	}
	position, _, err = v.inspect(ctx, snapshotFile)
	return position, err
}

// inspect returns what a file is at, which nobody uses, or why it is not one of
// this view.
func (v *View) inspect(ctx context.Context, name string) (position uint64, m marks, err error) {
	db, err := openDB(v.files.path(name), "mode=ro")
	if err != nil {
		return 0, m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := newSession(ctx, db)
	if err != nil {
		return 0, m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	reason, err := s.differs(ctx, v.identity)
	if err != nil {
		return 0, m, err
	}
	if reason != "" {
		return 0, m, errors.New(reason)
	}
	return s.reached(ctx)
}

// Restore shows a snapshot in the place of what the view shows. fetch writes it
// into w; unpacked it has so many bytes. Before it is shown, fits may refuse it.
//
// It fails without any effect when the snapshot is damaged, cut short, or not one
// of this schema, log and format, when it is older than what the view shows, and
// when the disk has no room for it.
func (v *View) Restore(ctx context.Context, bytes int64, fetch func(w io.Writer) error, fits func(position uint64, marks []Mark) error) error {
	v.filling.Lock()
	defer v.filling.Unlock()
	err := v.restore(ctx, bytes, fetch, fits)
	if err == nil {
		return nil
	}
	err = errors.Join(err, v.files.removeFresh())
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("restore the view: %w", err) // not v.failed: the view's own file is as it was
}

func (v *View) restore(ctx context.Context, bytes int64, fetch func(w io.Writer) error, fits func(uint64, []Mark) error) error {
	if err := errors.Join(v.files.removeFresh(), v.files.room(bytes)); err != nil {
		return err
	}
	if err := v.unpack(bytes, fetch); err != nil {
		return err
	}
	position, marks, err := v.inspect(ctx, freshFile)
	if err != nil {
		return err
	}
	if err := fits(position, marks.list()); err != nil {
		return err
	}
	return v.install(ctx, position)
}

// maxWindow bounds what unpacking needs of memory; ours has a sixteenth.
const maxWindow = 64 << 20

// unpack writes the fresh file.
func (v *View) unpack(bytes int64, fetch func(w io.Writer) error) (err error) {
	file, err := os.OpenFile(v.files.path(freshFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	packed, into := io.Pipe()
	fetched := make(chan struct{})
	go func() {
		defer close(fetched)
		into.CloseWithError(fetch(into))
	}()
	defer func() {
		_ = packed.Close() // is always nil
		<-fetched
	}()
	r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(file, io.LimitReader(r, bytes+1))
	switch {
	case err != nil:
		return err
	case n != bytes:
		return fmt.Errorf("it has not the %d bytes that it should have", bytes)
	case v.temp:
		return nil
	}
	return file.Sync()
}

// spare is what must be left on a disk.
const spare = 64 << 20

// room is ErrUnwritable when the disk has no room for so many bytes more.
func (f *files) room(bytes int64) error {
	if free, known := freeBytes(f.dir); known && free < bytes+spare {
		return fmt.Errorf("%w: %d MiB are free, and it takes %d", ErrUnwritable, free>>20, (bytes+spare)>>20)
	}
	return nil
}
