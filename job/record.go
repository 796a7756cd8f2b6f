package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"tidings/auth"
)

// record is what the bucket keeps of a job under its id: what it is, and how far
// it has come. Its items lie in parts beside it; what came of them takes their place.
type record struct {
	Kind     string         `json:"kind"`
	Document string         `json:"document"`
	Who      auth.Principal `json:"who"`
	Total    int            `json:"total"`
	Parts    int            `json:"parts"`
	// Next is the part that is to be done; Begun says that somebody has begun with
	// it, Since where the log was then, and By who has begun with it last.
	Next  int    `json:"next"`
	Begun bool   `json:"begun,omitempty"`
	Since uint64 `json:"since,omitempty"`
	By    string `json:"by,omitempty"`
	// Done and Failed count items.
	Done   int `json:"done"`
	Failed int `json:"failed"`
	// End is empty while the job goes on.
	End       State     `json:"end,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Submitted time.Time `json:"submitted"`
	Updated   time.Time `json:"updated"`
}

// part is some items of a job, or what came of them.
type part struct {
	First    int       `json:"first"`
	Items    []Input   `json:"items,omitempty"`
	Outcomes []Outcome `json:"outcomes,omitempty"`
}

// turn is a task of the queue: a part of a job that is to be done.
type turn struct {
	Job  string `json:"job"`
	Part int    `json:"part"`
}

// name is the same for the same turn, so that it is queued once.
func (t turn) name() string { return t.Job + "-" + strconv.Itoa(t.Part) }

// claim is what the bucket keeps under an idempotency key.
type claim struct {
	Job string `json:"job"`
	// Request is a digest of what was submitted.
	Request string `json:"request"`
}

// holding is what the bucket keeps of a caller: the jobs that are kept.
type holding struct {
	Jobs []held `json:"jobs"`
}

type held struct {
	Job   string    `json:"job"`
	At    time.Time `json:"at"`
	Bytes int       `json:"bytes"` // of its items
	Over  bool      `json:"over,omitempty"`
}

// unfinished counts the jobs that are not known to be over, and bytes adds up
// what all of them have taken.
func (h holding) unfinished() (n int) {
	for _, held := range h.Jobs {
		if !held.Over {
			n++
		}
	}
	return n
}

func (h holding) bytes() (n int64) {
	for _, held := range h.Jobs {
		n += int64(held.Bytes)
	}
	return n
}

// encode writes what is kept. What came as JSON stays as it came, and as long.
func encode(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("job: what is kept cannot be encoded: " + err.Error()) // it came by JSON
	}
	return out.Bytes()
}

// decodeRecord reads a record. What others may have written is held to what the
// code relies on.
func decodeRecord(raw []byte) (r record, err error) {
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("read a job: %w", err)
	}
	switch {
	case r.Who.Anonymous(), r.Total < 1, r.Parts < 1, r.Parts > r.Total, r.Next < 0, r.Next > r.Parts,
		r.End == "" && r.Next == r.Parts, r.End != "" && !r.End.Final():
		return r, fmt.Errorf("read a job: %.100q is none", raw)
	}
	return r, nil
}

func decodePart(raw []byte) (p part, err error) {
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("read a part of a job: %w", err)
	}
	if p.First < 0 || (len(p.Items) > 0) == (len(p.Outcomes) > 0) {
		return p, fmt.Errorf("read a part of a job: %.100q is none", raw)
	}
	return p, nil
}

func decodeTurn(raw []byte) (t turn, err error) {
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("read a turn: %w", err)
	}
	if t.Job == "" || t.Part < 0 {
		return t, fmt.Errorf("read a turn: %.100q is none", raw)
	}
	return t, nil
}

func (r record) state() State {
	switch {
	case r.End != "":
		return r.End
	case r.Begun || r.Next > 0:
		return Running
	}
	return Queued
}

// status is what its caller is told.
func (r record) status(id string, now time.Time) Status {
	s := Status{ID: id, Kind: r.Kind, State: r.state(), Reason: r.Reason, Done: r.Done, Failed: r.Failed, Total: r.Total,
		Pages: r.Parts, Ready: r.Next, Submitted: r.Submitted, Updated: r.Updated}
	if !s.State.Final() {
		s.RetryAfter = r.patience(now)
	}
	return s
}

const (
	minPatience, maxPatience = 1, 60 // seconds
)

// patience guesses in how many seconds the job may be over: at the pace that it
// has had, or not before it has waited as long again.
func (r record) patience(now time.Time) int {
	guess := now.Sub(r.Submitted)
	if r.Done > 0 {
		guess = guess / time.Duration(r.Done) * time.Duration(r.Total-r.Done)
	}
	return min(max(int(guess.Seconds()), minPatience), maxPatience)
}
