package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"tidings/bus"
)

// progress is what erasers share (docs/bus.md).
type progress struct {
	Log string `json:"log"` // bus.LogID
	// Erased: what was deleted up to here is erased.
	Erased uint64 `json:"erased"`
	// Trimmed: up to here Histories are enforced.
	Trimmed   uint64           `json:"trimmed,omitempty"`
	Histories map[string]int64 `json:"histories,omitempty"`
	By        string           `json:"by"` // who has written this
}

// fit begins anew where the place says nothing about the log as it is: one that
// was restored from a backup ends earlier, and may hold again what was erased.
func (p *progress) fit(last uint64, histories map[string]int64) {
	if p.Erased > last {
		p.Erased = 0
	}
	if p.Trimmed > last || !maps.Equal(p.Histories, histories) {
		p.Trimmed = 0
	}
	p.Histories = histories
}

// shared is the progress, and who may go on with it: the one who wrote it last,
// or anybody once nobody has written for the length of the lease. It serves one
// goroutine.
type shared struct {
	bucket *bus.Bucket
	log    string
	me     string
	lease  time.Duration
	now    func() time.Time

	revision uint64
	since    time.Time // when this revision was seen first
}

const progressKey = "progress"

// look reads how far all have come; mine says whether it is this one's turn.
func (s *shared) look(ctx context.Context) (p progress, mine bool, err error) {
	raw, revision, err := s.bucket.Get(ctx, progressKey)
	if err != nil {
		return p, false, err
	}
	if revision != s.revision || s.since.IsZero() {
		s.revision, s.since = revision, s.now()
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &p); err != nil {
			return p, false, fmt.Errorf("how far the log is erased cannot be read; delete the key %s of the bucket, so that it is begun anew: %w", progressKey, err)
		}
	}
	mine = raw == nil || p.By == s.me || s.now().Sub(s.since) >= s.lease
	if p.Log != s.log {
		p = progress{Log: s.log}
	}
	return p, mine, nil
}

// save writes how far this one has come. An error means that another one has
// written meanwhile, or may have.
func (s *shared) save(ctx context.Context, p *progress) error {
	p.By = s.me
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	revision, err := s.bucket.Put(ctx, progressKey, raw, s.revision)
	if err != nil {
		return fmt.Errorf("note how far the log is erased: %w", err)
	}
	s.revision, s.since = revision, s.now()
	return nil
}
