package bus

import (
	"context"
	"encoding/json"
	"fmt"
)

// Size is how large the log is.
type Size struct {
	First, Last uint64 // sequences
	Messages    uint64
	Bytes       uint64
}

// Size asks the log's leader how large the log is.
func (b *Bus) Size(ctx context.Context) (Size, error) {
	ctx, cancel := b.bound(ctx)
	defer cancel()
	resp, err := b.exchangeOn(ctx, "$JS.API.STREAM.INFO."+b.subjects.Stream(), nil)
	if err != nil {
		return Size{}, fmt.Errorf("size of the log: %w", unavailable(err))
	}
	var info struct {
		Error *apiError `json:"error"`
		State struct {
			First    uint64 `json:"first_seq"`
			Last     uint64 `json:"last_seq"`
			Messages uint64 `json:"messages"`
			Bytes    uint64 `json:"bytes"`
		} `json:"state"`
	}
	if err := json.Unmarshal(resp.Data, &info); err != nil {
		return Size{}, fmt.Errorf("size of the log: %w", err)
	}
	if info.Error != nil {
		return Size{}, fmt.Errorf("size of the log: %w", unavailable(info.Error))
	}
	return Size(info.State), nil
}
