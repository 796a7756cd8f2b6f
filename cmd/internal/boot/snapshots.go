package boot

import (
	"context"

	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// snapshots are those with which a view without a file begins; nil for a process
// that is alone on its bus, and keeps its file beside the log, and where the view
// is shared and has none.
func (r *Rooms) snapshots(m *schema.Model) *resource.Snapshots {
	if r.config.NATSURL == "" || r.config.ViewURL != "" || r.config.ViewSnapshots == 0 {
		return nil
	}
	return resource.NewSnapshots(r.Bus, m.Fingerprint, r.log)
}

// openMaker opens what makes snapshots of the edition's view: at workers, whose
// clients do not wait for it. Nil: none are made.
func (r *Rooms) openMaker(ctx context.Context, e *Edition) (*resource.SnapshotMaker, error) {
	s := r.snapshots(e.Model)
	v, file := e.View.(*view.View)
	if s == nil || r.role.Edge || !file {
		return nil, nil
	}
	return resource.OpenSnapshotMaker(ctx, s, v, e.Feed, resource.SnapshotOptions{Every: r.config.ViewSnapshots, Logger: r.log})
}
