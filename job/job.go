// Package job runs work that outlives its request.
//
// A job is a list of items of one kind, such as ten thousand records to create.
// Submit stores it and returns at once; workers of any process carry its items
// out, part by part and each once; Look tells how far it has come, and Page
// gives what came of each item. Nothing of it depends on the process that took it:
// a worker may be killed at any time, and another one goes on.
//
// The room does not know what items mean: a Runner carries them out. It keeps
// jobs in a bucket and lets workers take turns by a queue of the bus; docs/bus.md
// has the form of both.
package job

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/internal/proc"
)

// Options tunes the jobs. The zero value has the defaults of every field.
type Options struct {
	// Age is how long a job is kept after it was submitted: it must be done and
	// its results fetched by then. Zero means 24 h. Age and Bytes hold for a bucket
	// that is created; one that is there keeps its own.
	Age time.Duration
	// Bytes bounds what is kept of all jobs; at half of it new ones are refused, so
	// that there is room for their results. Zero means 256 MiB.
	Bytes int64
	// Queued is how many unfinished jobs one caller may have. Zero means 10. All the
	// jobs of one caller that are kept, finished or not, are 1,000 at most, and the
	// bytes of their items an eighth of Bytes.
	Queued int
	// Items is how many items a job may have. Zero means 10,000.
	Items int
	// Concurrency is how many jobs one process works at at a time. Zero means 2.
	Concurrency int
	// Patience is how long a worker may be silent before another one goes on with
	// its job. Zero means 5 s.
	Patience time.Duration
	// Pause is how long a job waits when what its items need is away. Zero means 2 s.
	Pause time.Duration
	// Standing returns why the credentials of a job's caller count no more, nil
	// while they do: a *fault.Error. It is asked before each part of a job. Nil:
	// they always count.
	Standing func(auth.Principal) error
	// Metrics count jobs; nil: nothing does.
	Metrics *proc.Metrics
	// Logger; nil means silent.
	Logger *slog.Logger
}

// The bounds of a part of a job: what a worker does in one turn, and a page of the
// results.
const (
	// MaxPage is how many results a page has at most.
	MaxPage = 100
	// partBytes bounds the items of a part, unless there is only one.
	partBytes = 64 << 10
	// maxItem bounds one item, in bytes: it fits into a message of the bus.
	maxItem = 512 << 10
	// maxKept is how many jobs of one caller are kept, and keptShare what part of
	// Options.Bytes they may take.
	maxKept, keptShare = 1000, 8
	// pageBytes bounds the results of a part, unless there is only one.
	pageBytes = 256 << 10
	// maxTries is how many workers try a part before what cannot be carried out is
	// told as its result.
	maxTries = 20
	// maxFull is after how many tries results are left out for which there is no room.
	maxFull = 5
)

// Jobs are the jobs of all processes. Its methods may run concurrently. It ends
// with the bus.
type Jobs struct {
	bus    *bus.Bus
	bucket *bus.Bucket
	queue  *bus.Queue
	opts   Options

	running *proc.Level
	ended   *proc.Counter
}

// Open opens the bucket and the queue, and creates what is absent.
func Open(ctx context.Context, b *bus.Bus, o Options) (*Jobs, error) {
	o.Age, o.Bytes = cmp.Or(o.Age, 24*time.Hour), cmp.Or(o.Bytes, 256<<20)
	o.Queued, o.Items, o.Concurrency = cmp.Or(o.Queued, 10), cmp.Or(o.Items, 10_000), cmp.Or(o.Concurrency, 2)
	if o.Standing == nil {
		o.Standing = func(auth.Principal) error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	k, err := b.Bucket(ctx, bus.BucketOptions{Name: "jobs", Description: "Jobs: their items, progress and results.", MaxAge: o.Age, MaxBytes: o.Bytes})
	if err != nil {
		return nil, err
	}
	q, err := b.Queue(ctx, bus.QueueOptions{Name: "jobs", Description: "The jobs that are to go on, in turn.",
		MaxAge: o.Age, MaxBytes: max(1<<20, o.Bytes/16), Patience: o.Patience, Pause: o.Pause})
	if err != nil {
		return nil, err
	}
	return &Jobs{
		bus: b, bucket: k, queue: q, opts: o,
		running: o.Metrics.Level("tidings_jobs_running", "Parts of jobs that this worker carries out now."),
		ended: o.Metrics.Counter("tidings_jobs_ended_total", "Jobs that this worker has seen the end of.", "outcome").
			Closed([]string{"done", "failed", "cancelled"}),
	}, nil
}

// Queued is how many parts of jobs wait or are under way, in all processes. It
// asks the bus: UNAVAILABLE when that does not answer.
func (j *Jobs) Queued(ctx context.Context) (int64, error) { return j.queue.Len(ctx) }

// Part is some items of a job, to be carried out together.
type Part struct {
	// Kind and Document are those of the job, Inputs the Data of the items.
	Kind, Document string
	Inputs         []json.RawMessage
	// Command names it, the same each time it is carried out. It begins with a UUIDv7.
	Command string
	// Since is a position of the log from before it was carried out for the first time.
	Since uint64
	// Again: it may have been carried out before, as a whole or in part.
	Again bool
}

// Input is what a submitter says of an item.
type Input struct {
	// Ref comes back with the outcome, for the submitter to tell by.
	Ref string `json:"ref,omitempty"`
	// Data is for the Runner.
	Data json.RawMessage `json:"data"`
}

// Outcome is what came of an item. What has neither Result nor Error has
// succeeded: there is nothing to tell, or it is left out of a page that would be
// too large.
type Outcome struct {
	Ref    string          `json:"ref,omitempty"` // for Page; a Runner need not set it
	Result json.RawMessage `json:"result,omitempty"`
	Error  *fault.Error    `json:"error,omitempty"`
}

// Runner carries out the items of a part for a caller, and returns what came of
// each, in their order. It must make each change once when it is called again with
// the same Part.Command, also by another process at the same time. UNAVAILABLE and
// TIMEOUT of an item mean that the part is to be tried again.
type Runner func(ctx context.Context, who auth.Principal, p Part) []Outcome

// State says how a job is.
type State string

// The states. The last three are final.
const (
	Queued    State = "QUEUED"    // nothing was done yet
	Running   State = "RUNNING"   // some items were carried out, or are just now
	Done      State = "DONE"      // all were carried out; each has its result
	Failed    State = "FAILED"    // it was given up: Status.Reason says why
	Cancelled State = "CANCELLED" // by Cancel
)

// Final reports whether a job in this state goes no further.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled }

// Status tells how far a job has come.
type Status struct {
	ID, Kind string
	State    State
	Reason   string // why it Failed
	// Done is how many items were carried out, Failed how many of these came to an
	// error, Total how many there are.
	Done, Failed, Total int
	// Pages is how many pages of results there will be, Ready how many there are.
	Pages, Ready int
	// Submitted is when it was; Updated when it went on last.
	Submitted, Updated time.Time
	// RetryAfter is in how many seconds to look again; 0 when it is over.
	RetryAfter int
}

// Page is some results of a job.
type Page struct {
	Status
	Number int // from 0
	// First is the index of its first item in the job, from 0.
	First    int
	Outcomes []Outcome
}
