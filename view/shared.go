package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidings/internal/sleep"
	"tidings/schema"
)

// SharedOptions say where a view is that processes share.
type SharedOptions struct {
	// URL is that of a PostgreSQL database (version 14 or later), with what its
	// driver understands: postgres://user:password@host/database?sslmode=verify-full
	// &pool_max_conns=8. It is a secret and is never shown. Without pool_max_conns
	// a process reads with max(4, CPUs) connections at a time.
	URL string
	// Prefix tells the views of one deployment from those of another.
	Prefix string
	// Logger; nil is silent.
	Logger *slog.Logger

	stalled time.Duration // in tests: less than stalled
}

// Shared reads a view that processes share: tables in PostgreSQL, a set of its
// own for each schema, which a Projection fills. It answers as a View does and
// may be used as one by any number of goroutines. A further read than there are
// connections waits for a free one, as long as its context allows.
//
// It follows the position of the tables: Apply writes nothing, it waits until
// they show the changes. A read sees what Position says or more, and never less
// than Apply has returned with. While the database is away reads wait for it a
// few seconds and are then fault.Unavailable, and Apply waits until its context ends.
type Shared struct {
	set
	logID  string
	log    *slog.Logger
	pool   *pgxpool.Pool
	config *pgx.ConnConfig

	mu    sync.Mutex
	state standing
	err   error         // why the state cannot be learned; nil: it was
	since time.Time     // when err came
	moved chan struct{} // closed when the state or err changes
	told  uint64        // the position that Apply has returned with

	waiting  atomic.Int32 // for a position
	closed   atomic.Bool
	stop     context.CancelFunc
	watching sync.WaitGroup
}

// set is a set of tables: those of one schema in one deployment.
type set struct {
	name   string // of PostgreSQL's schema, not quoted
	tables map[string]*table
	model  *schema.Model
}

// standing is what the tables say of themselves. The zero value is that of tables
// that are not there.
type standing struct {
	built    bool // all that was in the log when they were made is in them, with indexes
	position uint64
}

func newSet(model *schema.Model, prefix string) set {
	sum := sha256.Sum256([]byte(model.Fingerprint))
	name := setPrefix(prefix) + hex.EncodeToString(sum[:setDigits/2])
	return set{name: name, model: model, tables: newTables(model, postgresDialect{schema: quote(name)})}
}

// setDigits is how many digits of a digest of the schema name its tables.
const setDigits = 16

// setPrefix begins the names of a deployment's sets.
func setPrefix(prefix string) string {
	plain := len(prefix) <= 32 && strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	if !plain {
		sum := sha256.Sum256([]byte(prefix))
		prefix = "x" + hex.EncodeToString(sum[:12])
	}
	return "view_" + prefix + "_"
}

// meta is the name of the table that says what the set is.
func (s set) meta() string { return quote(s.name) + ".meta" }

// past is the name of the table that says what records were.
func (s set) past() string { return quote(s.name) + ".past" }

var errViewURL = errors.New("it must be the URL of a PostgreSQL database, such as postgres://user:password@host/database?sslmode=verify-full")

// CheckSharedURL refuses what cannot be the URL of a database, without saying
// what it is.
func CheckSharedURL(url string) error {
	_, err := poolConfig(url)
	return err
}

func poolConfig(url string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errViewURL
	}
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errViewURL // what the driver says may show the URL
	}
	c.ConnConfig.RuntimeParams["application_name"] = "tidings"
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	return c, nil
}

const (
	connectTimeout = 5 * time.Second
	// maxStatement bounds one statement in the server, for callers without a
	// deadline and for those that the server does not hear any more.
	maxStatement = time.Minute
)

// settings of every connection. A server that has lost its client stops what it
// did for it, and a client that has lost its server learns of it.
var settings = []string{
	"SET tcp_keepalives_idle = 10",
	"SET tcp_keepalives_interval = 5",
	"SET tcp_keepalives_count = 3",
	"SET client_connection_check_interval = '5s'",
}

