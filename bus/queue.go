package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/fault"
	"tidings/internal/sleep"
)

// QueueOptions says how a queue is kept. The bounds hold for a queue that is
// created; those of one that is there are the operator's own.
type QueueOptions struct {
	// Name is one token of the letters [A-Za-z0-9_-]; the stream is called
	// <prefix>-<name>, and its subjects begin with <prefix>.<name>.
	Name string
	// Description is shown to operators.
	Description string
	// MaxAge is how long a task waits at most; then it is forgotten. Zero means for ever.
	MaxAge time.Duration
	// MaxBytes bounds the queue; a full one refuses tasks. Zero means no bound.
	MaxBytes int64
	// Patience is how long a worker may be silent before its task goes to
	// another one: when its process was killed or cut off, say. Zero means 5 s.
	Patience time.Duration
	// Pause is how long a task waits that failed, before it comes again. Zero
	// means 2 s.
	Pause time.Duration
}

// Queue is a JetStream work queue that all processes share: each task goes to
// one worker, and is gone when that has done it. Its methods may run
// concurrently. It ends with the bus.
type Queue struct {
	bus      *Bus
	opts     QueueOptions
	stream   string
	subjects string // what a task's subject begins with
}

// Task is what a queue holds.
type Task struct {
	ID   string
	Data []byte
	// Tries is how many workers have been given it, this one included.
	Tries int
}

const (
	// queueTwice is within which time a task with the same id is stored once.
	queueTwice = 2 * time.Minute
	// queueWorkers is the consumer that all workers share.
	queueWorkers = "workers"
	// fetchWait is how long a worker asks for a task before it asks anew.
	fetchWait = 20 * time.Second
)

// Queue opens a queue, and creates it when it is absent.
func (b *Bus) Queue(ctx context.Context, o QueueOptions) (*Queue, error) {
	if !plain(o.Name) {
		return nil, fmt.Errorf("open queue: the name %q is not one token of the letters A-Z a-z 0-9 _ -", o.Name)
	}
	o.Patience, o.Pause = cmp.Or(o.Patience, 5*time.Second), cmp.Or(o.Pause, 2*time.Second)
	q := &Queue{bus: b, opts: o, stream: b.subjects.Queue(o.Name), subjects: b.subjects.Prefix + "." + o.Name + "."}
	ctx, cancel := b.bound(ctx)
	defer cancel()
	if err := q.ensure(ctx); err != nil {
		return nil, fmt.Errorf("open queue %s: %w", q.stream, err)
	}
	return q, nil
}

// Queue is the name of a queue's stream.
func (s Subjects) Queue(name string) string { return s.Prefix + "-" + name }

func (q *Queue) ensure(ctx context.Context) error {
	want := jetstream.StreamConfig{
		Name:        q.stream,
		Description: q.opts.Description,
		Subjects:    []string{q.subjects + ">"},
		Storage:     q.bus.streamConfig().Storage,
		Replicas:    q.bus.opts.Replicas,
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew,
		MaxMsgs:     -1,
		MaxBytes:    cmp.Or(q.opts.MaxBytes, -1),
		MaxAge:      q.opts.MaxAge,
		Duplicates:  queueTwice,
	}
	if want.MaxAge > 0 {
		want.Duplicates = min(queueTwice, want.MaxAge)
	}
	s, err := q.bus.ensure(ctx, want)
	if err != nil {
		return unavailable(err)
	}
	if have := s.CachedInfo().Config; have.Retention != jetstream.WorkQueuePolicy || have.Discard != jetstream.DiscardNew || have.Sealed || have.NoAck {
		return errors.New("the stream is not kept as a work queue that refuses what it has no room for; delete it, so that it is created anew")
	}
	return q.ensureWorkers(ctx)
}

// Len is how many tasks there are that are not done. UNAVAILABLE when the queue is
// away.
func (q *Queue) Len(ctx context.Context) (int64, error) {
	var info struct {
		State struct {
			Messages int64 `json:"messages"`
		} `json:"state"`
	}
	if err := q.bus.api(ctx, "STREAM.INFO."+q.stream, &info); err != nil {
		return 0, fmt.Errorf("length of the queue %s: %w", q.stream, err)
	}
	return info.State.Messages, nil
}

