package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidings/auth"
	"tidings/fault"
	"tidings/schema"
)

var (
	// errNoJob does not tell whether somebody else has such a job.
	errNoJob     = fault.New(fault.NotFound, "there is no such job; jobs are kept for a day")
	errNoResults = errors.New("its results are missing")
)

// Look tells how far a job has come. The fault is NOT_FOUND for a job that is not
// there any more, and for one that somebody else has submitted, unless the caller
// is an ADMIN.
func (j *Jobs) Look(ctx context.Context, who auth.Principal, id string) (Status, error) {
	r, err := j.find(ctx, who, id)
	if err != nil {
		return Status{}, err
	}
	return r.status(id, time.Now()), nil
}

func (j *Jobs) find(ctx context.Context, who auth.Principal, id string) (record, error) {
	if !plausible(id) {
		return record{}, errNoJob
	}
	raw, _, err := j.bucket.Get(ctx, id)
	if err != nil {
		return record{}, fmt.Errorf("look for a job: %w", err)
	}
	if raw == nil {
		return record{}, errNoJob
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return r, err
	}
	if !r.visible(who) {
		return r, errNoJob
	}
	return r, nil
}

// idLength is that of a UUID: what is longer is another key of the bucket.
const idLength = 36

func plausible(id string) bool { return len(id) == idLength }

func (r record) visible(who auth.Principal) bool {
	return who.Roles.Has(schema.Admin) || !who.Anonymous() && who.Subject == r.Who.Subject
}

// Page gives a page of results, from 0. The pages that are there can be read
// while the job goes on. Faults as those of Look; NOT_FOUND also for a page that
// is not there yet, or never will be.
func (j *Jobs) Page(ctx context.Context, who auth.Principal, id string, number int) (Page, error) {
	r, err := j.find(ctx, who, id)
	if err != nil {
		return Page{}, err
	}
	s := r.status(id, time.Now())
	switch {
	case number < 0 || number >= r.Parts:
		return Page{}, &fault.Error{Code: fault.NotFound, Field: "page", Message: fmt.Sprintf("the job has %d pages", r.Parts)}
	case number == r.Next && r.Begun && s.State.Final():
		return Page{}, &fault.Error{Code: fault.NotFound, Field: "page", Message: fmt.Sprintf("the items of this page may have been carried out, or some of them, and what came of them is not known: the job is %s; read the records", s.State)}
	case number >= r.Next && s.State.Final():
		return Page{}, &fault.Error{Code: fault.NotFound, Field: "page", Message: fmt.Sprintf("the items of this page were not carried out: the job is %s", s.State)}
	case number >= r.Next:
		return Page{}, &fault.Error{Code: fault.NotFound, Field: "page", RetryAfter: s.RetryAfter, Message: "the results of this page are not there yet; look at the job, and ask again"}
	}
	p, err := j.results(ctx, id, number)
	if err != nil {
		return Page{}, err
	}
	return Page{Status: s, Number: number, First: p.First, Outcomes: p.Outcomes}, nil
}

func (j *Jobs) results(ctx context.Context, id string, number int) (part, error) {
	raw, _, err := j.bucket.Get(ctx, partKey(id, number))
	if err != nil {
		return part{}, fmt.Errorf("read the results of a job: %w", err)
	}
	if raw == nil {
		return part{}, errNoJob
	}
	p, err := decodePart(raw)
	if err == nil && len(p.Outcomes) == 0 {
		err = fmt.Errorf("part %d of job %s: %w", number, id, errNoResults)
	}
	return p, err
}

// Cancel ends a job that goes on, and tells how it is then; one that is over stays
// as it is. The part that is at work is still carried out and counted, unless its
// worker dies. Faults as those of Look.
func (j *Jobs) Cancel(ctx context.Context, who auth.Principal, id string) (Status, error) {
	if _, err := j.find(ctx, who, id); err != nil {
		return Status{}, err
	}
	r, err := j.change(ctx, id, func(r *record) bool {
		if r.End != "" {
			return false
		}
		r.End = Cancelled
		return true
	})
	if err != nil {
		return Status{}, err
	}
	return r.status(id, time.Now()), nil
}

// change changes a job, unless fn says no, and notes when. It returns the record as
// it is then.
func (j *Jobs) change(ctx context.Context, id string, fn func(*record) bool) (record, error) {
	return j.update(ctx, id, func(r *record) bool {
		if !fn(r) {
			return false
		}
		r.Updated = time.Now().UTC()
		return true
	})
}

// update is change for what is no progress.
func (j *Jobs) update(ctx context.Context, id string, fn func(*record) bool) (r record, err error) {
	over := false
	err = j.bucket.Update(ctx, id, func(value []byte) ([]byte, error) {
		if value == nil {
			return nil, errNoJob
		}
		if r, err = decodeRecord(value); err != nil {
			return nil, err
		}
		was := r.End
		defer func() { over = was == "" && r.End != "" }()
		if !fn(&r) {
			return nil, nil
		}
		return encode(r), nil
	})
	if err == nil && over {
		j.ended.Add(1, strings.ToLower(string(r.End)))
	}
	return r, err
}
