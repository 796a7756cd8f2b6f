package graphql

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"tidings/fault"
)

// Persisted says which documents requests may name instead of sending them.
type Persisted struct {
	// Deployed were there when the service was started; nil means none.
	Deployed *Operations
	// Only refuses every document that is not deployed.
	Only bool
	// Shared takes the documents that clients register with their first
	// request (Apollo's automatic persisted queries), for all processes. Nil
	// means that they cannot; so does Only.
	Shared Store
}

// Store keeps values for all processes: bus.Bucket. A revision names one value
// of a key, 0 stands for none. Put is refused with the fault Conflict unless
// the key's revision is still the given one; bus.ErrUnknownOutcome says that it may
// have been written.
type Store interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// storeTimeout bounds what a request waits for the shared documents: clients
// can always send the document itself.
const storeTimeout = 2 * time.Second

// identify finds the document of a request that names one. It returns the hash
// under which a document that was sent along is to be kept once it has been
// found valid. Of several names documentId counts before queryId, and that
// before Apollo's extension.
func (e *Engine) identify(ctx context.Context, r *Request) (keep string, err error) {
	hash, err := r.readExtensions()
	if err != nil {
		return "", err
	}
	p := &e.options.Persisted
	id := canonicalID(cmp.Or(r.DocumentID, r.QueryID, hash))
	if id == "" {
		if p.Only && !r.Trusted && r.Query != "" && !p.Deployed.holds(r.Query) {
			return "", errNotPersisted
		}
		return "", nil
	}
	if r.Query == "" {
		r.Query, err = e.named(ctx, id)
		return "", err
	}
	switch {
	case p.Deployed.text(id) == r.Query:
		return "", nil
	case !isHash(id) || hashOf(r.Query) != id:
		return "", fault.New(fault.BadRequest, "provided sha does not match query")
	case p.Only && !r.Trusted && !p.Deployed.holds(r.Query):
		return "", errNotPersisted
	}
	return id, nil
}

var errNotPersisted = fault.New(fault.Forbidden, "only persisted operations are run here: send the id of one")

// What Apollo's clients look for: after the first they send the document, after
// the second they no longer ask for it by its hash.
var (
	errNotFound     = fault.New(fault.PersistedQueryNotFound, "PersistedQueryNotFound")
	errNotSupported = fault.New(fault.PersistedQueryNotFound, "PersistedQueryNotSupported")
)

// named returns the document of an id.
func (e *Engine) named(ctx context.Context, id string) (string, error) {
	p := &e.options.Persisted
	if text := p.Deployed.text(id); text != "" {
		return text, nil
	}
	switch {
	case p.Only || p.Shared != nil && !isHash(id):
		return "", errNotFound
	case p.Shared == nil && p.Deployed.Len() > 0:
		return "", errNotFound
	case p.Shared == nil:
		return "", errNotSupported
	}
	if text, ok := e.shared.cache.Get(id); ok {
		return text, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	value, _, err := p.Shared.Get(ctx, id)
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "the shared documents cannot be read", slog.Any("error", err))
	}
	text := string(value)
	if text == "" || hashOf(text) != id { // whoever wrote it was not one of us
		return "", errNotFound
	}
	e.shared.add(id, text)
	return text, nil
}

// Text returns the document of a request, as far as this process knows it without
// asking anybody: what was sent, deployed, or registered and used here lately. Empty: it does not.
func (e *Engine) Text(r Request) string {
	if r.Query != "" {
		return r.Query
	}
	hash, err := r.readExtensions()
	if err != nil {
		return ""
	}
	id := canonicalID(cmp.Or(r.DocumentID, r.QueryID, hash))
	if text := e.options.Persisted.Deployed.text(id); text != "" {
		return text
	}
	text, _ := e.shared.cache.Get(id) // the zero one where there is none
	return text
}

// register keeps a valid document under its hash, for all processes. One that
// cannot be kept is run all the same: its client sends it again.
func (e *Engine) register(ctx context.Context, hash, text string) {
	p := &e.options.Persisted
	if p.Only || p.Shared == nil || len(text) > maxCachedText || e.shared.cache.Contains(hash) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if _, err := p.Shared.Put(ctx, hash, []byte(text), 0); err != nil && !fault.Is(err, fault.Conflict) {
		e.log.LogAttrs(ctx, slog.LevelWarn, "a document cannot be shared", slog.Any("error", err))
		return
	}
	e.shared.add(hash, text)
}

// sharedTexts are the shared documents that were used last here, by hash. It
// is safe for concurrent use.
type sharedTexts struct {
	cache *lru.Cache[string, string]
	size  atomic.Int64 // of the texts, in bytes
}

func newSharedTexts(entries int) (*sharedTexts, error) {
	s := &sharedTexts{}
	var err error
	s.cache, err = lru.NewWithEvict(entries, func(_, text string) { s.size.Add(-int64(len(text))) })
	return s, err
}

func (s *sharedTexts) add(hash, text string) {
	if known, _ := s.cache.ContainsOrAdd(hash, text); known {
		return
	}
	s.size.Add(int64(len(text)))
	for s.size.Load() > maxCachedTexts {
		s.cache.RemoveOldest() // which tells how much smaller it is
	}
}