// Put adds a task at the end. A task with the same id that was put in the last
// two minutes is not added again. Faults: UNAVAILABLE when the queue is full or
// away, PAYLOAD_TOO_LARGE; the error is ErrUnknownOutcome when nobody can tell.
func (q *Queue) Put(ctx context.Context, id string, data []byte) (err error) {
	subject := q.subjects + token(id)
	if err := checkSubject(subject); err != nil {
		return err
	}
	ctx, cancel := q.bus.bound(ctx)
	defer cancel()
	m := outgoing(subject, Header{nats.MsgIdHdr: {id}}, data)
	ctx, span := q.putting(ctx, m)
	defer func() { finish(span, err) }()
	if limit := q.bus.nc.MaxPayload(); int64(m.Size()) > limit {
		return fault.New(fault.PayloadTooLarge, "the task is larger than the %d bytes that the bus carries", limit)
	}
	resp, err := q.bus.exchange(ctx, m)
	if err != nil {
		return appendError(err)
	}
	var ack struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(resp.Data, &ack); err != nil {
		return fmt.Errorf("%w: put to %s: %w", ErrUnknownOutcome, q.stream, err)
	}
	if ack.Error != nil {
		return refused(ack.Error, subject)
	}
	return nil
}

// Work hands tasks to fn, as many at a time as concurrency says, until ctx ends
// and every fn has returned; then it returns nil. Any number of processes may do
// so side by side. What fn returns nil for is done. Otherwise the task comes
// again after QueueOptions.Pause, to any worker, or at once when ctx has ended:
// fn's ctx ends with it. A worker that is killed loses its tasks to others when
// Patience is over; so a task may come twice, and now and then to two at a time. An
// error with ErrStale in it says that another one is at the task: nothing is told to
// the queue then. A panic counts as an error.
func (q *Queue) Work(ctx context.Context, concurrency int, fn func(ctx context.Context, t Task) error) error {
	var workers sync.WaitGroup
	for range max(1, concurrency) {
		workers.Go(func() {
			for ctx.Err() == nil {
				if err := q.next(ctx, fn); err != nil && ctx.Err() == nil {
					q.bus.log.LogAttrs(ctx, slog.LevelDebug, "no task", slog.String("queue", q.stream), slog.Any("error", err))
					_ = sleep.For(ctx, retryEvery) // then the loop ends
				}
			}
		})
	}
	workers.Wait()
	return nil
}

// next waits for one task and does it. The error says why there was none.
func (q *Queue) next(ctx context.Context, fn func(ctx context.Context, t Task) error) error {
	c, err := q.bus.js.Consumer(ctx, q.stream, queueWorkers)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return q.ensure(ctx) // somebody has deleted it
	}
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		m, err := fetchOne(ctx, c)
		if err != nil {
			return err
		}
		if m != nil {
			q.bus.taken.Add(1)
			q.do(ctx, m, fn)
			q.bus.taken.Add(-1)
		}
	}
	return nil
}

// fetchOne returns nil when there is no task for a while.
func fetchOne(ctx context.Context, c jetstream.Consumer) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	batch, err := c.Fetch(1, jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(fetchWait/10))
	if err != nil {
		return nil, err
	}
	for m := range batch.Messages() {
		return m, nil
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
		return nil, err
	}
	return nil, nil
}

// do does one task, and says meanwhile that it is at it.
func (q *Queue) do(ctx context.Context, m jetstream.Msg, fn func(ctx context.Context, t Task) error) {
	meta, err := m.Metadata()
	if err != nil {
		q.bus.log.LogAttrs(ctx, slog.LevelWarn, "a task without its metadata", slog.String("queue", q.stream), slog.Any("error", err))
		return
	}
	id, _ := untoken(m.Subject()[min(len(q.subjects), len(m.Subject())):]) // an operator may have put anything there
	task := Task{ID: id, Data: m.Data(), Tries: int(meta.NumDelivered)}
	working, done := context.WithCancel(ctx)
	var beat sync.WaitGroup
	beat.Go(func() {
		for sleep.For(working, q.opts.Patience/4) == nil {
			_ = m.InProgress() // lost, it goes to another one
		}
	})
	traced, span := q.doing(working, m.Headers())
	err = q.guarded(traced, task, fn)
	finish(span, err)
	done()
	beat.Wait()
	switch {
	case err == nil:
		err = m.Ack()
	case errors.Is(err, ErrStale): // or it comes again when its worker is silent
		return
	case ctx.Err() != nil:
		err = m.Nak()
	default:
		err = m.NakWithDelay(q.opts.Pause)
	}
	if err != nil && ctx.Err() == nil {
		q.bus.log.LogAttrs(ctx, slog.LevelDebug, "a task's end was not told; it comes again", slog.String("queue", q.stream), slog.String("task", id), slog.Any("error", err))
	}
}

func (q *Queue) guarded(ctx context.Context, t Task, fn func(ctx context.Context, t Task) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			q.bus.log.LogAttrs(ctx, slog.LevelError, "a task panicked", slog.String("queue", q.stream), slog.String("task", t.ID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fault.New(fault.Internal, "internal error")
		}
	}()
	return fn(ctx, t)
}
