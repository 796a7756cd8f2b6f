package resource

import (
	"context"

	"tidings/view"
)

// Sink takes in what a feed reads from the log.
type Sink interface {
	// Begin returns the position after which the log is to be read. It may wait
	// for it as long as ctx allows.
	Begin(ctx context.Context) (position uint64, err error)
	// Position is the sequence up to which the changes of the log were taken in.
	Position() uint64
	// Apply returns when every change up to upto is taken in, as view.View.Apply
	// describes.
	Apply(ctx context.Context, upto uint64, changes []view.Change) error
	// Condemn says that what was taken in is not what the log holds.
	Condemn() error
}

// View shows what the log says now: a file of this process (view.View), or a
// database that processes share (view.Shared).
type View interface {
	Sink
	Get(ctx context.Context, typ string, ids []string) ([][]byte, error)
	Related(ctx context.Context, q view.Related) ([][][]byte, error)
	List(ctx context.Context, q view.Query) (view.Page, error)
	ListAt(ctx context.Context, q view.Query) (page view.Page, position uint64, err error)
	Count(ctx context.Context, typ string, f *view.Filter, owner string) (int, error)
	CountTo(ctx context.Context, typ string, f *view.Filter, owner string, most int) (int, error)
}
