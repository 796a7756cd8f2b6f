package job

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/resource"
)

// Order is what is submitted.
type Order struct {
	// Kind and Document tell the Runner what the items are; any text.
	Kind, Document string
	Items          []Input
	// Key makes submitting again harmless: the same caller with the same key gets
	// the same job. Empty: each order is a job of its own.
	Key string
}

// inSubmission is how long a submission may take before what it has not stored
// does not count.
const inSubmission = time.Minute

var (
	errAnonymous = fault.New(fault.Unauthenticated, "a job belongs to somebody: sign in to submit one")
	errOtherJob  = fault.New(fault.Conflict, "the idempotency key was used for another job; use a new key")
	errFull      = &fault.Error{Code: fault.Unavailable, Message: "the jobs that are kept take all the room there is; submit again later", RetryAfter: maxPatience}
)

// Submit stores a job and returns its id. When it returns the job will be carried
// out, whatever becomes of this process. After an error the job may be there or
// not; with a key it can be submitted again.
//
// Faults: UNAUTHENTICATED for nobody; BAD_USER_INPUT for no items or too many;
// PAYLOAD_TOO_LARGE for an item of more than 512 KiB; CONFLICT for a key of
// another job; RATE_LIMITED when the caller has too many;
// UNAVAILABLE when there is no room, or the bus is away.
func (j *Jobs) Submit(ctx context.Context, who auth.Principal, o Order) (id string, err error) {
	if err := j.check(who, o); err != nil {
		return "", err
	}
	id, known, err := j.identify(ctx, who, o)
	if err != nil {
		return "", fmt.Errorf("submit a job: %w", err)
	}
	if known {
		return id, nil
	}
	parts := divide(o.Items)
	if err := j.admit(ctx, who, id, parts); err != nil {
		return "", err
	}
	if err := j.store(ctx, who, id, o, parts); err != nil {
		return "", fmt.Errorf("submit a job: %w", err)
	}
	return id, nil
}

func (j *Jobs) check(who auth.Principal, o Order) error {
	switch {
	case who.Anonymous():
		return errAnonymous
	case len(o.Items) == 0:
		return fault.Input("", "the job has no items")
	case len(o.Items) > j.opts.Items:
		return fault.Input("", "the job has %d items; at most %d are possible: submit several jobs", len(o.Items), j.opts.Items)
	}
	for i, item := range o.Items {
		if item.size() > maxItem {
			return fault.New(fault.PayloadTooLarge, "item %d has %d bytes; at most %d are possible", i, item.size(), maxItem)
		}
	}
	return nil
}

// identify gives the job its id. It is known when it was stored before.
func (j *Jobs) identify(ctx context.Context, who auth.Principal, o Order) (id string, known bool, err error) {
	id = resource.NewCommandID()
	if o.Key == "" {
		return id, false, nil
	}
	request := digest(o.Kind, string(encode(o.Items)))
	err = j.bucket.Update(ctx, "key-"+digest(who.Subject, o.Key), func(value []byte) ([]byte, error) {
		if value == nil {
			return encode(claim{Job: id, Request: request}), nil
		}
		var c claim
		if err := json.Unmarshal(value, &c); err != nil {
			return nil, fmt.Errorf("read a key: %w", err)
		}
		if c.Request != request {
			return nil, errOtherJob
		}
		id = c.Job
		return nil, nil
	})
	if err != nil {
		return "", false, err
	}
	raw, _, err := j.bucket.Get(ctx, id)
	if err != nil || raw == nil {
		return id, false, err
	}
	if r, err := decodeRecord(raw); err == nil && r.state() == Queued { // its submission may have ended before the last step
		return id, true, j.enqueue(ctx, turn{Job: id})
	}
	return id, true, nil
}

