package boot

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/internal/trace"
	"tidings/job"
	"tidings/quota"
	"tidings/revoke"
	"tidings/schema"
	"tidings/service"
	"tidings/soap"
	"tidings/wssec"
)

// Rooms are the parts that the edge and the worker share, built from the
// bottom up: the bus, what counts callers, and the edition of all that depends
// on the schema.
type Rooms struct {
	Credentials
	// TLS is the public port's side of TLS; nil: it has none.
	TLS     *tls.Config
	Bus     *bus.Bus
	Metrics *proc.Metrics
	Tracer  *trace.Tracer // nil: nothing is traced
	Quota   *quota.Limiter
	// Admission bounds what clients have done at once; nil: nothing does.
	Admission *graphql.Admission
	// Drain empties the process before it ends. Of one that has clients the edge is
	// emptied, and calls Run.
	Drain   *proc.Drain
	revoked *revoke.List

	config   Config
	role     Role
	log      *slog.Logger
	shared   graphql.Store // documents that clients register; nil: none are
	answers  graphql.Store
	jobs     *job.Jobs // nil where nothing is written
	replays  *soap.Replays
	soapKeys *wssec.Keys               // nil: messages are not encrypted
	patience *bus.Patience             // with workers that are away, of all editions
	away     atomic.Pointer[time.Time] // since when the bus is away; nil when it is there
	expiries expiries
	// undelivered outlives editions, so that a reload forgets nothing.
	undelivered *soap.Undelivered

	clients func() int // nil: there are none
	emptied bool       // nothing is taken any more

	gate    sync.RWMutex
	edition *Edition // in service
	move    Switch   // nil: there are no subscriptions

	hangups      <-chan os.Signal
	deaf         func() // ends hangups
	look, looked string // the files as they were read, and at the last look
}

// Role is what a process does with the rooms.
type Role struct {
	// Writes: it carries out commands and answers SOAP envelopes.
	Writes bool
	// Edge: it has clients.
	Edge bool
	// Terminal is where a person reads why a changed schema is refused, in
	// development; nil: nowhere but in the log.
	Terminal io.Writer
	// Waiting is told why the process cannot start yet, again and again, while it
	// waits for the servers of the bus, or for what is to be set up there; nil: Open
	// fails instead.
	Waiting func(why error)
}

// Switch moves the clients' subscriptions to another engine and calls between
// while they have none, as realtime.Hub.Switch does.
type Switch func(e *graphql.Engine, between func())

// OnReload says how subscriptions move to another edition. It is called before
// the parts run, by those who have clients.
func (r *Rooms) OnReload(s Switch) { r.move = s }

// OnDrain says how many clients are left for a drain to send elsewhere. It is called
// before the parts run, by those who have clients.
func (r *Rooms) OnDrain(left func() int) { r.clients = left }

// Open builds the rooms, and refuses a schema that stored records do not fit. An
// error names the setting to mend where one is to blame. Close closes what was
// built.
func Open(ctx context.Context, c Config, role Role, log *slog.Logger) (*Rooms, error) {
	r := &Rooms{Metrics: proc.NewMetrics(), config: c, role: role, log: log, patience: &bus.Patience{For: c.Retry}}
	r.Drain = proc.NewDrain(r.left)
	if c.NATSURL == "" { // the worker is lost with the process
		r.patience.For = 0
	}
	r.hangups, r.deaf = proc.Hangups() // before the schema is read: it may change meanwhile
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Rooms) open(ctx context.Context) (err error) {
	c := r.config
	if r.Credentials, err = c.Credentials(r.log); err != nil {
		return err
	}
	if err := r.openTLS(); err != nil {
		return err
	}
	if err := r.openSOAPKeys(); err != nil {
		return err
	}
	r.look = c.look()
	model, err := c.LoadSchema()
	if err != nil {
		return err
	}
	r.warnOfLocks(ctx)
	if err := r.openTracer(); err != nil {
		return err
	}
	if err := r.openBus(ctx); err != nil {
		return err
	}
	if r.Quota, err = c.quota(r.Bus, r.log); err != nil {
		return err
	}
	r.openAdmission()
	if err := r.await(ctx, r.openKept); err != nil {
		return err
	}
	r.undelivered = soap.NewUndelivered(r.Bus, func() uint64 { return r.current().Feed.Now().Seq }, r.log)
	if err := r.await(ctx, func(ctx context.Context) error {
		r.edition, err = r.build(ctx, model, nil)
		return err
	}); err != nil {
		return err
	}
	if err := r.await(ctx, func(ctx context.Context) error { return r.admit(ctx, model) }); err != nil {
		return err
	}
	r.measure()
	r.sweepViews(ctx, r.edition.dir)
	return nil
}

// openKept opens what is kept on the bus beside the log, and looks at how it is kept.
func (r *Rooms) openKept(ctx context.Context) (err error) {
	if err := r.openBuckets(ctx); err != nil {
		return err
	}
	if r.revoked, err = revoke.Open(ctx, r.Bus, r.Revoked, revoke.Options{Age: r.config.RevokedAge, Logger: r.log}); err != nil {
		return err
	}
	if r.jobs, err = r.openJobs(ctx); err != nil {
		return err
	}
	return r.checkBus(ctx)
}

