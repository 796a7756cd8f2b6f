package view

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// create makes the tables anew, empty.
func (p *Projection) create(ctx context.Context, logID string) error {
	p.position, p.built, p.known = 0, false, marks{}
	name := quote(p.name)
	statements := []string{
		"DROP SCHEMA IF EXISTS " + name + " CASCADE",
		"CREATE SCHEMA " + name,
		"CREATE TABLE " + p.meta() + " (format integer NOT NULL, fingerprint text NOT NULL, log text NOT NULL, position bigint NOT NULL, built boolean NOT NULL, used timestamptz NOT NULL, marks text NOT NULL) WITH (fillfactor = 10)",
		"CREATE TABLE " + p.past() + " (seq bigint PRIMARY KEY, doc bytea)",
	}
	for _, t := range p.tables {
		statements = append(statements, t.createEmpty(), t.createKey())
	}
	return pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error {
		for _, q := range statements {
			if _, err := tx.Exec(ctx, q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		_, err := tx.Exec(ctx, "INSERT INTO "+p.meta()+" VALUES ($1, $2, $3, 0, false, now(), '[]')", setFormat, p.model.Fingerprint, logID)
		return err
	})
}

// createKey returns the statement that makes the index of the ids.
func (t *table) createKey() string { return "ALTER TABLE " + t.name + " ADD PRIMARY KEY (id)" }

// createEmpty returns the statement that makes the table, without any index.
func (t *table) createEmpty() string {
	var columns strings.Builder
	for _, c := range t.columns {
		kind := "bytea"
		if numeric(c.field.Kind) {
			kind = "numeric"
		}
		columns.WriteString(", " + c.name + " " + kind + " NOT NULL")
		if long(c) {
			columns.WriteString(", " + whole(c) + " bytea")
		}
	}
	return fmt.Sprintf("CREATE TABLE %s (id bytea NOT NULL, doc bytea NOT NULL, seq bigint NOT NULL%s)", t.name, columns.String())
}

// indexes returns the statements that make them. The id ends each, so that a
// page in the order of a column is one range of it.
func (t *table) indexes() (list []string) {
	for _, c := range t.columns {
		if c.indexed {
			list = append(list, fmt.Sprintf("CREATE INDEX ON %s (%s, id)", t.name, c.name))
		}
	}
	return list
}

// sweep deletes the tables of other schemas of the same deployment that nobody
// has filled for a while.
func (p *Projection) sweep(ctx context.Context, prefix string) error {
	rows, err := p.conn.Query(ctx, "SELECT nspname FROM pg_namespace WHERE nspname ~ $1 AND nspname <> $2",
		"^"+regexp.QuoteMeta(prefix)+fmt.Sprintf("[0-9a-f]{%d}$", setDigits), p.name)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.drop(ctx, set{name: name}); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes a set that nobody has filled for a while.
func (p *Projection) drop(ctx context.Context, old set) error {
	return pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error {
		var free, unused bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", old.key()).Scan(&free); err != nil || !free {
			return err
		}
		err := tx.QueryRow(ctx, "SELECT coalesce(max(used), '-infinity') < now() - $1::interval FROM "+old.meta(), unusedKept).Scan(&unused)
		if err != nil || !unused {
			return err
		}
		p.log.InfoContext(ctx, "deleting tables of the shared view that nobody uses", "tables", old.name)
		_, err = tx.Exec(ctx, "DROP SCHEMA "+quote(old.name)+" CASCADE")
		return err
	})
}
