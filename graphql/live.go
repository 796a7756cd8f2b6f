package graphql

import "context"

// Sink takes the results of one subscription. Its methods never block, may be
// called from any goroutine, but never two at a time, and must not call what
// Subscribe returned: the engine's locks are held.
type Sink interface {
	// Next takes one whole execution result with its cursor (empty for sources
	// that have none). The payload is shared with other sinks: it is never
	// modified. False means that the sink takes no more.
	Next(payload []byte, cursor string) bool
	// End says that nothing follows: nil when the source has ended, otherwise a
	// JSON array of GraphQL errors.
	End(errors []byte)
}

// Pacer is what a Sink may implement to set the pace of a replay: Ready returns
// when the sink has room for more, or with an error when it takes no more or
// ctx ends. Live results do not wait for it.
type Pacer interface {
	Ready(ctx context.Context) error
}
