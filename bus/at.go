package bus

import (
	"context"
	"encoding/json"
	"fmt"
)

// At returns the stored message with the given sequence; nil when the log does
// not hold it, because History trimmed it or nothing was stored there yet.
func (b *Bus) At(ctx context.Context, seq uint64) (*Message, error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	m, err := b.at(ctx, seq)
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", seq, err)
	}
	return m, nil
}

func (b *Bus) at(ctx context.Context, seq uint64) (*Message, error) {
	req, err := json.Marshal(getRequest{Seq: seq})
	if err != nil {
		return nil, err
	}
	stream := b.subjects.Stream()
	resp, err := b.question(ctx, "$JS.API.DIRECT.GET."+stream, req)
	if err != nil {
		return nil, unavailable(err)
	}
	if statusOf(resp) == "404" {
		if b.replicated.Load() { // a replica may be behind: the leader has the word
			return b.leaderGet(ctx, getRequest{Seq: seq})
		}
		return nil, nil
	}
	m, err := answer(stream, resp)
	if err != nil {
		return nil, err
	}
	return &m, nil
}
