package job_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/job"
)

// What an item comes to may be larger than a message of the bus, or become so on
// the way into the bucket: the item is carried out all the same, once.
func TestAResultThatNoMessageHoldsIsLeftOut(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	j := open(t, b, job.Options{Pause: time.Millisecond})
	results := map[string]json.RawMessage{
		"angles": json.RawMessage(`"` + strings.Repeat("<", 300_000) + `"`), // six bytes each where they are escaped
		"vast":   json.RawMessage(`"` + strings.Repeat("x", b.MaxPayload()) + `"`),
	}
	ids := map[string]string{}
	for name := range results {
		ids[name] = submit(t, j, ada, job.Order{Kind: name, Items: numbers(1)})
	}
	ids["many"] = submit(t, j, ada, job.Order{Kind: "many", Items: numbers(3)})
	work(t, j, func(_ context.Context, _ auth.Principal, item item) job.Outcome {
		if item.Kind == "many" {
			return job.Outcome{Result: json.RawMessage(`"` + strings.Repeat("<", 80_000) + `"`)}
		}
		return job.Outcome{Result: results[item.Kind]}
	})
	results["many"] = nil
	for name := range results {
		s := await(t, j, ids[name], over)
		p, err := j.Page(t.Context(), ada, ids[name], 0)
		if err != nil || s.State != job.Done || s.Failed != 0 || p.Outcomes[0].Error != nil || p.Outcomes[0].Ref != "row 0" {
			t.Errorf("%s: %+v %v", name, s, err)
		}
		if told := p.Outcomes[0].Result != nil; told != (name != "vast") {
			t.Errorf("%s: the result is told: %t", name, told)
		}
	}
}

// The part that was at work when a job was cancelled is carried out, and told.
func TestWhatWasAtWorkWhenAJobWasCancelledIsTold(t *testing.T) {
	t.Parallel()
	j := open(t, bustest.New(t), job.Options{Concurrency: 1})
	id := submit(t, j, ada, job.Order{Items: numbers(2 * job.MaxPage)})
	next := submit(t, j, ada, job.Order{Items: numbers(1)})
	work(t, j, func(ctx context.Context, who auth.Principal, item item) job.Outcome {
		if string(item.Input) == "5" {
			if _, err := j.Cancel(ctx, who, id); err != nil {
				t.Error(err)
			}
			if _, err := j.Page(ctx, who, id, 0); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "may have been carried out") {
				t.Errorf("the page that is at work: %v", err)
			}
		}
		return job.Outcome{Result: item.Input}
	})
	await(t, j, next, over)
	s := await(t, j, id, over)
	if s.State != job.Cancelled || s.Done != job.MaxPage || s.Ready != 1 {
		t.Errorf("%+v", s)
	}
	if p, err := j.Page(t.Context(), ada, id, 0); err != nil || len(p.Outcomes) != job.MaxPage || string(p.Outcomes[9].Result) != "9" {
		t.Errorf("the page that was at work: %v", err)
	}
	if _, err := j.Page(t.Context(), ada, id, 1); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "were not carried out") {
		t.Errorf("the page after it: %v", err)
	}
}
