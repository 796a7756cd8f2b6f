package boot

import (
	"context"
	"math"
	"time"

	"tidings/view"
)

// viewEvery is how often a view is asked for what takes it some time to tell.
const viewEvery = time.Minute

// measureView registers what a view of the process's own holds, and when it was last
// kept for others. A shared view tells this by the means of PostgreSQL.
func (r *Rooms) measureView() {
	if r.config.ViewURL != "" {
		return
	}
	records := &cached[map[string]int]{ask: r.viewRecords, every: viewEvery}
	r.Metrics.Read("tidings_view_records", "Records that this process's view shows, a minute old at most.", func(tell func(float64, ...string)) {
		counts, err := records.get()
		if err != nil {
			return
		}
		for typ, n := range counts {
			tell(float64(n), typ)
		}
	}, "type")
	if r.config.NATSURL == "" || r.config.ViewSnapshots == 0 || r.role.Edge {
		return
	}
	made := &cached[time.Time]{ask: r.snapshotMade, every: viewEvery}
	r.Metrics.Gauge("tidings_view_snapshot_timestamp_seconds", "When the newest snapshot of this schema's view was finished, by whichever worker, in seconds of Unix time; 0 before the first, NaN when the bus cannot be asked.", func() float64 {
		switch at, err := made.get(); {
		case err != nil:
			return math.NaN()
		case at.IsZero():
			return 0
		default:
			return float64(at.Unix())
		}
	})
}

// viewRecords counts the records of each type.
func (r *Rooms) viewRecords(ctx context.Context) (map[string]int, error) {
	now, done := r.Use()
	defer done()
	v, ok := now.View.(*view.View)
	if !ok {
		return nil, nil
	}
	counts := make(map[string]int, len(now.Model.Resources))
	for _, t := range now.Model.Resources {
		n, err := v.Count(ctx, t.Name, nil, "")
		if err != nil {
			return nil, err
		}
		counts[t.Name] = n
	}
	return counts, nil
}

// snapshotMade asks when the newest snapshot was finished.
func (r *Rooms) snapshotMade(ctx context.Context) (time.Time, error) {
	now, done := r.Use()
	defer done()
	if now.maker == nil {
		return time.Time{}, nil
	}
	return now.maker.Made(ctx)
}
