package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrLogReplaced says that the log is not the one that was opened: its stream
// was deleted, created anew, or lost its end. What was read from it holds no
// more; the remedy is to open the bus again and read from the beginning.
var ErrLogReplaced = errors.New("the log was replaced")

// streamConfig is how the log is kept. Each setting is a promise to somebody.
func (b *Bus) streamConfig() jetstream.StreamConfig {
	storage := jetstream.FileStorage
	if b.opts.Memory || b.opts.URL == "" && b.opts.Dir == "" {
		storage = jetstream.MemoryStorage
	}
	return jetstream.StreamConfig{
		Name:        b.subjects.Stream(),
		Description: "The log of the service: the last message of a subject is the state of what it names.",
		Subjects:    []string{b.subjects.Log()},
		Storage:     storage,
		Replicas:    b.opts.Replicas,
		Retention:   jetstream.LimitsPolicy,
		// A subject keeps its newest messages: state and recent history.
		MaxMsgsPerSubject: b.opts.History,
		// Nothing else ever makes room: a full log refuses appends rather than
		// forget a record, and no record ends by growing old.
		Discard:  jetstream.DiscardNew,
		MaxMsgs:  -1,
		MaxBytes: cmp.Or(b.opts.MaxBytes, -1),
		// A single message may not be taken out of the middle: a hole in a
		// record's history would look like history that was trimmed. Purging a
		// whole subject stays possible, because personal data must be erasable.
		DenyDelete: true,
		// One command is one or several messages, all or none.
		AllowAtomicPublish: true,
		// Any replica answers a reader that fills a gap.
		AllowDirect: true,
		// The live path: only what was stored is republished, with its sequence.
		RePublish: &jetstream.RePublish{Source: b.subjects.Log(), Destination: b.subjects.Live()},
	}
}

// ensureLog creates the stream or compares it. It returns the identity of the
// log.
func (b *Bus) ensureLog(ctx context.Context, want jetstream.StreamConfig) (id string, err error) {
	s, err := b.ensure(ctx, want)
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return "", errors.New("JetStream is not enabled at the server: start nats-server with -js, or enable it for this account")
	}
	if err != nil {
		err = fmt.Errorf("stream %s: %w", want.Name, err)
		if isCode(err, codeNoPeers) || isCode(err, codeNoLeader) {
			err = &absent{err}
		}
		return "", err
	}
	info := s.CachedInfo()
	if diffs := compare(info.Config, want); len(diffs) > 0 {
		return "", fmt.Errorf("stream %s is configured in another way than this process expects:\n%s"+
			"nothing was changed; either set this process's options to what the stream has, or edit the stream (nats stream edit %s), or give this service a prefix of its own",
			want.Name, strings.Join(diffs, ""), want.Name)
	}
	return logIDOf(info.Created, info.Config.Metadata), nil
}