// admit lets a job in, if there is room and its caller has not too many.
func (j *Jobs) admit(ctx context.Context, who auth.Principal, id string, parts []part) error {
	used, most, err := j.bucket.Usage(ctx)
	if err != nil {
		return err
	}
	size := 0
	for _, p := range parts {
		size += p.size()
	}
	if most > 0 && used+int64(size) > most/2 {
		return errFull
	}
	return j.bucket.Update(ctx, "of-"+digest(who.Subject), func(value []byte) ([]byte, error) {
		var h holding
		if value != nil {
			if err := json.Unmarshal(value, &h); err != nil {
				return nil, fmt.Errorf("read a caller's jobs: %w", err)
			}
		}
		if slices.ContainsFunc(h.Jobs, func(held held) bool { return held.Job == id }) {
			return nil, nil
		}
		now := time.Now().UTC()
		h.Jobs = slices.DeleteFunc(h.Jobs, func(held held) bool { return now.Sub(held.At) > j.opts.Age })
		if err := j.allows(ctx, &h, size); err != nil {
			return nil, err
		}
		h.Jobs = append(h.Jobs, held{Job: id, At: now, Bytes: size})
		return encode(h), nil
	})
}

// allows returns why the holder may have no further job; nil when it may.
func (j *Jobs) allows(ctx context.Context, h *holding, size int) error {
	if h.unfinished() >= j.opts.Queued {
		if err := j.review(ctx, h); err != nil {
			return err
		}
	}
	switch n := h.unfinished(); {
	case n >= j.opts.Queued:
		return tooMuch(maxPatience/4, "you have %d jobs that are not finished; wait until one is, then submit again", n)
	case len(h.Jobs) >= maxKept, h.bytes()+int64(size) > j.opts.Bytes/keptShare:
		left := j.opts.Age
		if len(h.Jobs) > 0 {
			left -= time.Since(h.Jobs[0].At)
		}
		return tooMuch(max(1, int(left.Seconds())), "your jobs take all the room that one caller may have; each is kept for %s: submit again when the oldest is gone", j.opts.Age)
	}
	return nil
}

func tooMuch(after int, format string, args ...any) error {
	f := fault.New(fault.RateLimited, format, args...)
	f.RetryAfter = after
	return f
}

// review finds out which jobs are over, and leaves out those whose submission did
// not come to its end.
func (j *Jobs) review(ctx context.Context, h *holding) error {
	var kept []held
	for _, job := range h.Jobs {
		if !job.Over {
			raw, _, err := j.bucket.Get(ctx, job.Job)
			if err != nil {
				return err
			}
			if raw == nil && time.Since(job.At) > inSubmission {
				continue
			}
			r, err := decodeRecord(raw)
			job.Over = raw != nil && err == nil && r.End != ""
		}
		kept = append(kept, job)
	}
	h.Jobs = kept
	return nil
}

// store writes the parts, the record, and the first turn. Each may be there
// already, of a submission that did not come to its end.
func (j *Jobs) store(ctx context.Context, who auth.Principal, id string, o Order, parts []part) error {
	for i, p := range parts {
		if err := j.create(ctx, partKey(id, i), p); err != nil {
			return err
		}
	}
	now := time.Now().UTC()
	err := j.create(ctx, id, record{Kind: o.Kind, Document: o.Document, Who: who, Total: len(o.Items), Parts: len(parts), Submitted: now, Updated: now})
	if err != nil {
		return err
	}
	return j.enqueue(ctx, turn{Job: id})
}

func (j *Jobs) create(ctx context.Context, key string, v any) error {
	_, err := j.bucket.Put(ctx, key, encode(v), 0)
	if errors.Is(err, bus.ErrConflict) {
		return nil
	}
	return err
}

func (j *Jobs) enqueue(ctx context.Context, t turn) error {
	return j.queue.Put(ctx, t.name(), encode(t))
}

// divide cuts a job into parts that take about equally long.
func divide(items []Input) []part {
	var parts []part
	bytes := 0
	for i, item := range items {
		last := len(parts) - 1
		if last < 0 || len(parts[last].Items) == MaxPage || bytes+item.size() > partBytes {
			parts = append(parts, part{First: i})
			last, bytes = last+1, 0
		}
		parts[last].Items = append(parts[last].Items, item)
		bytes += item.size()
	}
	return parts
}

// size is about what a part takes in the bucket.
func (p part) size() int {
	n := 0
	for _, item := range p.Items {
		n += item.size()
	}
	return n
}

func (i Input) size() int { return len(i.Ref) + len(i.Data) }

func partKey(id string, i int) string { return id + "-" + strconv.Itoa(i) }

// digest is a key's name, and the same for the same texts.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
