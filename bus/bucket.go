package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/fault"
)

// BucketOptions says how a bucket is kept. The bounds hold for a bucket that
// is created; those of one that is there are the operator's own.
type BucketOptions struct {
	// Name is one token of the letters [A-Za-z0-9_-]; the bucket is called
	// <prefix>-<name>.
	Name string
	// Description is shown to operators.
	Description string
	// MaxAge is how long a value is kept after it was last written. Zero means
	// for ever.
	MaxAge time.Duration
	// MaxBytes bounds the bucket. Zero means no bound.
	MaxBytes int64
	// MaxValue bounds one value, in bytes. Zero means what the bus carries.
	MaxValue int
	// Forget makes a full bucket forget what is oldest. Without it a full
	// bucket refuses new values with UNAVAILABLE.
	Forget bool
	// Patience is for moments in which nobody leads the bucket: it is asked again,
	// and what nobody got is written again. Nil has none.
	Patience *Patience
}

// Bucket is a key-value bucket of NATS that all processes share: each key has
// one value, and a revision that rises with every write. Its methods may run
// concurrently. It ends with the bus.
type Bucket struct {
	bus        *Bus
	stream     string
	keys       string // what a key's subject begins with
	maxValue   int
	replicated bool
	maxAge     time.Duration
	forgets    bool
	patience   *Patience
}

// Keeps says how long the bucket, as it is, keeps a value (zero: for ever), and
// whether it forgets the oldest when it is full.
func (k *Bucket) Keeps() (maxAge time.Duration, forgets bool) { return k.maxAge, k.forgets }

// Bucket opens a bucket, and creates it when it is absent.
func (b *Bus) Bucket(ctx context.Context, o BucketOptions) (*Bucket, error) {
	if !plain(o.Name) {
		return nil, fmt.Errorf("open bucket: the name %q is not one token of the letters A-Z a-z 0-9 _ -", o.Name)
	}
	name := b.subjects.Bucket(o.Name)
	ctx, cancel := b.bound(ctx)
	defer cancel()
	want := b.bucketConfig(name, o)
	s, err := b.ensure(ctx, want)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", name, err)
	}
	have := s.CachedInfo().Config
	if have.MaxMsgsPerSubject != 1 || !have.AllowDirect || have.Sealed || have.Mirror != nil {
		return nil, fmt.Errorf("open bucket %s: the stream %s is not kept as a bucket of one revision a key with direct reads; delete it, so that it is created anew", name, want.Name)
	}
	if have.MaxAge != want.MaxAge || have.MaxBytes != want.MaxBytes || have.Discard != want.Discard {
		b.log.LogAttrs(ctx, slog.LevelInfo, "a bucket has other bounds than this process would give it; they stay",
			slog.String("bucket", name), slog.Duration("max_age", have.MaxAge), slog.Int64("max_bytes", have.MaxBytes), slog.String("discard", have.Discard.String()))
	}
	return &Bucket{bus: b, stream: want.Name, keys: "$KV." + name + ".", maxValue: o.MaxValue, replicated: have.Replicas > 1, maxAge: have.MaxAge, forgets: have.Discard == jetstream.DiscardOld, patience: o.Patience}, nil
}

// bucketConfig is a bucket as the clients of NATS know it (ADR-8).
func (b *Bus) bucketConfig(name string, o BucketOptions) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:              "KV_" + name,
		Description:       o.Description,
		Subjects:          []string{"$KV." + name + ".>"},
		Storage:           b.streamConfig().Storage,
		Replicas:          b.opts.Replicas,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          o.MaxBytes,
		MaxAge:            o.MaxAge,
		Discard:           jetstream.DiscardNew,
		DenyDelete:        true,
		// By a header of theirs, who may write one key could purge all others.
		AllowRollup: false,
		AllowDirect: true,
	}
	if o.Forget {
		c.Discard = jetstream.DiscardOld
	}
	if o.MaxBytes == 0 {
		c.MaxBytes = -1
	}
	return c
}

