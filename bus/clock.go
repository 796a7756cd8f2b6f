package bus

import (
	"context"
	"errors"
	"time"
)

// Clock is how far the clock of the server that leads the log is from this one;
// positive when the server is ahead. within is by how much the way of its answer may
// have made that wrong.
func (b *Bus) Clock(ctx context.Context) (skew, within time.Duration, err error) {
	var told struct {
		Time time.Time `json:"ts"`
	}
	sent := time.Now()
	if err := b.api(ctx, "STREAM.INFO."+b.subjects.Stream(), &told); err != nil {
		return 0, 0, err
	}
	took := time.Since(sent)
	if told.Time.IsZero() {
		return 0, 0, errors.New("the server tells no time")
	}
	return told.Time.Sub(sent.Add(took / 2)), took / 2, nil
}
