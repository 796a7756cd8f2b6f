package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tidings/bus"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/resource"
	"tidings/schema"
	"tidings/service"
	"tidings/soap"
	"tidings/view"
)

// Edition is all that depends on the schema. A reload builds another one beside
// it. It must not be used after what Use returned was called.
type Edition struct {
	Model *schema.Model
	*store
	Client *resource.Client
	Engine *graphql.Engine
	// Gateway is the edge of SOAP; nil where there is no edge.
	Gateway *soap.Gateway

	worker  *resource.Worker // nil where nothing is written, and so is soap
	soap    *soap.Service
	eraser  *resource.Eraser
	maker   *resource.SnapshotMaker // nil where no snapshots are made
	writing *running                // the three
	users   sync.WaitGroup          // requests that have begun here
	over    chan struct{}           // closed when another edition serves
}

// store is the view and what fills it. Editions whose schemas store and index
// alike share it.
type store struct {
	View shownView
	Feed *resource.Feed

	dir       string              // of the view; empty: a temporary one, or none
	projector *resource.Projector // fills a view that processes share; nil: this process does not
	reading   *running
}

// Use returns the edition in service; the caller calls done when it no longer
// uses it.
func (r *Rooms) Use() (e *Edition, done func()) {
	r.gate.RLock()
	defer r.gate.RUnlock()
	r.edition.users.Add(1)
	return r.edition, r.edition.users.Done
}

// current is for looks that take no time.
func (r *Rooms) current() *Edition {
	r.gate.RLock()
	defer r.gate.RUnlock()
	return r.edition
}

