package trace

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// queued is how many spans wait at most; those that come on top are dropped.
	queued = 4096
	// batched is how many leave together at most.
	batched = 512
	// complains is how often the log is told that spans do not arrive.
	complains = time.Minute
)

// queue takes spans that have ended and sends them off on a goroutine of its own.
// It never waits: what has no room is dropped, and counted.
type queue struct {
	spans   chan sdk.ReadOnlySpan
	to      *otlptrace.Exporter
	post    *post
	log     *slog.Logger
	dropped func(n int)

	closing chan struct{}      // closed by close
	once    sync.Once          // closes it
	life    context.Context    // of what is under way
	cut     context.CancelFunc // ends it
	done    chan struct{}      // closed when the goroutine has ended
	said    time.Time          // when the log was told last
}

var _ sdk.SpanProcessor = (*queue)(nil)

func newQueue(to *destination, log *slog.Logger, dropped func(n int)) *queue {
	q := &queue{spans: make(chan sdk.ReadOnlySpan, queued), log: log, dropped: dropped, closing: make(chan struct{}), done: make(chan struct{})}
	q.life, q.cut = context.WithCancel(context.Background())
	q.post = &post{to: to, hurry: q.closing, rejected: func(n int) { q.lose(n, nil) }}
	q.to = otlptrace.NewUnstarted(q.post)
	go q.run()
	return q
}

// OnStart implements sdk.SpanProcessor.
func (q *queue) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements sdk.SpanProcessor.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	select {
	case <-q.closing:
	default:
		select {
		case q.spans <- s:
			return
		default:
		}
	}
	q.dropped(1)
}

// Shutdown implements sdk.SpanProcessor; Tracer.Close does it.
func (q *queue) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdk.SpanProcessor; nobody asks for it.
func (q *queue) ForceFlush(context.Context) error { return nil }

// run sends batches until close.
func (q *queue) run() {
	defer close(q.done)
	tick := time.NewTicker(q.post.to.every)
	defer tick.Stop()
	batch := make([]sdk.ReadOnlySpan, 0, batched)
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) < batched {
				continue
			}
		case <-tick.C:
		case <-q.closing:
			q.rest(batch)
			return
		}
		q.send(batch)
		batch = batch[:0]
	}
}

// rest sends what is left.
func (q *queue) rest(batch []sdk.ReadOnlySpan) {
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) == batched {
				q.send(batch)
				batch = batch[:0]
			}
		default:
			q.send(batch)
			return
		}
	}
}

func (q *queue) send(batch []sdk.ReadOnlySpan) {
	if len(batch) == 0 {
		return
	}
	if err := q.to.ExportSpans(q.life, batch); err != nil {
		q.lose(len(batch), err)
	}
}

// lose counts spans that the receiver has not taken; of the reasons the log gets one
// a minute.
func (q *queue) lose(n int, err error) {
	q.dropped(n)
	if now := time.Now(); now.Sub(q.said) >= complains {
		q.said = now
		q.log.LogAttrs(context.Background(), slog.LevelWarn, "spans do not get to the receiver of traces and are dropped; the service goes on without",
			slog.String("server", q.post.to.host), slog.Int("spans", n), slog.Any("error", err))
	}
}

// close lets nothing more in, and returns when what waits is sent, or when ctx ends.
func (q *queue) close(ctx context.Context) {
	defer context.AfterFunc(ctx, q.cut)()
	q.once.Do(func() { close(q.closing) })
	<-q.done
	q.cut()
	q.post.to.client.CloseIdleConnections()
}
