package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/quota"
	"tidings/resource"
	"tidings/schema"
	"tidings/service"
	"tidings/soap"
	"tidings/view"
)

// Rooms are the parts that the edge and the worker share, built from the
// bottom up: the model, the bus, the view, the feed that fills it, the client
// that reads it and the engine that answers with it.
type Rooms struct {
	Credentials
	Model  *schema.Model
	Bus    *bus.Bus
	View   *view.View
	Feed   *resource.Feed
	Client *resource.Client
	Quota  *quota.Limiter
	Engine *graphql.Engine

	config Config
	log    *slog.Logger
	// serving are closed when the parts of Writing take work; none elsewhere.
	serving []<-chan struct{}
	away    atomic.Int64 // since when the bus is away, in Unix nanoseconds; 0 when it is there
}

// Open builds the rooms. An error names the setting to mend where one is to
// blame. Close closes what was built.
func Open(ctx context.Context, c Config, log *slog.Logger) (*Rooms, error) {
	r := &Rooms{config: c, log: log}
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
	if r.Model, err = c.LoadSchema(); err != nil {
		return err
	}
	if c.Service == "" && !c.Dev {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the SOAP service is called after the schema's directory: name it by TIDINGS_SERVICE, so that another directory does not change the contract of its partners", slog.String("service", c.ServiceName()))
	}
	if r.Bus, err = bus.Open(ctx, c.bus(r.log)); err != nil {
		return fmt.Errorf("open the bus: %w", err)
	}
	if err := r.openView(ctx); err != nil {
		return fmt.Errorf("open the view: %w", err)
	}
	r.Feed = resource.NewFeed(r.Bus, r.Model, r.View, resource.FeedOptions{Logger: r.log})
	r.Client = resource.NewClient(r.Bus, r.Model, r.View, r.Feed)
	if r.Quota, err = c.quota(r.Bus, r.log); err != nil {
		return err
	}
	persisted, err := r.persisted(ctx)
	if err != nil {
		return err
	}
	answers, err := r.answers(ctx)
	if err != nil {
		return err
	}
	services, err := service.New(r.Bus, r.Model)
	if err != nil {
		return fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	r.Engine, err = graphql.New(r.Model, r.Client, r.Feed, graphql.Options{
		Logger:        r.log,
		Introspection: c.introspection,
		Limits:        c.limits(),
		Timeout:       c.MaxTime,
		Quota:         r.Quota,
		Persisted:     persisted,
		Answers:       answers,
		CacheMaxAge:   c.CacheMaxAge,
		Services:      services,
	})
	return err
}

// openView opens the view. One that shows more than the log holds (the log was
// restored from a backup, or a power cut took its end) is built anew.
func (r *Rooms) openView(ctx context.Context) error {
	_, last, err := r.Bus.State(ctx)
	if err != nil {
		return err
	}
	o := view.Options{Dir: r.config.viewDir(), Memory: cmp.Or(r.config.ViewMemory<<20, -1), Logger: r.log}
	if r.View, err = view.Open(ctx, r.Model, r.Bus.LogID(), o); err != nil || r.View.Position() <= last {
		return err
	}
	if err := errors.Join(r.View.Condemn(), r.View.Close()); err != nil {
		return err
	}
	r.View, err = view.Open(ctx, r.Model, r.Bus.LogID(), o)
	return err
}

// LoadSchema compiles the schema directory. A schema with root fields that these
// programs cannot answer is refused, whether it is to be served, printed or
// compared.
func (c Config) LoadSchema() (*schema.Model, error) {
	if info, err := os.Stat(c.Schema); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("there is no directory %s; name that of the *.graphql files with --schema", c.Schema)
	}
	m, err := schema.LoadWith(os.DirFS(c.Schema), schema.Options{MaxPage: c.MaxPage})
	if err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	// Go functions are registered nowhere here: what nothing else answers cannot be served.
	if _, err := graphql.New(m, nil, nil, graphql.Options{}); err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	return m, nil
}

func (c Config) bus(log *slog.Logger) bus.Options {
	o := bus.Options{
		URL: c.NATSURL, Prefix: c.Prefix, Replicas: c.Replicas, History: c.History,
		Name: "tidings", Listen: c.NATSListen, SyncAlways: c.SyncAlways, Logger: log,
	}
	if c.NATSURL == "" {
		o.Dir = filepath.Join(c.Data, "log")
	}
	return o
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

// SOAP are the options that both ends of the SOAP binding share.
func (r *Rooms) SOAP() soap.Options {
	return soap.Options{
		Service: r.config.ServiceName(), Address: r.config.PublicURL,
		TrustTransport: r.config.Dev || r.config.TrustTransport,
		Ready:          r.Feed.Ready(), WaitFor: r.Client.WaitFor,
		Quota: r.Quota, Logger: r.log,
	}
}

// Reading are the parts of every process: the keys of tokens, and the feed,
// which keeps the view true and tells the live operations.
func (r *Rooms) Reading() []proc.Part {
	return []proc.Part{{Name: "keys", Run: r.Verifier.Run}, {Name: "feed", Run: r.Feed.Run}, {Name: "quota", Run: r.Quota.Run}}
}

// Writing are the parts of a worker: it carries out commands and answers SOAP.
func (r *Rooms) Writing() ([]proc.Part, error) {
	w := resource.NewWorker(r.Bus, r.Model, resource.WorkerOptions{Logger: r.log})
	s, err := soap.NewService(r.Bus, r.Model, r.Engine, r.Accounts, r.Verifier, r.SOAP())
	if err != nil {
		return nil, err
	}
	r.Client.Use(w)
	r.serving = []<-chan struct{}{w.Ready(), s.Ready()}
	return []proc.Part{{Name: "worker", Run: w.Run}, {Name: "soap", Run: s.Run}}, nil
}

// awayGrace is how long the bus may be away before a process says that it is
// not ready: longer than a cluster takes to elect a leader (up to 9 s), since
// otherwise all processes would be taken out of service at once, and for nothing.
const awayGrace = 15 * time.Second

// Started returns nil when the view has
// caught up with the log and the parts of Writing take work, or with ctx's error.
func (r *Rooms) Started(ctx context.Context) error {
	for _, c := range append([]<-chan struct{}{r.Feed.Ready()}, r.serving...) {
		select {
		case <-c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Ready returns nil when the process can answer: the view has caught up with
// the log once, a worker of its own takes work, tokens can be checked, and the
// bus is there or was until a moment ago.
func (r *Rooms) Ready() error {
	if err := r.CaughtUp(); err != nil {
		return err
	}
	if err := r.Verifier.Ready(); err != nil {
		return err
	}
	for _, c := range r.serving {
		select {
		case <-c:
		default:
			return errors.New("the worker is not started yet")
		}
	}
	err := r.Bus.Ready()
	if err == nil {
		r.away.Store(0)
		return nil
	}
	now := time.Now().UnixNano()
	r.away.CompareAndSwap(0, now)
	if time.Duration(now-r.away.Load()) < awayGrace {
		return nil
	}
	return err
}

// CaughtUp returns nil once the view has shown all that was in the log when
// the process started.
func (r *Rooms) CaughtUp() error {
	select {
	case <-r.Feed.Ready():
		return nil
	default:
		return errors.New("the view is still catching up with the log")
	}
}

// Close closes what Open built, from the top down.
func (r *Rooms) Close() error {
	var errs []error
	if r.Engine != nil {
		r.Engine.Close()
	}
	if r.View != nil {
		errs = append(errs, r.View.Close())
	}
	if r.Bus != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		errs = append(errs, r.Bus.Close(ctx))
	}
	return errors.Join(errs...)
}
