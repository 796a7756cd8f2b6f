package view

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// fillAtOnce is how many rows go to the database at a time.
const fillAtOnce = 2000

// Fill builds empty tables from what source hands over, and moves the position
// to upto: a transaction for all of it, with the indexes of the ids made last.
// It fails without any effect when source does, when a record is not a JSON
// object or comes twice, and when the tables are not empty.
func (p *Projection) Fill(ctx context.Context, upto uint64, source Source) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.position > 0 || p.built {
		return fmt.Errorf("fill the shared view: it shows %d already", p.position)
	}
	var known marks
	err := pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "UPDATE "+p.meta()+" SET position = $1, used = now() WHERE position = 0", int64(upto))
		if err != nil {
			return err
		}
		if tag.RowsAffected() != 1 {
			return ErrTaken
		}
		if err := p.pour(ctx, tx, &known, source); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE "+p.meta()+" SET marks = $1", known.encode())
		return err
	})
	if err != nil {
		return fmt.Errorf("fill the shared view: %w", err)
	}
	p.position, p.known = upto, known
	return nil
}

// pour writes all records. One goroutine takes them apart while another writes.
func (p *Projection) pour(ctx context.Context, tx pgx.Tx, known *marks, source Source) error {
	for _, t := range p.tables {
		if _, err := tx.Exec(ctx, "DROP TABLE "+t.name+"; "+t.createEmpty()); err != nil {
			return err
		}
	}
	lots := make(chan map[*table][]row, 2)
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(lots)
		return p.lots(running, known, source, lots)
	})
	g.Go(func() error {
		lives := time.NewTicker(heartbeat)
		defer lives.Stop()
		for {
			select {
			case lot, more := <-lots:
				if !more {
					return nil
				}
				all := &pgx.Batch{}
				for t, rows := range lot {
					t.queue(all, rows, "")
				}
				if err := tx.SendBatch(running, all).Close(); err != nil {
					return err
				}
			case <-lives.C: // who waits for the log long is not to be taken for one that hangs
				if _, err := tx.Exec(running, "SELECT"); err != nil {
					return err
				}
			}
		}
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SET LOCAL maintenance_work_mem = '128MB'"); err != nil {
		return err
	}
	for _, t := range p.tables {
		if _, err := tx.Exec(ctx, t.createKey()); err != nil {
			return err
		}
	}
	return nil
}

// lots takes apart what source hands over.
func (p *Projection) lots(ctx context.Context, known *marks, source Source, lots chan<- map[*table][]row) error {
	lot, n := map[*table][]row{}, 0
	flush := func() error {
		select {
		case lots <- lot:
			lot, n = map[*table][]row{}, 0
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := source(func(changes []Change) error {
		for _, c := range changes {
			t := p.tables[c.Type]
			if t == nil || c.Raw == nil {
				continue
			}
			r, err := t.row(c)
			if err != nil {
				return fmt.Errorf("change %d of %s %q: %w", c.Seq, c.Type, c.ID, err)
			}
			if c.Seq > known[0].Seq {
				known.add(&c)
			}
			lot[t] = append(lot[t], r)
			n++
		}
		if n < fillAtOnce {
			return nil
		}
		return flush()
	})
	if err != nil || n == 0 {
		return err
	}
	return flush()
}
