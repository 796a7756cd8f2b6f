// Package bus moves bytes over NATS: Call and Serve carry requests, Append and
// Follow keep the log; a Bucket and a Queue keep what processes share beside it;
// Ask, Tell, Hear and Tail reach services and streams of an adopter's own; and it
// builds every subject of the service.
//
// It does not know what a record, a command or an envelope means: a message is
// a subject, headers and bytes. Here is the only door to nats.go, to the
// embedded nats-server and to gobreaker. docs/bus.md says the same for other
// languages: every subject, header and payload.
//
// The log is one JetStream stream. A sequence names a message for ever; the
// last message of a subject is the state of what the subject names. The stream
// republishes what it stored, so that a core subscription follows it live, and
// whatever that misses is read from the stream itself: see [Bus.Follow].
package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/fault"
	"tidings/internal/proc"
	"tidings/internal/trace"
)

// Options says which server to use and how the log is kept. The zero value
// embeds a server that keeps everything in memory.
type Options struct {
	// URL of an external server, or several separated by commas. They may hold
	// "user:password@", which is never logged. Empty: a server is embedded.
	URL string
	// Dir is where the embedded server keeps its files; it is created when
	// absent and one process at a time may use it. Empty: memory only.
	Dir string
	// Listen is the "host:port" on which the embedded server takes other NATS
	// clients: those who show what Access says, and on a loopback address
	// anybody when it says nothing. Port 0 picks a free one, see [Bus.URL].
	// Empty: this process only.
	Listen string
	// Unguarded lets an embedded server listen on any address without asking
	// anybody who they are.
	Unguarded bool
	// SyncAlways makes the embedded server flush each append to the disk
	// before it is acknowledged, at about a tenth of the speed. Without it an
	// acknowledged append is with the operating system: it survives the kill
	// of the process, but up to two minutes may be lost with the power.
	SyncAlways bool
	// Access says as whom the process comes to an external server, and who may
	// come to an embedded one that listens. The zero value is nobody, in the clear.
	Access Access
	// Inbox is the first part of the subjects on which this process gets its
	// answers: with one of its own for each role, none can read those of another.
	// Zero means "_INBOX".
	Inbox string
	// Prefix is the first token of every subject and of the stream's name,
	// of the letters [A-Za-z0-9_-]. Zero means "tidings".
	Prefix string
	// Name is shown to operators as the connection's name. Zero means Prefix.
	Name string
	// Program is the command with which people set the bus up, `api bus setup`, for
	// what the bus tells them to type. Zero means "api".
	Program string
	// Replicas is how many servers keep the log. Zero means 1.
	Replicas int
	// History is how many messages of a subject are kept. Zero means 64.
	History int64
	// Existing makes Open fail when there is no log, and what opens buckets and queues
	// when they are not there, instead of creating them:
	// for those who come to look.
	Existing bool
	// MaxBytes bounds the log; a full one refuses changes until the bound is
	// raised. It holds for a log that is created, and that of an embedded server.
	// Zero means no bound.
	MaxBytes int64
	// Edit makes Open, and what opens buckets and queues, change the streams that
	// are there to what the options say: copies, bounds, how many messages of a
	// subject are kept. It is for those who set a bus up.
	Edit bool
	// Memory keeps the log in memory at an external server too, for tests.
	Memory bool
	// Logger takes what operators should know. Nil is silent.
	Logger *slog.Logger
	// Tracer makes spans of what goes over the bus in traces that others have
	// begun; nil: nobody does.
	Tracer *trace.Tracer
	// CallTimeout bounds calls and appends whose context has no deadline of
	// its own. Zero means 10 s.
	CallTimeout time.Duration
	// Silence is how long an external server may leave this process without an
	// answer to its pings before the connection is taken for lost, and another
	// server, or the same one again, is tried: at most that, and three quarters of
	// it at least. Zero means 10 s.
	Silence time.Duration
}

// A Bus is a connection to NATS with the log on it. All its methods may run
// concurrently. Close ends it; what still runs on it then fails.
type Bus struct {
	opts     Options
	subjects Subjects
	log      *slog.Logger
	server   *embedded // nil when the server is external
	nc       *nats.Conn
	js       jetstream.JetStream
	logID    string
	breakers breakers
	glances  glances // at the log and at streams of the adopter's
	group    group
	nears    nears
	links    links
	denials  denials
	kept     keeping
	full     fullness
	taken    atomic.Int64 // see Taken

	gaps, missed atomic.Uint64 // in what came live of the log
	appends      atomic.Pointer[proc.Timing]

	// replicated: a direct get may be answered by one who is behind.
	replicated atomic.Bool
	close      sync.Once
	// Two hands of the tests, nil in use. intercept sees each live message
	// before the follower and returns what the follower gets instead; lose says
	// which answers of the stream are lost on their way.
	intercept func(*nats.Msg) []*nats.Msg
	lose      func(*nats.Msg) bool
}

