package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The files of a view's directory.
const (
	dataFile      = "view.db"
	lockFile      = "view.lock"    // a database of its own whose lock is the directory's
	condemnedFile = "view.damaged" // present: the next Open builds anew
	freshFile     = "view.new.db"  // built beside the other, whose place it takes when it is finished
)

// format is the version of the tables' layout, kept as SQLite's user_version.
// Raise it whenever a view written by older code cannot be read by newer.
const format = 2

// files is a locked directory and the database in it.
type files struct {
	dir  string
	temp bool    // nothing outlives the process, so nothing need reach the disk
	held *sql.DB // holds the lock; the operating system frees it with the process
	db   *sql.DB // nil before openWriter
}

// identity is what a view is a view of.
type identity struct{ fingerprint, logID string }

// lock takes the directory for this process, and for this View within it.
func lock(ctx context.Context, dir string) (*files, error) {
	db, err := openDB(filepath.Join(dir, lockFile), "_pragma=busy_timeout(0)", "_pragma=locking_mode(exclusive)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE"); err == nil {
		return &files{dir: dir, held: db}, nil
	}
	if code(err) == sqlite3.SQLITE_BUSY {
		err = errors.New("another process uses this directory: give each process a data directory of its own, or stop the other one first")
	}
	return nil, errors.Join(err, db.Close())
}

// Remove deletes a view that nobody needs any more, and its directory. It fails,
// and deletes nothing, while a process uses it and where there is no view; what
// else lies in the directory stays, and is an error.
func Remove(ctx context.Context, dir string) error {
	if err := remove(ctx, dir); err != nil {
		return fmt.Errorf("remove the view in %s: %w", dir, err)
	}
	return nil
}

func remove(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err == nil {
		f, err := lock(ctx, dir)
		if err != nil {
			return err
		}
		if err := errors.Join(f.removeData(), f.removeFresh(), f.removeSnapshot(), f.remove(lockFile), f.close()); err != nil {
			return err
		}
	}
	return os.Remove(dir) // when it is empty
}

// removeData deletes the database, which is not open.
func (f *files) removeData() error {
	return f.remove(dataFile, dataFile+"-wal", dataFile+"-shm", condemnedFile)
}

// removeFresh deletes what an interrupted build left.
func (f *files) removeFresh() error { return f.remove(freshFile, freshFile+"-journal") }

func (f *files) removeSnapshot() error { return f.remove(snapshotFile, snapshotFile+"-journal") }

func (f *files) remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func openDB(path string, settings ...string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}
	for _, s := range settings {
		name.RawQuery += s + "&"
	}
	return sql.Open("sqlite", name.String())
}

// openWriter opens the database, after building it anew when it is of no use.
func (f *files) openWriter(ctx context.Context, want identity, tables map[string]*table, log *slog.Logger) (*session, error) {
	if err := errors.Join(f.removeFresh(), f.removeSnapshot()); err != nil {
		return nil, err
	}
	reason := ""
	if _, err := os.Stat(f.path(condemnedFile)); err == nil {
		reason = "it was found damaged"
	} else if _, err := os.Stat(f.path(dataFile)); err != nil {
		reason = "there is none yet"
	} else if f.cutShort() {
		reason = "its end is missing"
	} else {
		s, why, err := f.reopen(ctx, want)
		if s != nil || err != nil {
			return s, err
		}
		reason = why
	}
	log.InfoContext(ctx, "building the view from the log", "reason", reason, "dir", f.dir)
	return f.build(ctx, want, tables)
}

// pageSize is SQLite's own.
const pageSize = 4096

// cutShort reports whether the last page is not whole, which SQLite takes for
// one that ends in zeros. While there is a write-ahead log that is no wonder.
func (f *files) cutShort() bool {
	_, err := os.Stat(f.path(dataFile + "-wal"))
	info, dataErr := os.Stat(f.path(dataFile))
	return errors.Is(err, os.ErrNotExist) && dataErr == nil && info.Size()%pageSize != 0
}

// reopen opens the database as it is. It returns no session and the reason why
// when the database must be built anew.
func (f *files) reopen(ctx context.Context, want identity) (*session, string, error) {
	s, err := f.connect(ctx)
	if err == nil {
		var reason string
		if reason, err = s.differs(ctx, want); err == nil && reason == "" {
			return s, "", nil
		} else if err == nil {
			return nil, reason, errors.Join(s.close(), f.closeDB())
		}
		err = errors.Join(err, s.close())
	}
	if closeErr := f.closeDB(); !useless(err) || ctx.Err() != nil {
		return nil, "", errors.Join(err, closeErr)
	}
	return nil, "it cannot be read: " + err.Error(), nil
}

// build removes the database and makes an empty one at position 0.
func (f *files) build(ctx context.Context, want identity, tables map[string]*table) (*session, error) {
	if err := f.removeData(); err != nil {
		return nil, err
	}
	s, err := f.connect(ctx)
	if err != nil {
		return nil, errors.Join(err, f.closeDB())
	}
	if err := s.create(ctx, want, tables); err != nil {
		return nil, errors.Join(err, s.close(), f.closeDB())
	}
	return s, nil
}

