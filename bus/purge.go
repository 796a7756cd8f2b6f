package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tidings/fault"
)

// ErrPurgeDenied says that the stream does not let anybody purge it: an operator
// has set deny_purge, which the server cannot take back.
var ErrPurgeDenied = errors.New("the log does not allow purging")

// Purge removes the messages of one subject of the log that stand before a
// sequence, and returns how many there were. The one at that sequence, and all
// after it, stay. What is gone already is no error: a Purge may be repeated, and
// several may run at the same time. It costs the server a look at all that the
// log holds between the subject's first message and its last.
//
// Errors: ErrPurgeDenied; the fault UNAVAILABLE when nobody can do it just now.
// Without a deadline Options.CallTimeout holds.
func (b *Bus) Purge(ctx context.Context, subject string, before uint64) (int, error) {
	if before <= 1 { // zero would mean all of them
		return 0, nil
	}
	return b.purge(ctx, purgeRequest{Subject: subject, Before: before})
}

// Trim removes the messages of one subject of the log but the newest ones, keep
// of them, and returns how many it has removed. Otherwise it is as Purge.
func (b *Bus) Trim(ctx context.Context, subject string, keep int64) (int, error) {
	if keep < 1 {
		return 0, fmt.Errorf("trim %s to %d messages: at least 1 is its state", subject, keep)
	}
	return b.purge(ctx, purgeRequest{Subject: subject, Keep: keep})
}

type purgeRequest struct {
	Subject string `json:"filter"`
	Before  uint64 `json:"seq,omitempty"`
	Keep    int64  `json:"keep,omitempty"`
}

func (b *Bus) purge(ctx context.Context, q purgeRequest) (int, error) {
	// A purge without a subject, or of all subjects, is one of the log's beginning.
	if !strings.HasPrefix(q.Subject, b.subjects.Prefix+".log.") || strings.ContainsAny(q.Subject, "*> \t\r\n") {
		return 0, fmt.Errorf("purge %q: it is no subject of the log", q.Subject)
	}
	if err := checkSubject(q.Subject); err != nil {
		return 0, err
	}
	ctx, cancel := b.bound(ctx)
	defer cancel()
	body, err := json.Marshal(q)
	if err != nil {
		return 0, err
	}
	resp, err := b.exchangeOn(ctx, "$JS.API.STREAM.PURGE."+b.subjects.Stream(), body)
	if err != nil {
		return 0, fmt.Errorf("purge %s: %w", q.Subject, unavailable(err))
	}
	var answer struct {
		Error  *apiError `json:"error"`
		Purged int       `json:"purged"`
	}
	if err := json.Unmarshal(resp.Data, &answer); err != nil {
		return 0, fmt.Errorf("purge %s: answer of the stream: %w", q.Subject, err)
	}
	switch e := answer.Error; {
	case e == nil:
		return answer.Purged, nil
	case e.Status == 503:
		return 0, fmt.Errorf("purge %s: %w", q.Subject, fault.Wrap(e, fault.Unavailable, "the log is not available"))
	case e.Code == codePurgeFailed && strings.Contains(e.Description, "not permitted"):
		return 0, fmt.Errorf("purge %s: %w: %w", q.Subject, ErrPurgeDenied, e)
	default:
		return 0, fmt.Errorf("purge %s: %w", q.Subject, e)
	}
}

// codePurgeFailed is JetStream's error for a purge that was refused.
const codePurgeFailed = 10110
