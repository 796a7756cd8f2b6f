package graphql

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/resource"
)

// A mutation with an idempotency key goes through three steps, and a process
// may die between any two of them:
//
//  1. It claims the key in the store: the entry names the command that will be
//     sent and where the log was.
//  2. It runs. Its commands' ids come from the entry, so that whoever sends them
//     again finds in the log what they did. While it does it holds the claim (hold).
//  3. It stores the answer.
//
// A request that finds an answer gives it. One that finds a claim waits for the
// answer, and when the claim is too old takes it over: it runs with the ids of
// the first, which writes nothing twice and reads what was written.

// claim is the right to run a mutation under a key.
type claim struct {
	name     string // of the entry
	nobodys  bool   // an anonymous caller's
	entry    entry
	revision uint64
	// again: somebody has claimed it before, so it may have happened.
	again bool
	// open: it is not known what became of a part.
	open bool
	// first: its commands are sent for the first time.
	first bool
	// tried are entries that the store has refused, as it said, or has not answered
	// for: one that is there all the same was refused by a copy which did not know
	// that it is not in charge any more.
	tried [][]byte
}

// once is how the claim's commands are sent.
func (c *claim) once() *resource.Once { return &resource.Once{Since: c.entry.Since, First: c.first} }

// entry is what the store keeps under a key: this as one line of JSON, then
// the answer's body.
type entry struct {
	// Request is a digest of what was asked and by which rights.
	Request string `json:"request"`
	// Command begins the ids of the commands; Since is a position from before them.
	Command string `json:"command"`
	Since   uint64 `json:"since"`
	// Until is when somebody else may take over; zero: now.
	Until time.Time `json:"until,omitzero"`
	// Done: the rest is the answer.
	Done     bool       `json:"done,omitempty"`
	Failed   bool       `json:"failed,omitempty"`
	Code     fault.Code `json:"code,omitempty"`
	Position string     `json:"position,omitempty"`

	body []byte
}

const (
	// maxKeptAnswer bounds a stored answer, in bytes. A larger one is made again
	// from the log when it is asked for again.
	maxKeptAnswer = 256 << 10
	// claimGrace is how much longer a claim holds than its mutation may run, unless
	// that waits for workers (Options.Patience): then it is written again (hold).
	claimGrace = 2 * time.Second
	// maxSkew is how far apart the clocks of processes may be, and their timeouts.
	maxSkew = time.Minute
	// The pauses between two looks at somebody else's claim.
	minLook, maxLook = 10 * time.Millisecond, 250 * time.Millisecond
)

// KeyConflict is how the message begins of a request whose idempotency key was
// used for another one.
const KeyConflict = "the idempotency key was used for another request, or with other rights"

// KeepsAnswers reports whether requests may have an idempotency key.
func (e *Engine) KeepsAnswers() bool { return e.options.Answers != nil }

var (
	errOtherRequest = fault.New(fault.Conflict, KeyConflict+"; use a new key")
	errUnknown      = fault.New(fault.Conflict, "it is not known whether this was done when the request was sent first; look, and send it as a new one, with a new idempotency key if it had one")
	errStillRuns    = fault.New(fault.Timeout, "the first request with this idempotency key still runs; try again")
	errNoAnswers    = fault.New(fault.BadRequest, "idempotency keys are not kept here; send the request without one")
)

// once runs a mutation under the key that it was sent with, or answers with
// what it came to before.
func (e *Engine) once(ctx context.Context, who auth.Principal, op *operation) Response {
	if e.options.Answers == nil {
		return *e.refusal(ctx, errNoAnswers)
	}
	c, kept, err := e.claim(ctx, who, op.asked.key, op.digest(who))
	switch {
	case err != nil:
		return *e.refusal(ctx, err)
	case kept != nil:
		return Response{Body: kept.body, Failed: kept.Failed, Code: kept.Code, Position: kept.Position, Replayed: true}
	}
	// Who hangs up now comes back for the answer.
	ctx = context.WithoutCancel(ctx)
	op.claim = c
	held, release := e.hold(ctx, c)
	resp := e.perform(held, who, op)
	release()
	e.conclude(ctx, c, resp)
	return resp
}

// claim claims a key for a request, or returns the answer that is kept under it.
func (e *Engine) claim(ctx context.Context, who auth.Principal, key, request string) (*claim, *entry, error) {
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout+2*claimGrace)
	defer cancel()
	c := &claim{name: keyName(who, key), nobodys: who.Anonymous()}
	kept, err := e.look(ctx, c, request)
	if errors.Is(err, errStillRuns) {
		e.aside(ctx, func() { kept, err = e.awaitClaim(ctx, c, request) })
	}
	if err != nil || kept != nil {
		return nil, kept, err
	}
	return c, nil, nil
}

// awaitClaim looks again and again, until ctx ends.
func (e *Engine) awaitClaim(ctx context.Context, c *claim, request string) (kept *entry, err error) {
	for pause := minLook; ; pause = min(2*pause, maxLook) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, errStillRuns
		}
		if kept, err = e.look(ctx, c, request); !errors.Is(err, errStillRuns) {
			return kept, err
		}
	}
}

// look claims the key, or returns the answer that is kept under it. The error is
// errStillRuns while another request has it.
func (e *Engine) look(ctx context.Context, c *claim, request string) (kept *entry, err error) {
	err = e.tryClaim(ctx, c, request)
	switch {
	case fault.Is(err, fault.Conflict): // somebody was faster
	case errors.Is(err, bus.ErrUnknownOutcome) && ctx.Err() == nil: // the next look tells
	case err != nil:
		return nil, fault.Wrap(err, fault.Unavailable, "the idempotency key cannot be looked up; nothing was done")
	case c.entry.Request != request:
		return nil, errOtherRequest
	case c.entry.Done:
		return &c.entry, nil
	case c.revision > 0:
		return nil, nil
	}
	return nil, errStillRuns
}

