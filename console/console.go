// Package console shows an operator what runs, live, and takes orders from them.
//
// Every process that has a Console answers, over the bus, the looks of those that
// serve its page: with its numbers and, where it has clients, with some of their
// operations. Nothing is collected while nobody looks. What the page shows comes
// from subscriptions to the contract beside this file, which an engine and a hub
// of the console's own answer: docs/console.md has it, docs/bus.md the messages.
package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"sync"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/proc"
	"tidings/realtime"
	"tidings/resource"
	"tidings/schema"
)

// Options say what there is to see in a process. Bus, Metrics and Ready must be
// there; without Verifier there is no page, and the process only answers.
type Options struct {
	Bus     *bus.Bus
	Metrics *proc.Metrics
	// Ready is what /readyz says.
	Ready func() error
	// Role is what the process does: api, worker, or both.
	Role string
	// Hub has the clients; nil: there are none.
	Hub *realtime.Hub
	// Groups are those of the engine of the moment, largest first.
	Groups func(most int) []graphql.LiveGroup
	// Text is the document of a request that may only name it; empty: it is not known.
	// Nil knows those that were sent.
	Text func(graphql.Request) string
	// Feed is the one of the moment.
	Feed func() *resource.Feed
	// Verifier tells who an operator is.
	Verifier *auth.Verifier
	// Revoke takes tokens back, in all processes.
	Revoke func(context.Context, auth.Revocation) error
	// Every is how often is looked. Zero means 1 s.
	Every time.Duration
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Console is the console of a process. New makes it; Run makes it go, and ends it.
type Console struct {
	opts   Options
	id     string
	self   identity
	engine *graphql.Engine // nil: there is no page
	hub    *realtime.Hub
	page   string

	mu        sync.Mutex
	looking   int // subscriptions to the page's contract
	wanted    chan struct{}
	nth       uint64           // of the last look
	questions map[question]int // and how many ask them
	reports   map[string]heard // by process
	changed   chan struct{}    // closed when there is something new
	overviews []overview       // of the last while, oldest first
	answers   map[question]list
}

// identity is what a process says of itself.
type identity struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Role    string    `json:"role"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
}

// New returns the console of a process.
func New(o Options) (*Console, error) {
	o.Every = cmp.Or(o.Every, time.Second)
	if o.Text == nil {
		o.Text = func(r graphql.Request) string { return r.Query }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	id := rand.Text()[:idLength]
	c := &Console{
		opts: o, id: id, self: identity{id, host, o.Role, proc.ThisBuild().Version, time.Now().UTC()},
		wanted: make(chan struct{}, 1), changed: make(chan struct{}),
		questions: map[question]int{}, reports: map[string]heard{}, answers: map[question]list{},
	}
	if o.Verifier != nil {
		if err := c.openPage(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Run answers those who look, and looks for those who use the page, until ctx
// ends; then it ends the page's connections. The service goes on where the bus does
// not let the console do its part: the log says what.
func (c *Console) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { c.answer(ctx) })
	if c.opts.Hub != nil {
		parts.Go(func() { c.obey(ctx) })
	}
	if c.engine != nil {
		parts.Go(func() { c.watch(ctx) })
		defer c.closePage()
	}
	<-ctx.Done()
	return nil
}

// admits returns why somebody may not use the console, nil when they may.
func admits(who auth.Principal) error {
	if who.Roles.Has(schema.Admin) {
		return nil
	}
	return fault.New(fault.Forbidden, "the console is for callers with the role ADMIN")
}

// missed tells the log of a part that the console cannot do.
func (c *Console) missed(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		c.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the console "+what, slog.Any("error", err), slog.String("remedy", "let the role use the subjects of the console: deploy/nats"))
	}
}
