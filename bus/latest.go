package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/fault"
	"tidings/internal/sleep"
)

// EveryRecord is the filter of the records of all types.
func (s Subjects) EveryRecord() string { return s.Prefix + ".log.*.*" }

// Schema is the log subject that says under which schema the records were
// looked through last.
func (s Subjects) Schema() string { return s.Prefix + ".log._schema" }

// Latest hands fn the newest message of each subject that matches the filter,
// in the order of the log, as it stood at upto: a sequence that the log has
// reached. Older messages of a subject are not read, so it costs what there is
// and not what there was. Where somebody appends meanwhile, a subject whose
// older messages History trims at that moment may be missing.
//
// An error of fn ends Latest and is returned as it is; one of the bus means that
// the run was not complete. It makes a consumer of the stream for as long as it
// runs, in the memory of one server.
func (b *Bus) Latest(ctx context.Context, filter string, upto uint64, fn func(Message) error) error {
	if upto == 0 {
		return nil
	}
	l := latest{bus: b, stream: b.subjects.Stream(), replicated: b.replicated.Load, filter: filter, upto: upto, fn: fn}
	return l.all(ctx)
}

func (l *latest) all(ctx context.Context) error {
	err := l.run(ctx)
	if h, ok := err.(fnError); ok {
		return h.error
	}
	if err != nil {
		return fmt.Errorf("read the newest of %s: %w", l.filter, err)
	}
	return nil
}

// pulled is how many messages wait here for fn at most. A limit in bytes would
// be better, but then the server loses a message now and then at the end of a
// pull that needs no acknowledgement.
const pulled = 128

// latest is one run over the newest messages. It serves one goroutine.
type latest struct {
	bus        *Bus
	stream     string
	replicated func() bool // the stream is
	filter     string
	upto       uint64
	fn         func(Message) error
	seen       uint64        // messages that the consumer has sent
	made       int           // consumers that have brought nothing
	took       time.Duration // to make a consumer
}

func (l *latest) run(ctx context.Context) error {
	making, cancel := context.WithTimeout(ctx, makingLimit)
	defer cancel()
	for {
		end, err := l.consume(ctx, making)
		if end || err != nil {
			return err
		}
		if err := sleep.For(making, behindPause); err != nil {
			return fault.Wrap(err, fault.Unavailable, "the log's servers do not agree on where it ends")
		}
	}
}

const (
	// makingLimit bounds how long it may take to make the consumer, whatever is
	// the time for calls: the server looks through all subjects first, for many
	// seconds at millions of them.
	makingLimit = 2 * time.Minute
	// behindPause is how long a replica is given to catch up.
	behindPause = 100 * time.Millisecond
	// firstSilence is how long the first message may take, of the first consumer.
	firstSilence = time.Second
)

var errSilent = fault.New(fault.Unavailable, "the log did not answer in time")

// consume reads with one consumer. end is false when it has brought nothing
// although there is something: because the server that runs it is behind, or
// because the first pull came before the server was ready for it. Neither
// always mends itself, so another consumer is made.
func (l *latest) consume(ctx, making context.Context) (end bool, err error) {
	ctx, said, done := l.bus.about(ctx, l.stream)
	defer done()
	c, err := l.create(making)
	if err != nil {
		return false, err
	}
	info := c.CachedInfo()
	defer func() {
		ctx, cancel := l.bus.bound(context.WithoutCancel(ctx))
		defer cancel()
		ctx, _, over := l.bus.about(ctx, l.stream)
		defer over()
		_ = l.bus.js.DeleteConsumer(ctx, l.stream, info.Name) // else it ends by itself
	}()
	if info.NumPending == 0 {
		return l.complete(ctx, 0)
	}
	msgs, err := c.Messages(jetstream.PullMaxMessages(pulled))
	if err != nil {
		return false, unavailable(err)
	}
	defer msgs.Stop()
	for {
		end, err := l.next(ctx, msgs)
		if errors.Is(err, errSilent) && l.seen == 0 {
			l.made++
			return false, nil
		}
		if end || err != nil {
			return end, said(err)
		}
	}
}

// create makes a consumer. Question or answer may be lost, so it is asked for
// again: the name says that it is the same one.
func (l *latest) create(ctx context.Context) (jetstream.Consumer, error) {
	ctx, said, done := l.bus.about(ctx, l.stream)
	defer done()
	config := jetstream.ConsumerConfig{
		Name:          rand.Text(),
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		FilterSubject: l.filter,
		AckPolicy:     jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1,
		InactiveThreshold: time.Minute,
	}
	start := time.Now()
	for {
		attempt, cancel := context.WithTimeout(ctx, l.bus.opts.CallTimeout)
		c, err := l.bus.js.CreateConsumer(attempt, l.stream, config)
		silent := attempt.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			l.took = max(l.took, time.Since(start))
			return c, nil
		case !silent:
			return nil, unavailable(said(err))
		}
	}
}

// next takes one message. end is true after the last that there is.
func (l *latest) next(ctx context.Context, msgs jetstream.MessagesContext) (end bool, err error) {
	patience := silence
	if l.seen == 0 {
		patience = min(firstSilence<<l.made, silence)
	}
	patience = max(patience, 2*l.took) // the server is away so long when others ask it for the same
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	raw, err := msgs.Next(jetstream.NextContext(waiting))
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case waiting.Err() != nil:
		return false, errSilent
	case err != nil:
		return false, unavailable(err)
	}
	meta, err := raw.Metadata()
	if err != nil {
		return false, err
	}
	if l.seen++; meta.Sequence.Consumer != l.seen {
		return false, fault.New(fault.Unavailable, "messages of the log were lost on their way here")
	}
	if meta.Sequence.Stream <= l.upto {
		m := Message{Subject: raw.Subject(), Seq: meta.Sequence.Stream, Data: raw.Data(), Time: meta.Timestamp}
		if err := handed(l.fn(m.withHeader(nats.Header(raw.Headers())))); err != nil {
			return false, err
		}
	}
	switch pos := meta.Sequence.Stream; {
	case pos >= l.upto:
		return true, nil
	case meta.NumPending > 0:
		return false, nil
	default:
		return l.complete(ctx, pos)
	}
}

// complete reports whether nothing follows after pos, when the server that runs
// the consumer says so. With several replicas that one may be behind, and what
// it lacks comes when it has caught up: the log's leader has the word.
func (l *latest) complete(ctx context.Context, pos uint64) (bool, error) {
	if !l.replicated() {
		return true, nil
	}
	m, err := l.bus.leaderGetFrom(ctx, l.stream, getRequest{Seq: pos + 1, NextFor: l.filter})
	return err == nil && (m == nil || m.Seq > l.upto), err
}