// compare lists the settings that the guarantees depend on and that differ. What
// an operator may choose freely is not compared: placement, compression, limits
// on size (a full log refuses appends), the duplicate window, metadata.
func compare(have, want jetstream.StreamConfig) []string {
	var diffs []string
	check := func(field string, have, want any) {
		h, w := fmt.Sprint(have), fmt.Sprint(want)
		if h != w {
			diffs = append(diffs, fmt.Sprintf("  %s: have %s, want %s\n", field, h, w))
		}
	}
	check("subjects", slices.Sorted(slices.Values(have.Subjects)), want.Subjects)
	check("storage", have.Storage, want.Storage)
	check("replicas", have.Replicas, want.Replicas)
	check("retention", have.Retention, want.Retention)
	check("max messages per subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	check("max age", have.MaxAge, want.MaxAge)
	check("discard", have.Discard, want.Discard)
	check("discard new per subject", have.DiscardNewPerSubject, want.DiscardNewPerSubject)
	check("deny delete", have.DenyDelete, want.DenyDelete)
	check("allow atomic publish", have.AllowAtomicPublish, want.AllowAtomicPublish)
	check("allow direct", have.AllowDirect, want.AllowDirect)
	check("allow rollup headers", have.AllowRollup, want.AllowRollup)
	check("allow message time to live", have.AllowMsgTTL, want.AllowMsgTTL)
	check("no acknowledgement", have.NoAck, want.NoAck)
	check("sealed", have.Sealed, want.Sealed)
	check("republish", republish(have.RePublish), republish(want.RePublish))
	check("mirror", have.Mirror != nil, false)
	check("sources", len(have.Sources), 0)
	check("subject transform", have.SubjectTransform != nil, false)
	return diffs
}

func republish(r *jetstream.RePublish) string {
	if r == nil {
		return "none"
	}
	s := r.Source + " to " + r.Destination
	if r.HeadersOnly {
		s += " (headers only)"
	}
	return s
}

// streamState is what a stream's leader says of it.
type streamState struct {
	id          string
	first, last uint64
	deleted     int // messages that are gone from between first and last
	replicas    int
	leader      string // the server that answered; empty without a cluster
	subjects    []string
	direct      bool // direct gets are allowed
}

// state asks the log's leader. One small message each way, whatever the log's
// size, and one for all who ask while another question is under way.
func (b *Bus) state(ctx context.Context) (streamState, error) {
	g := b.glances.of(b, b.subjects.Stream())
	defer b.glances.release(g)
	s, err := g.since(ctx, time.Now())
	if err == nil { // an operator may add replicas while we run
		b.replicated.Store(s.replicas > 1)
	}
	return s, err
}

func (b *Bus) stateOf(ctx context.Context, stream string) (streamState, error) {
	resp, err := b.question(ctx, "$JS.API.STREAM.INFO."+stream, nil)
	if err != nil {
		return streamState{}, unavailable(err)
	}
	var info struct {
		Error   *apiError `json:"error"`
		Created time.Time `json:"created"`
		Config  struct {
			Replicas int      `json:"num_replicas"`
			Subjects []string `json:"subjects"`
			Direct   bool     `json:"allow_direct"`

			Metadata map[string]string `json:"metadata"`
		} `json:"config"`
		State struct {
			First   uint64 `json:"first_seq"`
			Last    uint64 `json:"last_seq"`
			Deleted int    `json:"num_deleted"`
		} `json:"state"`
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	if err := json.Unmarshal(resp.Data, &info); err != nil {
		return streamState{}, fmt.Errorf("answer of the stream: %w", err)
	}
	if info.Error != nil {
		return streamState{}, info.Error
	}
	return streamState{id: logIDOf(info.Created, info.Config.Metadata), first: info.State.First, last: info.State.Last, deleted: info.State.Deleted,
		replicas: info.Config.Replicas, subjects: info.Config.Subjects, direct: info.Config.Direct, leader: info.Cluster.Leader}, nil
}

// apiError is an error that JetStream answered.
type apiError struct {
	Status      int    `json:"code"`
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("jetstream: %s (%d)", e.Description, e.Code)
}

// The codes of JetStream that are told from one another here
// (nats-server, server/errors.json).
const (
	codeStreamNotFound    = 10059
	codeNoMessage         = 10037
	codeWrongLastSequence = 10071
	codeWrongLastConstant = 10164 // the same, while the batch that is in the way is not stored yet
	codeIncompleteBatch   = 10176
	codeMessageTooLarge   = 10054
	codeOtherStream       = 10060

	codeAccountResources      = 10002
	codeNoPeers               = 10005
	codeNoLeader              = 10008 // or another reason why JetStream cannot answer just now
	codeInsufficientResources = 10023
	codeNoMemory              = 10028
	codeNoStorage             = 10047
	codeNoCluster             = 10074
	codeStoreFailed           = 10077
)

func isCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && slices.Contains(codes, e.Code)
}

// offline reports whether err means that nobody was there to take the message.
func offline(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || notSent(err)
}