// connect opens the database and the writing connection. With WAL and
// synchronous=NORMAL a crash, even of the operating system, may cost the newest
// transactions but never leaves a torn one: position and records agree. What is
// deleted is overwritten: the file must not tell what the log has erased.
func (f *files) connect(ctx context.Context) (s *session, err error) {
	f.db, err = openDB(f.path(dataFile), "_pragma=busy_timeout(5000)", "_pragma=cache_size(-16000)")
	if err != nil {
		return nil, err
	}
	safety := "NORMAL"
	if f.temp {
		safety = "OFF"
	}
	return newSession(ctx, f.db, "PRAGMA journal_mode=WAL", "PRAGMA synchronous="+safety, "PRAGMA wal_autocheckpoint=2000", "PRAGMA busy_timeout=250", "PRAGMA secure_delete=ON")
}

// openReader opens one of so many connections that read.
func (f *files) openReader(ctx context.Context, count int) (*session, error) {
	cache := max(readCache/count, 2<<10)
	return newSession(ctx, f.db, "PRAGMA query_only=ON", fmt.Sprintf("PRAGMA cache_size=-%d", cache))
}

// readCache is how many KiB of pages all readers keep together, on machines with
// few cores; it is not much, since the system keeps the file's pages as well.
const readCache = 48 << 10

// condemn makes the next Open build the view anew.
func (f *files) condemn() error {
	return os.WriteFile(f.path(condemnedFile), nil, 0o640)
}

func (f *files) close() error { return errors.Join(f.closeDB(), f.held.Close()) }

func (f *files) closeDB() error {
	if f.db == nil {
		return nil
	}
	err := f.db.Close()
	f.db = nil
	return err
}

func (f *files) path(name string) string { return filepath.Join(f.dir, name) }

// differs says in words why the database is not a view of what is wanted;
// empty when it is.
func (s *session) differs(ctx context.Context, want identity) (string, error) {
	var version int
	if err := s.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return "", err
	}
	if version != format {
		return fmt.Sprintf("its format is %d, not %d", version, format), nil
	}
	var have identity
	err := s.conn.QueryRowContext(ctx, "SELECT fingerprint, log FROM meta").Scan(&have.fingerprint, &have.logID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "it was never finished", nil
	case err != nil:
		return "", err
	case have.fingerprint != want.fingerprint:
		return "the schema changed", nil
	case have.logID != want.logID:
		return "the log is another one", nil
	}
	return "", nil
}

// create makes the tables of an empty view.
func (s *session) create(ctx context.Context, want identity, tables map[string]*table) error {
	return s.transact(ctx, func(ctx context.Context) error {
		if err := s.tabulate(ctx, tables); err != nil {
			return err
		}
		if err := s.index(ctx, tables); err != nil {
			return err
		}
		return s.finish(ctx, want, 0, new(marks))
	})
}

// tabulate makes the tables, without indexes.
func (s *session) tabulate(ctx context.Context, tables map[string]*table) error {
	statements := []string{
		fmt.Sprintf("PRAGMA user_version=%d", format),
		"CREATE TABLE meta (fingerprint TEXT NOT NULL, log TEXT NOT NULL, position INTEGER NOT NULL, marks TEXT NOT NULL)",
	}
	for _, t := range tables {
		statements = append(statements, t.create())
	}
	return s.all(ctx, statements)
}

func (s *session) index(ctx context.Context, tables map[string]*table) error {
	for _, t := range tables {
		if err := s.all(ctx, t.index()); err != nil {
			return err
		}
	}
	return nil
}

// finish says what the database is a view of. One without that was never finished.
func (s *session) finish(ctx context.Context, what identity, position uint64, m *marks) error {
	_, err := s.conn.ExecContext(ctx, "INSERT INTO meta VALUES (?, ?, ?, ?)", what.fingerprint, what.logID, int64(position), m.encode())
	return err
}

func (s *session) all(ctx context.Context, statements []string) error {
	for _, q := range statements {
		if _, err := s.conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

func (s *session) position(ctx context.Context) (uint64, error) {
	var n int64
	err := s.conn.QueryRowContext(ctx, "SELECT position FROM meta").Scan(&n)
	return uint64(n), err
}

// reached returns the position and the marks.
func (s *session) reached(ctx context.Context) (position uint64, m marks, err error) {
	var n int64
	var text string
	if err = s.conn.QueryRowContext(ctx, "SELECT position, marks FROM meta").Scan(&n, &text); err == nil {
		err = m.decode(text)
	}
	return uint64(n), m, err
}

// code returns SQLite's primary result code, 0 for an error that is not SQLite's.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// damaged reports whether the file's content is at fault.
func damaged(err error) bool {
	return code(err) == sqlite3.SQLITE_CORRUPT || code(err) == sqlite3.SQLITE_NOTADB
}

// unwritable reports whether the disk is at fault, which may mend itself.
func unwritable(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return true
	}
	return errors.Is(err, syscall.ENOSPC)
}

// useless reports whether the database is damaged or not a view's at all, as
// opposed to out of reach for now.
func useless(err error) bool {
	return damaged(err) || code(err) == sqlite3.SQLITE_ERROR || code(err) == sqlite3.SQLITE_FORMAT
}