// LoadSchema compiles the schema directory. A schema with root fields that these
// programs cannot answer is refused, whether it is to be served, printed or
// compared.
func (c Config) LoadSchema() (*schema.Model, error) {
	if info, err := os.Stat(c.Schema); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("there is no directory %s; name that of the *.graphql files, with --schema where a command takes no DIR", c.Schema)
	}
	m, err := schema.LoadWith(os.DirFS(c.Schema), schema.Options{MaxPage: c.MaxPage})
	if err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	if err := service.Check(m, bus.Subjects{Prefix: c.Prefix, Inbox: c.NATSInbox}); err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	// Go functions are registered nowhere here: what nothing else answers, a
	// service on the bus neither, cannot be served. This engine only checks.
	engine, err := graphql.New(m, nil, nil, graphql.Options{Services: new(service.Client)})
	if err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	locks, err := c.Locks()
	if err != nil {
		return nil, err
	}
	if err := soap.Verify(m, engine, soap.Options{Service: c.ServiceName(), Version: c.SOAPVersion, Locks: locks}); err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	return m, nil
}

// viewDir is where the view is kept. Pods beside an external bus may share a
// working directory but never a view, so theirs is temporary unless it is set.
func (c Config) viewDir() string {
	if c.View == "" && c.NATSURL == "" {
		return filepath.Join(c.Data, "view")
	}
	return c.View
}

func (c Config) introspection(who auth.Principal) bool {
	return c.Dev || who.Roles.Has(schema.Admin)
}

// Parts are what runs in every process: the keys of tokens, the files of accounts and TLS, what counts
// callers, what hears of answers that did not arrive, and the editions, which end with an error that no process survives.
func (r *Rooms) Parts() []proc.Part {
	parts := []proc.Part{{Name: "keys", Run: r.Verifier.Run}, {Name: "files", Run: r.watch}, {Name: "revoked", Run: r.revoked.Run}, {Name: "quota", Run: r.Quota.Run}}
	if r.role.Edge {
		parts = append(parts, proc.Part{Name: "undelivered", Run: r.undelivered.Run})
	}
	if r.role.Writes {
		parts = append(parts, proc.Part{Name: "size", Run: r.Bus.WatchUsage})
	}
	return append(parts, proc.Part{Name: "rooms", Run: r.run})
}

// Routes are what the admin port serves beside the probes.
func (r *Rooms) Routes() []proc.Route {
	routes := []proc.Route{{Pattern: "POST /revoke", Handler: r.revoked}, {Pattern: "POST /erase", Handler: http.HandlerFunc(r.erase)}, r.Drain.Route(), r.Metrics.Route()}
	if r.config.Profiles {
		routes = append(routes, proc.Profiles()...)
	}
	return routes
}

// awayGrace is how long the bus may be away before a process says that it is
// not ready: longer than a cluster takes to elect a leader (up to 9 s), since
// otherwise all processes would be taken out of service at once, and for nothing.
const awayGrace = 15 * time.Second

// Started returns nil when the view has caught up with the log and the worker,
// if there is one, takes work, or with ctx's error.
func (r *Rooms) Started(ctx context.Context) error {
	return r.current().started(ctx)
}

// Ready returns nil when the process can answer: it does not drain, the view has caught up with
// the log once, a worker of its own takes work, tokens can be checked, and the
// bus is there or was until a moment ago.
func (r *Rooms) Ready() error {
	if r.Drain.Wanted() {
		return errors.New("draining")
	}
	if err := r.CaughtUp(); err != nil {
		return err
	}
	if err := r.Verifier.Ready(); err != nil {
		return err
	}
	if err := r.current().View.Ready(); err != nil {
		return err
	}
	if e := r.current(); !e.serves() {
		return errors.New("the worker is not started yet")
	}
	if away, err := r.busAway(); away >= awayGrace {
		return err
	}
	return nil
}

// busAway tells for how long the bus has been away, as far as somebody has looked,
// and why; 0 while it is there.
func (r *Rooms) busAway() (time.Duration, error) {
	err := r.Bus.Ready()
	if err == nil {
		r.away.Store(nil)
		return 0, nil
	}
	now := time.Now()
	r.away.CompareAndSwap(nil, &now)
	if since := r.away.Load(); since != nil {
		return time.Since(*since), err
	}
	return 0, nil // it came back meanwhile
}

// CaughtUp returns nil once the view has shown all that was in the log when
// the process started, unless its file was found damaged since and is built anew.
// An edition that comes later has caught up before it serves.
func (r *Rooms) CaughtUp() error {
	feed := r.current().Feed
	select {
	case <-feed.Ready():
		return feed.Whole()
	default:
		return errors.New("the view is still catching up with the log")
	}
}

// Close closes what Open built, from the top down.
func (r *Rooms) Close() error {
	r.deaf()
	var errs []error
	if r.edition != nil {
		errs = append(errs, r.edition.close())
	}
	if r.Bus != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		errs = append(errs, r.Bus.Close(ctx))
	}
	r.closeTracer()
	return errors.Join(errs...)
}