// maxAside bounds those whose wait Options.Aside runs.
const maxAside = 256

// aside runs what waits for another process, in nobody's place while there are few.
func (e *Engine) aside(ctx context.Context, wait func()) {
	if e.options.Aside == nil {
		wait()
		return
	}
	select {
	case e.waiting <- struct{}{}:
		defer func() { <-e.waiting }()
		e.options.Aside(ctx, wait)
	default:
		wait()
	}
}

// tryClaim reads the entry, and claims it when nobody else does: then the
// claim has a revision. The fault is Conflict when somebody was faster.
func (e *Engine) tryClaim(ctx context.Context, c *claim, request string) error {
	raw, revision, err := e.options.Answers.Get(ctx, c.name)
	if err != nil {
		return err
	}
	if c.wrote(raw) {
		c.entry, err = decodeEntry(raw)
		c.revision = revision
		return err
	}
	if raw == nil && c.nobodys {
		if err := e.roomForNobody(ctx); err != nil {
			return err
		}
	}
	if raw == nil {
		c.entry = entry{Request: request, Command: resource.NewCommandID(), Since: e.feed.Now().Seq}
	} else if c.entry, err = decodeEntry(raw); err != nil {
		return err
	} else if c.entry.Request != request || c.entry.Done || e.held(c.entry.Until) {
		return nil
	}
	c.again, c.first = raw != nil, raw == nil
	c.entry.Until = time.Now().Add(e.maxClaim()).UTC()
	mine := c.entry.encode()
	c.revision, err = e.options.Answers.Put(ctx, c.name, mine, revision)
	if fault.Is(err, fault.Conflict) || errors.Is(err, bus.ErrUnknownOutcome) {
		c.tried = append(c.tried, mine)
	}
	return err
}

// roomForNobody refuses a new key of an anonymous caller when half of the store is
// taken, if it has a bound: anybody could fill it, and the rest is for those who
// have a name.
func (e *Engine) roomForNobody(ctx context.Context) error {
	store, bounded := e.options.Answers.(interface {
		Usage(ctx context.Context) (used, most int64, err error)
	})
	if !bounded {
		return nil
	}
	used, most, err := store.Usage(ctx)
	if err == nil && most > 0 && used > most/2 {
		return errors.New("anonymous callers have half of the store")
	}
	return err
}

// held reports whether a claim holds. One that would hold for longer than claims
// do comes from a clock that was ahead; nothing is done twice when it is taken over.
func (e *Engine) held(until time.Time) bool {
	left := time.Until(until)
	return left > 0 && left < e.maxClaim()+maxSkew
}

// conclude stores the answer; one of which not everything is known, or that is
// too large, gives the claim up instead.
func (e *Engine) conclude(ctx context.Context, c *claim, resp Response) {
	done := c.entry
	done.Until = time.Time{}
	if !c.open && !faulty(resp.Code) && len(resp.Body) <= maxKeptAnswer {
		done.Done, done.Failed, done.Code, done.Position, done.body = true, resp.Failed, resp.Code, resp.Position, resp.Body
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := e.options.Answers.Put(ctx, c.name, done.encode(), c.revision)
	if err != nil && !fault.Is(err, fault.Conflict) { // the next request takes over
		e.log.LogAttrs(ctx, slog.LevelWarn, "an answer was not kept for its idempotency key", slog.Any("error", err))
	}
}

// note looks at the errors of an answer: whether a part of it is unknown.
func (c *claim) note(errs gqlerror.List) {
	c.open = c.open || slices.ContainsFunc(errs, func(err *gqlerror.Error) bool { return faulty(codeOf(err)) })
}

// command gives the command of a root field an id of its own that is the same
// when the mutation is run again.
func (r *run) command(f *root, cmd *resource.Command) {
	if c := r.op.claim; c != nil {
		cmd.ID = r.commandID(f)
		cmd.Once = c.once()
	}
}

// commandID names what a root field does, the same each time the mutation is
// run under its key; empty without one.
func (r *run) commandID(f *root) string {
	if r.op.claim == nil {
		return ""
	}
	return r.op.claim.entry.Command + "-" + strconv.Itoa(slices.Index(r.op.plan.roots, f))
}

// keyName is the entry of a principal's key.
func keyName(who auth.Principal, key string) string {
	sum := sha256.Sum256([]byte(who.Subject + "\x00" + key))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// digest is equal for requests that ask for the same by the same rights.
func (op *operation) digest(who auth.Principal) string {
	sum := sha256.Sum256(fmt.Appendf([]byte(op.key()), "\x00%d", who.Roles))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (n entry) encode() []byte {
	line, _ := json.Marshal(n) // its members always encode
	return append(append(line, '\n'), n.body...)
}

func decodeEntry(raw []byte) (entry, error) {
	var n entry
	line, body, _ := bytes.Cut(raw, []byte("\n"))
	if err := json.Unmarshal(line, &n); err != nil {
		return n, fmt.Errorf("read an entry of the answers: %w", err)
	}
	if n.Request == "" || n.Done != (len(body) > 0) || n.Done && !json.Valid(body) || !n.Done && n.Command == "" {
		return n, fmt.Errorf("read an entry of the answers: %.60q is none", line)
	}
	n.body = body
	return n, nil
}
