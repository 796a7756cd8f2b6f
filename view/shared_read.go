package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidings/fault"
	"tidings/internal/sleep"
)

// The states of SQL (PostgreSQL's documentation, appendix A) that mean something here.
const (
	undefinedTable        = "42P01"
	undefinedSchema       = "3F000"
	insufficientPrivilege = "42501"
	queryCanceled         = "57014"
)

func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isAway reports whether the database was at fault for being out of reach: what
// failed may be tried again.
func isAway(err error) bool {
	if code := sqlState(err); code != "" {
		_, connecting := errors.AsType[*pgconn.ConnectError](err)
		// 08: the connection; 57P: the server stops or starts; 53: it has no room;
		// 40: it undid the transaction; 42, 3F: the tables are being built anew.
		for _, class := range []string{"08", "57P", "53", "40", undefinedTable, undefinedSchema} {
			connecting = connecting || strings.HasPrefix(code, class)
		}
		return connecting
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

const (
	// patience is how long a read waits for a database that is away: a restart
	// takes less as a rule.
	patience = 3 * time.Second
	// readAgain is how often it tries.
	readAgain = 50 * time.Millisecond
)

// errBehind: the tables show less than was told.
var errBehind = errors.New("it shows less than was told already, and is catching up with the log")

// read runs fn with a connection, again when the database was away meanwhile.
func (s *Shared) read(ctx context.Context, doing string, fn func(context.Context, *reading) error) error {
	start := time.Now()
	for {
		err := s.readOnce(ctx, fn)
		_, ours := errors.AsType[*fault.Error](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", doing, ctx.Err())
		case ours:
			return err
		case s.closed.Load():
			return fmt.Errorf("%s: %w", doing, ErrClosed)
		case sqlState(err) == queryCanceled:
			return fault.Wrap(err, fault.Timeout, "reading took too long: ask for less, or narrow the filter")
		case !errors.Is(err, errBehind) && !isAway(err):
			return fmt.Errorf("%s: %w", doing, err)
		case time.Since(start) > patience:
			return fault.Wrap(fmt.Errorf("%s: %w", doing, err), fault.Unavailable, "the records cannot be read at the moment; try again")
		}
		if err := sleep.For(ctx, readAgain); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
}

func (s *Shared) readOnce(ctx context.Context, fn func(context.Context, *reading) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	if s.behind() {
		return errBehind
	}
	return fn(ctx, &reading{set: s.set, conn: c.Conn(), sql: c.Conn()})
}

// behind reports whether the tables show less than was told.
func (s *Shared) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.position < s.told
}

// reading runs statements on one connection. One goroutine uses it.
type reading struct {
	set
	conn *pgx.Conn
	sql  querier // the connection, or a transaction on it
	in   bool    // a transaction
}

type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

func (r *reading) query(ctx context.Context, query string, args []any, fn func(scan func(...any) error) error) error {
	rows, err := r.sql.Query(ctx, numbered(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (r *reading) number(ctx context.Context, query string, args []any) (n int, err error) {
	err = r.query(ctx, query, args, func(scan func(...any) error) error { return scan(&n) })
	return n, err
}

func (r *reading) snapshot(ctx context.Context, fn func(context.Context) error) error {
	if r.in {
		return fn(ctx)
	}
	o := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, r.conn, o, func(tx pgx.Tx) error {
		r.sql, r.in = tx, true
		defer func() { r.sql, r.in = r.conn, false }()
		return fn(ctx)
	})
}

// numbered writes the parameters as PostgreSQL counts them. Names have no
// question marks.
func numbered(query string) string {
	var b strings.Builder
	b.Grow(len(query) + 32)
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}