// OpenShared returns the shared view of a model. It does not wait for the
// database, nor for a Projection: until both are there Begin waits and Ready
// says why. The caller closes it.
func OpenShared(model *schema.Model, logID string, o SharedOptions) (*Shared, error) {
	c, err := poolConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("open the shared view: %w", err)
	}
	s := &Shared{set: newSet(model, o.Prefix), logID: logID, log: o.Logger, config: c.ConnConfig.Copy(), err: errFirst, since: time.Now(), moved: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	c.AfterConnect = s.connected
	ctx, stop := context.WithCancel(context.Background())
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		stop()
		return nil, fmt.Errorf("open the shared view: %w", err)
	}
	s.stop = stop
	s.watching.Go(func() { s.watch(ctx) })
	return s, nil
}

// connected prepares a connection for reading. A server that was restored from
// a backup, or that has taken another's place, may show less than was told: this
// is noticed before anything is read.
func (s *Shared) connected(ctx context.Context, c *pgx.Conn) error {
	all := append([]string{"SET default_transaction_read_only = on", fmt.Sprintf("SET statement_timeout = %d", maxStatement.Milliseconds())}, settings...)
	if _, err := c.Exec(ctx, strings.Join(all, ";")); err != nil {
		return err
	}
	return s.look(ctx, c)
}

// Position returns the sequence that the tables have reached, as far as is known.
func (s *Shared) Position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.position
}

// Condemn does nothing: who fills the tables learns by itself that the log is
// another one, and builds them anew.
func (s *Shared) Condemn() error { return nil }

// Sync returns nil: what Apply has returned with is in the tables.
func (s *Shared) Sync(context.Context) error { return nil }

// Close waits for the reads that are running and lets go of the connections.
func (s *Shared) Close() error {
	s.closed.Store(true)
	s.stop()
	s.watching.Wait()
	s.pool.Close()
	return nil
}

// Begin waits until the tables are there and filled, and returns their position.
func (s *Shared) Begin(ctx context.Context) (uint64, error) {
	remind := time.NewTicker(remindEvery)
	defer remind.Stop()
	for {
		state, moved, err := s.now()
		if state.built {
			return state.position, nil
		}
		select {
		case <-moved:
		case <-remind.C:
			s.log.Warn("waiting for the shared view", "reason", cause(err))
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

const remindEvery = 10 * time.Second

// Apply returns when the tables show every change up to upto. Those that ask
// for it get what the record was; where that is no longer known the change is Lost.
func (s *Shared) Apply(ctx context.Context, upto uint64, changes []Change) error {
	if err := s.wait(ctx, upto); err != nil {
		return fmt.Errorf("wait for the shared view to show %d: %w", upto, err)
	}
	for {
		err := s.recall(ctx, changes)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("what was before %d: %w", upto, ctx.Err())
		}
		s.log.Warn("the shared view cannot be read, changes are told later", "error", err)
		if err := sleep.For(ctx, time.Second); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = max(s.told, upto)
	return nil
}

// wait returns when the tables have reached a position.
func (s *Shared) wait(ctx context.Context, position uint64) error {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	remind := time.NewTicker(remindEvery)
	defer remind.Stop()
	for {
		state, moved, err := s.now()
		if state.built && state.position >= position {
			return nil
		}
		select {
		case <-moved:
		case <-remind.C:
			s.log.Warn("the shared view lags behind the log; changes are told when it shows them", "shown", state.position, "seq", position, "reason", cause(err))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func cause(err error) string {
	if err != nil {
		return err.Error()
	}
	return "no worker with this schema and TIDINGS_VIEW_URL fills it, or it is still being filled"
}

// recall asks what records were before they changed.
func (s *Shared) recall(ctx context.Context, changes []Change) error {
	at := map[uint64]*Change{}
	var seqs []int64
	for i := range changes {
		if c := &changes[i]; c.Look && s.tables[c.Type] != nil {
			c.Lost = true
			at[c.Seq] = c
			seqs = append(seqs, int64(c.Seq))
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	query := "SELECT seq, doc FROM " + s.past() + " WHERE seq = ANY(?::bigint[])"
	return s.read(ctx, "read what records were", func(ctx context.Context, r *reading) error {
		return r.query(ctx, query, []any{seqs}, func(scan func(...any) error) error {
			var seq int64
			var doc []byte
			if err := scan(&seq, &doc); err != nil {
				return err
			}
			c := at[uint64(seq)]
			c.Before, c.Lost = doc, false
			return nil
		})
	})
}