// Usage tells how many bytes the bucket holds, and how many it may; 0 means no
// bound. The fault is UNAVAILABLE when nobody can tell.
func (k *Bucket) Usage(ctx context.Context) (used, most int64, err error) {
	ctx, cancel := k.bus.bound(ctx)
	defer cancel()
	ctx, said, done := k.bus.about(ctx, k.stream)
	defer done()
	s, err := k.bus.js.Stream(ctx, k.stream)
	if err = said(err); err != nil {
		return 0, 0, fmt.Errorf("usage of %s: %w", k.stream, fault.Wrap(err, fault.Unavailable, "the bus cannot be reached"))
	}
	info := s.CachedInfo()
	return int64(info.State.Bytes), max(0, info.Config.MaxBytes), nil
}

// Bucket is the name of a bucket of the service.
func (s Subjects) Bucket(name string) string { return s.Prefix + "-" + name }

// Get returns a key's value and its revision; nil and 0 when there is none.
// What was written before, by any process, is seen.
func (k *Bucket) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	ctx, cancel := k.bus.bound(ctx)
	defer cancel()
	var m *Message
	err = k.patience.bear(ctx, k.stream, len(key), leaderless, func() error {
		m, err = k.get(ctx, k.keys+token(key))
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("get from %s: %w", k.stream, err)
	}
	if m == nil {
		return nil, 0, nil
	}
	if m.Header.Get("KV-Operation") != "" { // it was deleted, by an operator
		return nil, m.Seq, nil
	}
	return m.Data, m.Seq, nil
}

// get is a direct get when there is one copy; of several the leader is asked,
// since another one may be behind.
func (k *Bucket) get(ctx context.Context, subject string) (*Message, error) {
	if err := checkSubject(subject); err != nil {
		return nil, err
	}
	if k.replicated {
		return k.bus.leaderGetFrom(ctx, k.stream, getRequest{LastFor: subject})
	}
	resp, err := k.bus.question(ctx, "$JS.API.DIRECT.GET."+k.stream+"."+subject, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	if statusOf(resp) == "404" {
		return nil, nil
	}
	m, err := answer(k.stream, resp)
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// Put writes a key whose revision is still the given one, 0 for a key that is
// not there, and returns the new revision. Errors as those of Append; the
// fault is CONFLICT, and wraps ErrConflict, when the key has another revision,
// and PAYLOAD_TOO_LARGE for a value beyond MaxValue.
func (k *Bucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if k.maxValue > 0 && len(value) > k.maxValue {
		return 0, fault.New(fault.PayloadTooLarge, "the value has %d bytes; the bucket takes %d", len(value), k.maxValue)
	}
	subject := k.keys + token(key)
	if err := checkSubject(subject); err != nil {
		return 0, err
	}
	ctx, cancel := k.bus.bound(ctx)
	defer cancel()
	m := outgoing(subject, nil, value)
	m.Header.Set(headerExpected, strconv.FormatUint(revision, 10))
	if size, limit := m.Size(), k.bus.nc.MaxPayload(); int64(size) > limit {
		return 0, fault.New(fault.PayloadTooLarge, "the value is larger than the %d bytes that the bus carries", limit)
	}
	var seq uint64
	err := k.patience.bear(ctx, k.stream, m.Size(), undelivered, func() (err error) {
		seq, err = k.put(ctx, m)
		return err
	})
	if errors.Is(err, ErrConflict) {
		err = fault.Wrap(err, fault.Conflict, "the key was written meanwhile")
	}
	return seq, err
}

func (k *Bucket) put(ctx context.Context, m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	resp, err := k.bus.exchange(ctx, m)
	if err != nil {
		return 0, appendError(err)
	}
	var ack struct {
		Error *apiError `json:"error"`
		Seq   uint64    `json:"seq"`
	}
	if err := json.Unmarshal(resp.Data, &ack); err != nil {
		return 0, fmt.Errorf("%w: put to %s: %w", ErrUnknownOutcome, k.stream, err)
	}
	if ack.Error != nil {
		return 0, refused(ack.Error, m.Subject)
	}
	return ack.Seq, nil
}
