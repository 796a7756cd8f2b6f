package view

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
)

// maxStatements bounds the prepared statements that one connection keeps.
const maxStatements = 256

// session is one connection with the statements prepared on it. Only one
// goroutine at a time may use it.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(ctx context.Context, db *sql.DB, settings ...string) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range settings {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", q, err), conn.Close())
		}
	}
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// prepared returns the statement, prepared on first use. When too many are
// kept, one goes: which one is chance, so a hot one is seldom missed for long.
func (s *session) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := s.stmts[query]; stmt != nil {
		return stmt, nil
	}
	if len(s.stmts) >= maxStatements {
		for q, stmt := range s.stmts {
			if err := stmt.Close(); err != nil {
				return nil, err
			}
			delete(s.stmts, q)
			break
		}
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.stmts[query] = stmt
	return stmt, nil
}

func (s *session) exec(ctx context.Context, query string, args ...any) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, args...)
	return err
}

// query calls fn for each row; fn scans it.
func (s *session) query(ctx context.Context, query string, args []any, fn func(scan func(...any) error) error) error {
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// number reads a statement's one number.
func (s *session) number(ctx context.Context, query string, args []any) (n int, err error) {
	err = s.query(ctx, query, args, func(scan func(...any) error) error { return scan(&n) })
	return n, err
}

// transact runs fn in a transaction that writes, and undoes it when fn fails.
func (s *session) transact(ctx context.Context, fn func(context.Context) error) error {
	return s.between(ctx, "BEGIN IMMEDIATE", fn)
}

// snapshot runs fn so that all its reads see the same state.
func (s *session) snapshot(ctx context.Context, fn func(context.Context) error) error {
	return s.between(ctx, "BEGIN", fn)
}

func (s *session) between(ctx context.Context, begin string, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	always := context.WithoutCancel(ctx) // a transaction never stays open
	if err := s.exec(always, begin); err != nil {
		return err
	}
	err := fn(ctx)
	if err == nil {
		if err = s.exec(always, "COMMIT"); err == nil {
			return nil
		}
	}
	// SQLITE_ERROR: SQLite has already rolled back by itself
	if undo := s.exec(always, "ROLLBACK"); undo != nil && code(undo) != sqlite3.SQLITE_ERROR {
		err = errors.Join(err, undo)
	}
	return err
}

func (s *session) close() (err error) {
	for _, stmt := range s.stmts {
		err = errors.Join(err, stmt.Close())
	}
	return errors.Join(err, s.conn.Close())
}