// Open starts or finds the server, connects, and creates the log's stream or
// checks it. A stream that is configured in another way is never changed: the
// error lists each difference and the remedy. ctx bounds the opening only.
func Open(ctx context.Context, o Options) (*Bus, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	b := &Bus{opts: o, subjects: Subjects{Prefix: o.Prefix, Inbox: o.Inbox}, log: o.Logger}
	b.breakers.log, b.breakers.prefix = o.Logger, o.Prefix
	if err := b.open(ctx); err != nil {
		b.shutdown()
		return nil, fmt.Errorf("open bus: %w", err)
	}
	return b, nil
}

func (b *Bus) open(ctx context.Context) error {
	if b.opts.URL == "" {
		server, err := embed(ctx, b.opts)
		if err != nil {
			return err
		}
		b.server = server
	}
	nc, err := b.connect(ctx, b.opts.Name)
	if err != nil {
		return err
	}
	b.nc = nc
	if v := nc.ConnectedServerVersion(); tooOld(v) {
		return fmt.Errorf("the NATS server is of the version %s, and the log needs %d.%d or later, for atomic batches: upgrade the servers", v, oldestMajor, oldestMinor)
	}
	if b.js, err = jetstream.New(nc); err != nil {
		return err
	}
	if b.opts.Existing {
		if _, err := b.stateOf(ctx, b.subjects.Stream()); isCode(err, codeStreamNotFound) {
			return b.noLog()
		}
	}
	id, err := b.ensureLog(ctx, b.streamConfig())
	if err != nil {
		return err
	}
	b.logID = id
	b.replicated.Store(b.opts.Replicas > 1)
	return nil
}

// ErrNoLog says that there is no log where Options.Existing expects one.
var ErrNoLog = errors.New("there is no log")

// noLog says that there is none, and the remedy.
func (b *Bus) noLog() error {
	if b.server != nil {
		return fmt.Errorf("%w in %s, no stream %s; name the directory and the prefix of a service that has run", ErrNoLog, b.opts.Dir, b.subjects.Stream())
	}
	return fmt.Errorf("%w on this server, no stream %s; `%s bus setup` makes it, or the first start of the service, if this is the right server and prefix", ErrNoLog, b.subjects.Stream(), b.opts.Program)
}

func (o Options) withDefaults() (Options, error) {
	if o.URL != "" && (o.Dir != "" || o.Listen != "") {
		return o, errors.New("a URL names an external server, a directory or a listen address an embedded one: give one or the other")
	}
	if o.Prefix == "" {
		o.Prefix = "tidings"
	}
	if !plain(o.Prefix) {
		return o, fmt.Errorf("the prefix %q is not one token of the letters A-Z a-z 0-9 _ -", o.Prefix)
	}
	if o.Name == "" {
		o.Name = o.Prefix
	}
	if o.Program == "" {
		o.Program = "api"
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.History == 0 {
		o.History = 64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 10 * time.Second
	}
	if o.Silence == 0 {
		o.Silence = 10 * time.Second
	}
	return o, nil
}

// Close sends what is still to be sent, closes the connection and stops the
// embedded server. It is for after Follow and Serve have returned. A second
// Close does nothing. The error says that ctx, or two seconds, ended before a
// connected server had taken everything; it is closed all the same.
func (b *Bus) Close(ctx context.Context) (err error) {
	b.close.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if b.nc.IsConnected() {
			err = b.nc.FlushWithContext(ctx)
		}
		if !b.nc.IsConnected() || ctx.Err() == nil { // what a lost connection did not send is lost already
			err = nil
		}
		b.shutdown()
	})
	if err != nil {
		return fmt.Errorf("close bus: %w", err)
	}
	return nil
}

func (b *Bus) shutdown() {
	if b.nc != nil {
		b.nc.Close()
	}
	b.group.close()
	if b.server != nil {
		b.server.stop()
	}
}

// Subjects builds the subjects under this bus's prefix.
func (b *Bus) Subjects() Subjects { return b.subjects }

// URL is where other clients reach the embedded server; empty when it takes
// none, or when the server is external.
func (b *Bus) URL() string {
	if b.server == nil {
		return ""
	}
	return b.server.url()
}

// LogID is the identity of the log: a short token that is the same for every
// process on the same log, and another one after the stream was deleted and
// created again. A position in one log means nothing in another.
func (b *Bus) LogID() string { return b.logID }

// MaxPayload is how many bytes one message may have, its headers included, as
// the server says.
func (b *Bus) MaxPayload() int { return int(b.nc.MaxPayload()) }

// Ready reports why the bus cannot be used just now: UNAVAILABLE while the
// connection is lost, and as far as it is known why, nil while it stands. It
// sends nothing.
func (b *Bus) Ready() error {
	if b.nc.IsConnected() {
		return nil
	}
	var why error
	for _, l := range b.links.all() {
		if l.nc.Load() == b.nc {
			why = l.reason()
		}
	}
	return fault.Wrap(why, fault.Unavailable, "the bus is not connected")
}

// State tells the first and the last sequence of the log, as its leader knows
// them; last is 0 and first is 0 or 1 while it is empty.
func (b *Bus) State(ctx context.Context) (first, last uint64, err error) {
	s, err := b.state(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("state of the log: %w", err)
	}
	return s.first, s.last, nil
}

// bound gives ctx a deadline when it has none.
func (b *Bus) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, b.opts.CallTimeout)
}