// build builds the edition of a model, with the store of the old one if it
// fits. Nothing runs yet.
func (r *Rooms) build(ctx context.Context, m *schema.Model, old *Edition) (*Edition, error) {
	e := &Edition{Model: m, over: make(chan struct{})}
	if old != nil && old.Model.Fingerprint == m.Fingerprint {
		e.store = old.store
	}
	if err := r.furnish(ctx, e); err != nil {
		if old != nil && e.store == old.store {
			e.store = nil
		}
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (r *Rooms) furnish(ctx context.Context, e *Edition) (err error) {
	if e.store == nil {
		if e.store, err = r.openStore(ctx, e.Model); err != nil {
			return fmt.Errorf("open the view: %w", err)
		}
	}
	e.Client = resource.NewClient(r.Bus, e.Model, e.View, e.Feed)
	e.Client.Persist(r.patience)
	e.Client.Measure(r.Metrics)
	persisted, err := r.persisted()
	if err != nil {
		return err
	}
	c := r.config
	services, err := service.New(r.Bus, e.Model)
	if err != nil {
		return fmt.Errorf("schema %s is refused:\n%w", c.Schema, err)
	}
	e.Engine, err = graphql.New(e.Model, e.Client, e.Feed, graphql.Options{
		Logger:        r.log,
		Metrics:       r.Metrics,
		Introspection: c.introspection,
		Limits:        c.limits(),
		Timeout:       c.MaxTime,
		Patience:      r.patience.For,
		Quota:         r.Quota,
		Admission:     r.Admission,
		Persisted:     persisted,
		Answers:       r.answers,
		Aside:         bus.Aside,
		CacheMaxAge:   c.CacheMaxAge,
		Services:      services,
		Tracer:        r.Tracer, TraceDocuments: c.TraceDocuments,
	})
	if err != nil {
		return err
	}
	shown, err := c.shown()
	if err != nil {
		return err
	}
	locks, err := c.Locks()
	if err != nil {
		return err
	}
	o := soap.Options{
		Service: c.ServiceName(), Version: c.SOAPVersion, Locks: locks, Address: c.PublicURL,
		Addresses:      c.soapAddresses(),
		TrustTransport: c.Dev || c.TrustTransport, MaxEnvelope: c.MaxEnvelope,
		SOAPAction: soap.ActionRule(c.SOAPAction), Partial: soap.PartialRule(c.SOAPPartial),
		Ready: e.Feed.Ready(), WaitFor: e.Client.WaitFor,
		Quota: r.Quota, Replays: r.replays, Undelivered: r.undelivered, Keys: r.soapKeys, Jobs: r.jobs, Metrics: r.Metrics, Logger: r.log, Patience: r.patience,
		Shown: shown, Admit: r.Admission.Call,
	}
	if r.role.Edge {
		if e.Gateway, err = soap.NewGateway(r.Bus, e.Model, o); err != nil {
			return err
		}
	}
	if r.role.Writes {
		e.worker = resource.NewWorker(r.Bus, e.Model, resource.WorkerOptions{Reads: e.Client, Metrics: r.Metrics, Logger: r.log})
		e.Client.Use(e.worker)
		if e.eraser, err = r.openEraser(ctx, e.Model); err != nil {
			return err
		}
		if e.maker, err = r.openMaker(ctx, e); err != nil {
			return err
		}
		e.soap, err = soap.NewService(r.Bus, e.Model, e.Engine, r.Accounts, r.Verifier, o)
	}
	return err
}

// openStore opens the view of a model in a directory of its own, or the one that
// processes share.
func (r *Rooms) openStore(ctx context.Context, m *schema.Model) (_ *store, err error) {
	if r.config.ViewURL != "" {
		return r.openShared(m)
	}
	s := &store{}
	if dir := r.config.viewDir(); dir != "" {
		s.dir = filepath.Join(dir, m.Fingerprint[:viewName])
	}
	o := view.Options{Dir: s.dir, Memory: cmp.Or(r.config.ViewMemory<<20, -1), Logger: r.log}
	if s.View, err = r.openView(ctx, m, o); err != nil {
		return nil, err
	}
	s.Feed = resource.NewFeed(r.Bus, m, s.View, resource.FeedOptions{Snapshots: r.snapshots(m), Metrics: r.Metrics, Logger: r.log})
	return s, nil
}

// viewName is how many digits of a schema's fingerprint name its view.
const viewName = 16

// sweepViews deletes the views of other schemas than the one that is kept: a
// process that was killed leaves its own. What cannot be deleted is in use, or
// is tried again at the next start.
func (r *Rooms) sweepViews(ctx context.Context, kept string) {
	if kept == "" {
		return
	}
	dirs, _ := filepath.Glob(filepath.Join(filepath.Dir(kept), strings.Repeat("[0-9a-f]", viewName))) // the pattern is good
	for _, dir := range dirs {
		if dir == kept || !isDir(dir) {
			continue
		}
		if err := view.Remove(ctx, dir); err != nil {
			r.log.Warn("the view of another schema cannot be deleted", "error", err)
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// read makes the feed run; fail gets its error when it ends by itself.
func (e *Edition) read(ctx context.Context, fail func(error)) {
	if e.reading == nil {
		e.reading = run(ctx, fail, e.store.parts()...)
	}
}

// write makes the worker, SOAP and jobs run, if there are any.
func (e *Edition) write(ctx context.Context, fail func(error)) {
	if e.worker != nil {
		parts := []proc.Part{{Name: "eraser", Run: e.eraser.Run}, {Name: "worker", Run: e.worker.Run}, {Name: "soap", Run: e.soap.Run}, {Name: "jobs", Run: e.soap.RunJobs}}
		if e.maker != nil {
			parts = append(parts, proc.Part{Name: "snapshots", Run: e.maker.Run})
		}
		e.writing = run(ctx, fail, parts...)
	}
}

// serves reports whether the worker, if there is one, takes work.
func (e *Edition) serves() bool {
	if e.worker == nil {
		return true
	}
	for _, ready := range []<-chan struct{}{e.worker.Ready(), e.soap.Ready()} {
		select {
		case <-ready:
		default:
			return false
		}
	}
	return true
}

// started returns when the edition serves, or is over: the one that follows has
// served before.
func (e *Edition) started(ctx context.Context) error {
	all := []<-chan struct{}{e.Feed.Ready()}
	if e.worker != nil {
		all = append(all, e.worker.Ready(), e.soap.Ready())
	}
	for _, ready := range all {
		select {
		case <-ready:
		case <-e.over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// close closes the edition and its store. Nothing of it runs.
func (e *Edition) close() error {
	if e.Engine != nil {
		e.Engine.Close()
	}
	if e.store == nil {
		return nil
	}
	return e.View.Close()
}
