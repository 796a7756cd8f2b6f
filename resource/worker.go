package resource

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"tidings/bus"
	"tidings/fault"
	"tidings/internal/proc"
	"tidings/schema"
)

// The headers of a record's message (docs/bus.md).
const (
	headerKind    = "Tidings-Kind"
	headerActor   = "Tidings-Actor"
	headerCommand = "Tidings-Command"
)

// WorkerOptions tunes a worker. The zero value is good.
type WorkerOptions struct {
	// Concurrency is how many commands are carried out side by side. Zero
	// means 256: they wait for the log most of the time, and those that wait
	// together are stored together.
	Concurrency int
	// Now and NewID replace the clock and the source of ids; nil means the
	// time in microseconds and UUIDv7.
	Now   func() time.Time
	NewID func() string
	// Metrics counts commands; nil: nothing does.
	Metrics *proc.Metrics
	// Reads tells which records refer to one that is to be deleted. It is needed
	// where the schema has deletion rules; without it such deletes fail.
	Reads *Client
	// Logger; nil means silent.
	Logger *slog.Logger
}

// Worker carries out commands: it reads the record, decides, and appends what
// was decided. Any number of workers may run; the log's expected sequences
// keep them from overwriting each other.
type Worker struct {
	bus         *bus.Bus
	model       *schema.Model
	concurrency int
	now         func() time.Time
	newID       func() string
	records     recordLocks
	reads       *Client // nil: it cannot tell who refers to a record
	ready       chan struct{}
	ahead       bool          // unique values are reserved ahead (ahead.go)
	dry         bool          // it decides, and writes nothing
	here        chan struct{} // holds a token for each command of this process's own clients
	log         *slog.Logger
	left        *leftOut
	commands    *proc.Counter
	took        *proc.Histogram
	running     *proc.Level
	again       *proc.Counter
}

// NewWorker returns a worker. Run makes it go.
func NewWorker(b *bus.Bus, m *schema.Model, o WorkerOptions) *Worker {
	w := &Worker{bus: b, model: m, concurrency: o.Concurrency, now: o.Now, newID: o.NewID, records: newRecordLocks(), reads: o.Reads, ahead: b.BatchesWait(), ready: make(chan struct{}), log: o.Logger}
	if w.concurrency == 0 {
		w.concurrency = 256
	}
	w.here = make(chan struct{}, w.concurrency)
	if w.now == nil {
		w.now = timeNow
	}
	if w.newID == nil {
		w.newID = newID
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	w.left = newLeftOut("worker", o.Metrics, w.log)
	w.commands = o.Metrics.Counter("tidings_commands_total", "Commands that were carried out or refused, by what they are and the code of the refusal.", "type", "verb", "code").
		Closed([]string{""}, []string{verbTransaction}, []string{"OK"})
	w.took = o.Metrics.Histogram("tidings_command_work_seconds", "How long it took a worker to carry a command out, or to refuse it.", "verb").Closed(verbs)
	w.running = o.Metrics.Level("tidings_commands_running", "Commands that this process carries out now.")
	w.again = o.Metrics.Counter("tidings_commands_redelivered_total", "Commands that came once more, since nobody had answered their caller; what was done the first time is not done again.")
	for _, r := range m.Resources {
		w.commands.Closed([]string{r.Name}, verbs[:3], []string{"OK"})
	}
	return w
}

// Ready is closed once the worker takes commands.
func (w *Worker) Ready() <-chan struct{} { return w.ready }

// Run answers the commands of every resource until ctx ends, and returns after
// those that had begun are done.
func (w *Worker) Run(ctx context.Context) error {
	var endpoints []bus.Endpoint
	for _, r := range w.model.Resources {
		for _, verb := range []Verb{Create, Update, Delete} {
			endpoints = append(endpoints, bus.Endpoint{
				Name:    string(verb) + "-" + r.Name,
				Subject: w.bus.Subjects().Command(r.Name, string(verb)),
				Handle:  w.handler(r.Name, verb),
			})
		}
	}
	endpoints = append(endpoints, bus.Endpoint{Name: "transaction", Subject: w.bus.Subjects().Transaction(), Handle: w.transact})
	return w.bus.Serve(ctx, bus.Service{
		Name: "tidings-worker", Description: "carries out commands",
		Concurrency: w.concurrency, Endpoints: endpoints, Started: sync.OnceFunc(func() { close(w.ready) }),
	})
}

func (w *Worker) handler(typ string, verb Verb) func(context.Context, bus.Message) ([]byte, bus.Header, error) {
	return func(ctx context.Context, m bus.Message) ([]byte, bus.Header, error) {
		var q request
		if err := json.Unmarshal(m.Data, &q); err != nil {
			return nil, nil, fault.Wrap(err, fault.BadRequest, "the command is not of the form that docs/bus.md describes")
		}
		if !validCommandID(q.ID) {
			return nil, nil, errCommandID
		}
		record, err := w.Carry(ctx, Command{Type: typ, Verb: verb, Input: q.Input, Who: q.Who, ID: q.ID, Once: q.Once})
		if err != nil {
			return nil, nil, err
		}
		body, err := encodeValue(reply{Record: record.Raw, Seq: record.Seq})
		return body, nil, err
	}
}

var errCommandID = fault.New(fault.BadRequest, "the command's id must be of 1 to 64 letters, digits, - and _")

// validCommandID reports whether an id comes back from a header as it went in.
func validCommandID(id string) bool {
	for _, c := range []byte(id) {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return id != "" && len(id) <= 64
}
