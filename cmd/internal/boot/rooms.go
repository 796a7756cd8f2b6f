package boot

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/resource"
	"tidings/schema"
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
	Engine *graphql.Engine

	config Config
	log    *slog.Logger
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
	if r.Credentials, err = c.Credentials(); err != nil {
		return err
	}
	if r.Model, err = c.LoadSchema(); err != nil {
		return err
	}
	if r.Bus, err = bus.Open(ctx, c.bus(r.log)); err != nil {
		return fmt.Errorf("open the bus: %w", err)
	}
	if err := r.openView(ctx); err != nil {
		return fmt.Errorf("open the view: %w", err)
	}
	r.Feed = resource.NewFeed(r.Bus, r.Model, r.View, resource.FeedOptions{Logger: r.log})
	r.Client = resource.NewClient(r.Bus, r.Model, r.View, r.Feed)
	r.Engine, err = graphql.New(r.Model, r.Client, r.Feed, graphql.Options{
		Logger:        r.log,
		Introspection: c.introspection,
		Functions:     functions(r.Model),
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
	o := view.Options{Dir: r.config.viewDir(), Logger: r.log}
	if r.View, err = view.Open(ctx, r.Model, r.Bus.LogID(), o); err != nil || r.View.Position() <= last {
		return err
	}
	if err := errors.Join(r.View.Condemn(), r.View.Close()); err != nil {
		return err
	}
	r.View, err = view.Open(ctx, r.Model, r.Bus.LogID(), o)
	return err
}

// LoadSchema compiles the schema directory.
func (c Config) LoadSchema() (*schema.Model, error) {
	m, err := schema.Load(os.DirFS(c.Schema))
	if err != nil {
		return nil, fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	return m, nil
}

func (c Config) bus(log *slog.Logger) bus.Options {
	o := bus.Options{
		URL: c.NATSURL, Prefix: c.Prefix, Replicas: c.Replicas, History: c.History,
		Name: "tidings", Listen: c.NATSListen, Logger: log,
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

// ServiceName is the SOAP service's name: as configured, or the schema
// directory's name and "Service", such as SocialService.
func (c Config) ServiceName() string {
	if c.Service != "" {
		return c.Service
	}
	dir, err := filepath.Abs(c.Schema)
	if err != nil {
		return "Service"
	}
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, filepath.Base(dir))
	letters = strings.TrimLeft(letters, "0123456789")
	if letters == "" {
		return "Service"
	}
	return strings.ToUpper(letters[:1]) + letters[1:] + "Service"
}

// SOAP are the options that both ends of the SOAP binding share.
func (r *Rooms) SOAP() soap.Options {
	return soap.Options{
		Service: r.config.ServiceName(), Address: r.config.PublicURL,
		TrustTransport: r.config.Dev || r.config.TrustTransport,
		Ready:          r.Feed.Ready(), WaitFor: r.Client.WaitFor,
		Logger: r.log,
	}
}

// Reading are the parts of every process: the feed, which keeps the view true
// and tells the live operations.
func (r *Rooms) Reading() []proc.Part {
	return []proc.Part{{Name: "feed", Run: r.Feed.Run}}
}

// Writing are the parts of a worker: it carries out commands and answers SOAP.
func (r *Rooms) Writing() ([]proc.Part, error) {
	w := resource.NewWorker(r.Bus, r.Model, resource.WorkerOptions{Logger: r.log})
	s, err := soap.NewService(r.Bus, r.Model, r.Engine, r.Accounts, r.Verifier, r.SOAP())
	if err != nil {
		return nil, err
	}
	return []proc.Part{{Name: "worker", Run: w.Run}, {Name: "soap", Run: s.Run}}, nil
}

// Ready returns nil when the process can answer: connected, and the view has
// caught up with the log once.
func (r *Rooms) Ready() error {
	if err := r.Bus.Ready(); err != nil {
		return err
	}
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

// functions are the Go functions of the service itself, for the hand-written
// root fields that name them: `count(target: Int = 10): Int!` on Subscription
// counts to target, one number a second. It is there to try a connection.
func functions(m *schema.Model) map[string]graphql.Function {
	if m.Contract.Subscription == nil || m.Contract.Subscription.Fields.ForName("count") == nil || m.Root("Subscription", "count") != nil {
		return nil
	}
	return map[string]graphql.Function{"Subscription.count": {Subscribe: count}}
}

func count(ctx context.Context, call graphql.Call) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		target, _ := call.Args["target"].(int64)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := int64(1); n <= target && yield(n, nil) && n < target; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}
