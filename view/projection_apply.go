package view

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Apply takes changes in as View.Apply does: all of them with the position in
// one transaction, or nothing. Of those with Look it keeps what the records were,
// for the readers to ask. ErrTaken: somebody else has moved the position. A
// context that ends meanwhile costs the connection: the projection is over then.
func (p *Projection) Apply(ctx context.Context, upto uint64, changes []Change) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if upto <= p.position {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err // later it would cost the connection
	}
	b, err := p.batch(upto, changes)
	if err != nil {
		return fmt.Errorf("apply changes up to %d: %w", upto, err)
	}
	known := p.known
	for i := range changes {
		if changes[i].Seq > p.position {
			known.add(&changes[i])
		}
	}
	b.known = known.encode()
	if err := p.write(ctx, b); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("apply changes up to %d: %w", upto, err)
	}
	p.position, p.known = upto, known
	return nil
}

// batch is what one transaction writes.
type batch struct {
	upto   uint64
	known  string // the marks
	newest *layer
	// Of the changes whose past is kept: what is in the tables, and what came in
	// the same batch.
	asks map[*table]*asked
	seqs []int64
	docs [][]byte
}

type asked struct {
	seqs []int64
	ids  [][]byte
}

func (p *Projection) batch(upto uint64, changes []Change) (*batch, error) {
	b := &batch{upto: upto, newest: newLayer(0), asks: map[*table]*asked{}}
	previous := uint64(0)
	for _, c := range changes {
		if c.Seq < previous || c.Seq > upto {
			return nil, fmt.Errorf("change %d of %s %q is out of order: after %d, up to %d", c.Seq, c.Type, c.ID, previous, upto)
		}
		previous = c.Seq
		t := p.tables[c.Type]
		if c.Seq <= p.position || t == nil {
			continue
		}
		if c.Look && p.built {
			b.look(t, c)
		}
		r, err := t.row(c)
		if err != nil {
			return nil, fmt.Errorf("change %d of %s %q: %w", c.Seq, c.Type, c.ID, err)
		}
		b.newest.put(r)
	}
	return b, nil
}

func (b *batch) look(t *table, c Change) {
	if doc, known := b.newest.find(recordKey{c.Type, c.ID}); known {
		b.seqs, b.docs = append(b.seqs, int64(c.Seq)), append(b.docs, doc)
		return
	}
	a := b.asks[t]
	if a == nil {
		a = &asked{}
		b.asks[t] = a
	}
	a.seqs, a.ids = append(a.seqs, int64(c.Seq)), append(a.ids, marked(c.ID))
}

// write writes a batch. The position goes first: who has moved it holds its row
// until the end, so nobody else writes meanwhile.
func (p *Projection) write(ctx context.Context, b *batch) error {
	return pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error {
		all := &pgx.Batch{}
		moved := false
		all.Queue("UPDATE "+p.meta()+" SET position = $2, marks = $3 WHERE position = $1", int64(p.position), int64(b.upto), b.known).
			Exec(func(tag pgconn.CommandTag) error { moved = tag.RowsAffected() == 1; return nil })
		p.queuePast(all, b)
		byTable := map[*table][]row{}
		for _, r := range b.newest.rows {
			byTable[r.table] = append(byTable[r.table], r)
		}
		for t, rows := range byTable {
			t.queue(all, rows, t.conflict())
		}
		if p.built {
			all.Queue("SELECT pg_notify($1, $2)", p.name, strconv.FormatUint(b.upto, 10))
		}
		if err := tx.SendBatch(ctx, all).Close(); err != nil {
			return err
		}
		if !moved {
			return ErrTaken
		}
		return nil
	})
}

// queuePast keeps what the records were, and deletes what was kept for long enough.
func (p *Projection) queuePast(all *pgx.Batch, b *batch) {
	into := "INSERT INTO " + p.past() + " (seq, doc) "
	for t, a := range b.asks {
		all.Queue(into+"SELECT j.seq, t.doc FROM unnest($1::bigint[], $2::bytea[]) j(seq, id) LEFT JOIN "+t.name+" t ON t.id = j.id", a.seqs, a.ids)
	}
	if len(b.seqs) > 0 {
		all.Queue(into+"SELECT * FROM unnest($1::bigint[], $2::bytea[])", b.seqs, b.docs)
	}
	now := time.Now()
	if now.Sub(p.steps[len(p.steps)-1].at) < stepEvery {
		return
	}
	p.steps = append(p.steps, step{now, p.position})
	if old := p.steps[0]; now.Sub(old.at) > pastKept {
		p.steps = p.steps[1:]
		all.Queue("DELETE FROM "+p.past()+" WHERE seq <= $1", int64(old.position))
	}
}

