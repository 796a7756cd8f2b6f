package bus

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Checked is a subject of the log whose messages mean nothing by themselves: the
// log takes one only while another subject's newest message is the expected one.
func (s Subjects) Checked() string { return s.Prefix + ".log._checked" }

const headerExpectedSubject = "Nats-Expected-Last-Subject-Sequence-Subject"

// Confirm returns without an error when at some moment after the call the newest
// message of a subject was the one at seq, 0 for none. It is for those who refuse
// something because of what Last has said, and append nothing that expects it: a
// leader that was replaced without knowing it may have said so. With one replica
// there is nothing to confirm, and at is 0; with several it costs an append, and
// at is where the log ended at that moment. Errors as those of Append: with
// ErrConflict somebody has written, or that leader refuses; reading again is right.
func (b *Bus) Confirm(ctx context.Context, subject string, seq uint64) (at uint64, err error) {
	if !b.replicated.Load() {
		return 0, nil
	}
	if err := checkSubject(subject); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(commitWait, b.opts.CallTimeout))
	defer cancel()
	m := outgoing(b.subjects.Checked(), Header{headerExpected: {strconv.FormatUint(seq, 10)}, headerExpectedSubject: {subject}}, nil)
	return b.commit(ctx, []*nats.Msg{m})
}
