package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNotSetUp says that a stream, bucket or queue is not there and that the
// credentials of this process may not create it.
var ErrNotSetUp = errors.New("is not there, and the credentials of this process may not create it")

// notSetUp says what is not there, why it was not created, and the remedy.
func (b *Bus) notSetUp(what string, why error) error {
	return fmt.Errorf("%s %w (%w); run `%s bus setup` with those of the admin role", what, ErrNotSetUp, why, b.opts.Program)
}

// Kept is a stream of the service as a bus has found or made it.
type Kept struct {
	Stream   string
	Replicas int
	Storage  string // File or Memory
	MaxBytes int64  // 0 means no bound
	MaxAge   time.Duration
	Done     string // created, there, or changed: and what
}

// keeping are the streams that a bus has opened. The zero value is ready.
type keeping struct {
	mu   sync.Mutex
	list []Kept
}

// Kept returns the streams of the log, the buckets and the queues that were
// opened on this bus, in that order, each once.
func (b *Bus) Kept() []Kept {
	b.kept.mu.Lock()
	defer b.kept.mu.Unlock()
	return slices.Clone(b.kept.list)
}

func (k *keeping) add(c jetstream.StreamConfig, done string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.ContainsFunc(k.list, func(old Kept) bool { return old.Stream == c.Name }) {
		return
	}
	k.list = append(k.list, Kept{Stream: c.Name, Replicas: c.Replicas, Storage: c.Storage.String(), MaxBytes: max(0, c.MaxBytes), MaxAge: c.MaxAge, Done: done})
}

// ensure returns a stream, and creates it when it is absent. It changes one that
// is there only when Options.Edit says so.
func (b *Bus) ensure(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, said, over := b.about(ctx, want.Name)
	defer over()
	done := "there"
	s, err := b.look(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) && b.opts.Existing {
		return nil, fmt.Errorf("the stream %s is not there; it is created by the first start of the service, or by `%s bus setup`", want.Name, b.opts.Program)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		done = "created"
		s, err = b.js.CreateStream(ctx, want)
		if errors.Is(said(err), ErrDenied) {
			return nil, b.notSetUp("the stream "+want.Name, said(err))
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			s, err = b.look(ctx, want.Name)
		}
	}
	if err != nil {
		return nil, said(roomFor(want, err))
	}
	if done == "there" {
		if s, done, err = b.edit(ctx, s, want); err != nil {
			return nil, said(err)
		}
	}
	b.kept.add(s.CachedInfo().Config, done)
	return s, nil
}

// look looks for a stream.
func (b *Bus) look(ctx context.Context, name string) (jetstream.Stream, error) {
	return insist(ctx, func(ctx context.Context) (jetstream.Stream, error) { return b.js.Stream(ctx, name) })
}

// insist asks again what is not answered, and waits for longer each time: the
// first question may have gone to a leader that is no more. It is for questions
// that change nothing.
func insist[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	for wait := askAgain; ; wait *= 2 {
		once, cancel := context.WithTimeout(ctx, wait)
		answer, err := ask(once)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return answer, err
		}
	}
}

// edit changes a stream that is there, as far as it may be; done says what.
func (b *Bus) edit(ctx context.Context, s jetstream.Stream, want jetstream.StreamConfig) (_ jetstream.Stream, done string, err error) {
	have := s.CachedInfo().Config
	next, changes := edited(have, want)
	if !b.opts.Edit { // nobody else can raise the limit of an embedded log
		next, changes = have, nil
		if b.server != nil && want.Name == b.subjects.Stream() && want.MaxBytes > 0 && want.MaxBytes != have.MaxBytes {
			next.MaxBytes, changes = want.MaxBytes, []string{fmt.Sprintf("max bytes %d to %d", have.MaxBytes, want.MaxBytes)}
		}
	}
	if len(changes) == 0 {
		return s, "there", nil
	}
	done = strings.Join(changes, ", ")
	if s, err = b.js.UpdateStream(ctx, next); err != nil {
		return nil, "", fmt.Errorf("change %s of the stream %s: %w", done, want.Name, roomFor(want, err))
	}
	return s, "changed: " + done, nil
}

// roomFor adds the remedy where a server has no place for a stream.
func roomFor(want jetstream.StreamConfig, err error) error {
	e, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return err
	}
	switch int(e.ErrorCode) {
	case codeNoCluster:
		return fmt.Errorf("%w: the server is in no cluster that could keep %d copies; set --replicas 1, or start a cluster", err, want.Replicas)
	case codeNoPeers:
		return fmt.Errorf("%w: the cluster has fewer than %d servers with room for a copy; add servers, give them storage, or lower --replicas", err, want.Replicas)
	case codeAccountResources, codeInsufficientResources, codeNoStorage, codeNoMemory:
		return fmt.Errorf("%w: give JetStream more storage (max_file_store of the server, the limits of the account), or lower the bounds of what the service keeps (docs/operations.md, What is stored)", err)
	}
	return err
}

// edited is a configuration with what an operator sets by the service's own
// settings, and the names of what that changes.
func edited(have, want jetstream.StreamConfig) (next jetstream.StreamConfig, changes []string) {
	next = have
	if want.MaxBytes <= 0 { // no setting says anything
		want.MaxBytes = have.MaxBytes
	}
	if want.MaxMsgsPerSubject == 0 {
		want.MaxMsgsPerSubject = have.MaxMsgsPerSubject
	}
	note := func(name string, have, want any) {
		if have != want {
			changes = append(changes, fmt.Sprintf("%s %v to %v", name, have, want))
		}
	}
	note("copies", have.Replicas, want.Replicas)
	note("max bytes", have.MaxBytes, want.MaxBytes)
	note("max age", have.MaxAge, want.MaxAge)
	note("messages of a subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	note("rollup", have.AllowRollup, want.AllowRollup)
	next.Replicas, next.MaxBytes, next.MaxAge, next.MaxMsgsPerSubject, next.AllowRollup = want.Replicas, want.MaxBytes, want.MaxAge, want.MaxMsgsPerSubject, want.AllowRollup
	if want.MaxAge > 0 && next.Duplicates > want.MaxAge {
		next.Duplicates = want.MaxAge
	}
	return next, changes
}

// ensureWorkers returns when the consumer that all workers of a queue share is
// there as it should be.
func (q *Queue) ensureWorkers(ctx context.Context) error {
	ctx, said, over := q.bus.about(ctx, q.stream)
	defer over()
	c, err := insist(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return q.bus.js.Consumer(ctx, q.stream, queueWorkers)
	})
	if err == nil && c.CachedInfo().Config.AckWait == q.opts.Patience {
		return nil
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return unavailable(said(err))
	}
	_, err = q.bus.js.CreateOrUpdateConsumer(ctx, q.stream, jetstream.ConsumerConfig{
		Durable: queueWorkers, Description: "All workers together.",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.opts.Patience, MaxDeliver: -1,
	})
	if errors.Is(said(err), ErrDenied) {
		return q.bus.notSetUp(fmt.Sprintf("the consumer %s of the stream %s", queueWorkers, q.stream), said(err))
	}
	return unavailable(said(err))
}
