package soap

import "context"

// Inflate unpacks a body; it has as many places for large ones as it wants.
func Inflate(data []byte, coding string, most int) ([]byte, error) {
	return inflate(data, coding, most, func() error { return nil })
}

// LargeOnes are n places for large envelopes.
func LargeOnes(n int) largeOnes { return make(largeOnes, n) }

// Enter takes a place.
func (l largeOnes) Enter(ctx context.Context) (leave func(), err error) { return l.enter(ctx) }
