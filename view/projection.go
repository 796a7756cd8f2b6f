package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tidings/internal/sleep"
	"tidings/schema"
)

// ErrTaken ends a Projection: another process fills the tables now.
var ErrTaken = errors.New("another process fills the shared view now")

// Projection fills the tables that Shared reads, from what it is given of the
// log. Only one of all processes does so at a time: it holds a lock of the
// database for as long as its connection lives. Should there be two nevertheless
// (a pooler in between that deals connections out), only one can move the
// position from where it is, and the other ends with ErrTaken.
//
// Apply is called by one goroutine, the other methods by any.
type Projection struct {
	set
	log     *slog.Logger
	stalled time.Duration

	mu       sync.Mutex // one uses the connection at a time
	conn     *pgx.Conn
	position uint64
	built    bool
	known    marks  // of the log
	steps    []step // of the past, oldest first
	closed   bool
}

// step says when a position was reached.
type step struct {
	at       time.Time
	position uint64
}

const (
	// setFormat is the version of the tables' layout. Raise it whenever tables
	// that were made by older code cannot be read by newer.
	setFormat = 1
	// lockEvery is how often a process that waits asks for the lock.
	lockEvery = time.Second
	// heartbeat is how often the one who has it says that it lives, and silence
	// after how long another takes it away.
	heartbeat = 3 * time.Second
	silence   = 15 * time.Second
	// stalled is after how long it is taken away from one that began to send a
	// statement and does not go on: it is frozen, or so is what is in between.
	stalled = 30 * time.Second
	// pastKept is how long it is kept what records were, for readers that lag behind.
	pastKept = 5 * time.Minute
	// stepEvery is how often what is older is deleted.
	stepEvery = 10 * time.Second
	// unusedKept is how long tables are kept that nobody fills any more.
	unusedKept = time.Hour
)

// OpenProjection waits until no other process fills the tables of the model,
// and returns one that goes on where they are. Tables that are not there, or
// show another log, it builds anew. The caller closes it.
func OpenProjection(ctx context.Context, model *schema.Model, logID string, o SharedOptions) (*Projection, error) {
	c, err := poolConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("open the projection: %w", err)
	}
	p := &Projection{set: newSet(model, o.Prefix), log: o.Logger}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.conn, err = pgx.ConnectConfig(ctx, c.ConnConfig); err != nil {
		return nil, fmt.Errorf("open the projection: %w", err)
	}
	p.stalled = cmp.Or(o.stalled, stalled)
	if err := p.open(ctx, logID, setPrefix(o.Prefix)); err != nil {
		return nil, errors.Join(fmt.Errorf("open the projection: %w", err), p.Close())
	}
	return p, nil
}

func (p *Projection) open(ctx context.Context, logID, prefix string) error {
	if _, err := p.conn.Exec(ctx, strings.Join(settings, ";")); err != nil {
		return err
	}
	if err := p.lock(ctx); err != nil {
		return err
	}
	if err := p.sweep(ctx, prefix); err != nil {
		p.log.WarnContext(ctx, "tables of the shared view that nobody uses cannot be deleted", "error", err)
	}
	reason, err := p.reopen(ctx, logID)
	if err != nil {
		return err
	}
	if reason != "" {
		p.log.InfoContext(ctx, "building the shared view from the log", "reason", reason, "tables", p.name)
		if err := p.create(ctx, logID); err != nil {
			return err
		}
	}
	p.steps = []step{{time.Now(), p.position}}
	return p.commitFast(ctx)
}

// key is the lock's number.
func (s set) key() int64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(s.name))
	return int64(sum.Sum64())
}

// lock waits for the lock. Who has it and says nothing for long is cut off: it
// was stopped, or is out of reach.
func (p *Projection) lock(ctx context.Context) error {
	waits := false
	for {
		var got bool
		if err := p.conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", p.key()).Scan(&got); err != nil {
			return err
		}
		if got {
			p.log.InfoContext(ctx, "the shared view is filled by this process")
			return nil
		}
		if !waits {
			p.log.InfoContext(ctx, "another process fills the shared view; this one stands by")
			waits = true
		}
		if err := sleep.For(ctx, lockEvery); err != nil {
			return err
		}
		if err := p.cutOff(ctx); err != nil {
			return err
		}
	}
}

// cutOff ends the session of a holder that has done nothing for too long, or for
// whom a statement was begun that he does not send on. One that the server is at
// work for is never ended, however long that takes: then it does not wait for him.
func (p *Projection) cutOff(ctx context.Context) error {
	var ended int
	err := p.conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE pg_terminate_backend(a.pid))
		FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND l.classid::bigint = ($1::bigint >> 32) & 4294967295 AND l.objid::bigint = $1::bigint & 4294967295
		AND a.usesysid = (SELECT oid FROM pg_roles WHERE rolname = current_user)
		AND (a.state <> 'active' AND a.state_change < clock_timestamp() - $2::interval
			OR a.wait_event_type = 'Client' AND a.state_change < clock_timestamp() - $3::interval)`, p.key(), silence, p.stalled).Scan(&ended)
	if ended > 0 {
		p.log.WarnContext(ctx, "the process that filled the shared view was silent; this one takes over")
	}
	return err
}

// reopen learns where the tables are; a reason when they must be made anew.
func (p *Projection) reopen(ctx context.Context, logID string) (reason string, err error) {
	var format int
	var log, fingerprint, known string
	var position int64
	err = p.conn.QueryRow(ctx, "SELECT format, fingerprint, log, position, built, marks FROM "+p.meta()).Scan(&format, &fingerprint, &log, &position, &p.built, &known)
	switch code := sqlState(err); {
	case errors.Is(err, pgx.ErrNoRows):
		return "it does not show what the log holds", nil
	case code == undefinedTable || code == undefinedSchema:
		return "there is none yet", nil
	case err != nil:
		return "", err
	case format != setFormat:
		return fmt.Sprintf("its format is %d, not %d", format, setFormat), nil
	case fingerprint != p.model.Fingerprint:
		return "the schema changed", nil
	case log != logID:
		return "the log is another one", nil
	}
	p.position = uint64(position)
	return "", p.known.decode(known)
}

// Marks are those of View.Marks.
func (p *Projection) Marks() []Mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known.list()
}

// Begin returns the position of the tables.
func (p *Projection) Begin(context.Context) (uint64, error) { return p.Position(), nil }

// Position returns the sequence that the tables have reached.
func (p *Projection) Position() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.position
}

// Condemn makes the next OpenProjection build the tables anew.
func (p *Projection) Condemn() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_, err := p.conn.Exec(ctx, "DELETE FROM "+p.meta())
	return err
}

// Live says to the database that this process lives until ctx ends, and returns
// nil then, and else what has become of the connection.
func (p *Projection) Live(ctx context.Context) error {
	t := time.NewTicker(heartbeat)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
		if err := p.beat(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the shared view's database: %w", err)
		}
	}
}

func (p *Projection) beat(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.conn.Exec(ctx, "UPDATE "+p.meta()+" SET used = now() WHERE used < now() - interval '1 minute'")
	return err
}

// Close gives the lock back and closes the connection.
func (p *Projection) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return p.conn.Close(ctx)
}