// queue writes rows of one table, each the newest of its record. What is to
// happen when there is one already ends the statement.
func (t *table) queue(all *pgx.Batch, rows []row, conflict string) {
	var gone, ids, docs [][]byte
	var seqs []int64
	columns := make([]values, len(t.columns))
	for _, r := range rows {
		if r.raw == nil {
			gone = append(gone, marked(r.key.id))
			continue
		}
		ids, docs, seqs = append(ids, marked(r.key.id)), append(docs, r.raw), append(seqs, r.args[2].(int64))
		for i, c := range t.columns {
			columns[i].add(c, r.args[3+i])
		}
	}
	if len(gone) > 0 {
		all.Queue("DELETE FROM "+t.name+" WHERE id = ANY($1)", gone)
	}
	if len(ids) == 0 {
		return
	}
	args := []any{ids, docs, seqs}
	for i, c := range t.columns {
		args = columns[i].arrays(c, args)
	}
	all.Queue(t.putMany()+conflict, args...)
}

// values are those of one column.
type values struct {
	numbers []string
	texts   [][]byte
	wholes  [][]byte // nil where the text is not too long
}

func (v *values) add(c *column, value any) {
	if numeric(c.field.Kind) {
		v.numbers = append(v.numbers, decimal(value))
		return
	}
	v.texts = append(v.texts, postgresDialect{}.bind(c, value).([]byte))
	s, _ := value.(string)
	var whole []byte
	if len(s) > longestText {
		whole = marked(s)
	}
	v.wholes = append(v.wholes, whole)
}

// arrays appends the values as the arrays that putMany names.
func (v *values) arrays(c *column, args []any) []any {
	switch {
	case numeric(c.field.Kind):
		return append(args, v.numbers)
	case long(c):
		return append(args, v.texts, v.wholes)
	}
	return append(args, v.texts)
}

// putMany composes the statement that writes many rows, given as one array for
// each column.
func (t *table) putMany() string {
	var into, from strings.Builder
	n := 3
	for name, array := range t.stored() {
		n++
		into.WriteString(", " + name)
		fmt.Fprintf(&from, ", $%d::%s", n, array)
	}
	return fmt.Sprintf("INSERT INTO %s (id, doc, seq%s) SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]%s)", t.name, into.String(), from.String())
}

// conflict ends the statement for records that may be there already.
func (t *table) conflict() string {
	var set strings.Builder
	for name := range t.stored() {
		set.WriteString(", " + name + " = excluded." + name)
	}
	return " ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, seq = excluded.seq" + set.String()
}

// stored yields the names of the columns and the types of arrays of their values.
func (t *table) stored() iter.Seq2[string, string] {
	return func(yield func(name, array string) bool) {
		for _, c := range t.columns {
			array := "bytea[]"
			if numeric(c.field.Kind) {
				array = "text[]::numeric[]"
			}
			if !yield(c.name, array) || long(c) && !yield(whole(c), array) {
				return
			}
		}
	}
}

// Finish says that the tables hold all that was in the log when they were begun.
// What makes reading fast and writing slow comes now; from then on they are read.
func (p *Projection) Finish(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.built {
		return nil
	}
	start := time.Now()
	err := pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error {
		for _, t := range p.tables {
			for _, q := range append(t.indexes(), "ANALYZE "+t.name) {
				if _, err := tx.Exec(ctx, q); err != nil {
					return fmt.Errorf("%s: %w", q, err)
				}
			}
		}
		tag, err := tx.Exec(ctx, "UPDATE "+p.meta()+" SET built = true, used = now() WHERE position = $1", int64(p.position))
		if err == nil && tag.RowsAffected() != 1 {
			return ErrTaken
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("finish the shared view: %w", err)
	}
	p.built = true
	p.log.InfoContext(ctx, "the shared view is built", "seq", p.position, "indexed_in", time.Since(start).Round(time.Millisecond))
	return p.commitFast(ctx)
}

// commitFast has the server not wait for its disk while the tables are being
// built. Afterwards it waits as it is configured to: what was told is not lost.
func (p *Projection) commitFast(ctx context.Context) error {
	q := "RESET synchronous_commit"
	if !p.built {
		q = "SET synchronous_commit = off"
	}
	_, err := p.conn.Exec(ctx, q)
	return err
}
