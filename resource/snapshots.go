package resource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"tidings/bus"
	"tidings/view"
)

// A process without a view's file need not read the whole log: workers keep
// snapshots of their views in the object store of the bus, and whoever begins
// takes the newest one that fits and reads what came since.

// Snapshots are the snapshots of one schema's view that processes share.
type Snapshots struct {
	bus         *bus.Bus
	objects     *bus.Objects
	fingerprint string
	log         *slog.Logger
}

// SnapshotStore is the name of the object store, <prefix>-views.
const SnapshotStore = "views"

// snapshotAge is how long a snapshot is kept at most, should no worker live that
// replaces it.
const snapshotAge = 7 * 24 * time.Hour

// NewSnapshots names the snapshots of the views with a fingerprint. Nothing is
// sent. A nil logger is silent.
func NewSnapshots(b *bus.Bus, fingerprint string, log *slog.Logger) *Snapshots {
	return &Snapshots{
		bus: b, fingerprint: fingerprint, log: cmp.Or(log, slog.New(slog.DiscardHandler)),
		objects: b.Objects(bus.ObjectsOptions{Name: SnapshotStore, Description: "Snapshots of views.", MaxAge: snapshotAge}),
	}
}

// snapshot is one that is in the store.
type snapshot struct {
	bus.Object
	position uint64
	bytes    int64
}

const (
	metaFormat      = "format"
	metaFingerprint = "fingerprint"
	metaLog         = "log"
	metaPosition    = "position"
	metaBytes       = "bytes"
)

// read reads what an object says of itself; false when it is no snapshot of this
// log in the format of today.
func (s *Snapshots) read(o bus.Object) (snapshot, bool) {
	position, err := strconv.ParseUint(o.Meta[metaPosition], 10, 64)
	size, sizeErr := strconv.ParseInt(o.Meta[metaBytes], 10, 64)
	return snapshot{o, position, size}, err == nil && sizeErr == nil && size > 0 &&
		o.Meta[metaFormat] == view.SnapshotFormat && o.Meta[metaLog] == s.bus.LogID()
}

// fitting returns those of this schema, the newest first.
func (s *Snapshots) fitting(ctx context.Context) (list []snapshot, err error) {
	objects, err := s.objects.List(ctx)
	for _, o := range objects {
		if x, good := s.read(o); good && o.Meta[metaFingerprint] == s.fingerprint {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b snapshot) int { return cmp.Compare(b.position, a.position) })
	return list, err
}

// Restorer is a Sink that can begin with a snapshot, as view.View.Restore
// describes.
type Restorer interface {
	Restore(ctx context.Context, bytes int64, fetch func(w io.Writer) error, fits func(position uint64, marks []view.Mark) error) error
}

const (
	// restoreBase and restoreRate bound how long a snapshot may take to come: what
	// is slower than that, in bytes a second, is given up.
	restoreBase = time.Minute
	restoreRate = 4 << 20
)

// restore shows the newest snapshot that can be had in an empty view, and reports
// whether there was one. One that lies too far back is none: the newest message of
// each record is read sooner then than all that came since.
func (s *Snapshots) restore(ctx context.Context, v Restorer, last uint64) (done bool) {
	list, err := s.fitting(ctx)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the snapshots of the view cannot be looked for", slog.Any("error", err))
		return false
	}
	for _, x := range list {
		if x.position > last || last-x.position > last/2 {
			continue
		}
		start := time.Now()
		if err = s.fetch(ctx, v, x); err == nil {
			s.log.LogAttrs(ctx, slog.LevelInfo, "the view begins with a snapshot", slog.String("snapshot", x.Name), slog.Uint64("seq", x.position),
				slog.Uint64("behind", last-x.position), slog.Duration("age", time.Since(x.Stored)), slog.Duration("took", time.Since(start)))
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.log.LogAttrs(ctx, slog.LevelWarn, "a snapshot of the view is of no use", slog.String("snapshot", x.Name), slog.Any("error", err))
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "no snapshot of the view fits, so it is built from the log", slog.Int("snapshots", len(list)))
	return false
}

func (s *Snapshots) fetch(ctx context.Context, v Restorer, x snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, restoreBase+time.Duration(x.Size/restoreRate)*time.Second)
	defer cancel()
	return v.Restore(ctx, x.bytes, func(w io.Writer) error { return s.objects.Read(ctx, x.Object, w) }, func(position uint64, marks []view.Mark) error {
		if position != x.position {
			return fmt.Errorf("it is at %d, and should be at %d", position, x.position)
		}
		return Recognize(ctx, s.bus, position, marks)
	})
}

// put stores a snapshot.
func (s *Snapshots) put(ctx context.Context, x *view.Snapshot) error {
	name := fmt.Sprintf("%.16s-%s-%020d", s.fingerprint, s.bus.LogID(), x.Position)
	return s.objects.Write(ctx, name, map[string]string{
		metaFormat: view.SnapshotFormat, metaFingerprint: s.fingerprint, metaLog: s.bus.LogID(),
		metaPosition: strconv.FormatUint(x.Position, 10), metaBytes: strconv.FormatInt(x.Bytes, 10),
	}, x)
}

const (
	// kept is how many snapshots of a schema there are: should the newest be
	// damaged, there is the one before.
	kept = 2
	// refreshAge is after how long a snapshot is replaced however little has
	// changed, and those of other schemas and logs are removed: so long may it hold
	// what has been deleted since.
	refreshAge = 24 * time.Hour
)

// prune removes what is not kept.
func (s *Snapshots) prune(ctx context.Context, now time.Time) error {
	objects, err := s.objects.List(ctx)
	if err != nil {
		return err
	}
	mine, err := s.fitting(ctx)
	if err != nil {
		return err
	}
	errs := []error{s.objects.Sweep(ctx, now.Add(-makingLimit))}
	for _, o := range objects {
		place := slices.IndexFunc(mine, func(x snapshot) bool { return x.Name == o.Name })
		old := now.Sub(o.Stored) >= refreshAge
		if place == 0 || place > 0 && place < kept && !old || place < 0 && !old {
			continue
		}
		errs = append(errs, s.objects.Delete(ctx, o.Name))
	}
	return errors.Join(errs...)
}
