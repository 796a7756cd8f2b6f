package resource

import (
	"context"
	"log/slog"

	"tidings/bus"
	"tidings/schema"
)

// histories are the types that keep fewer changes of each record than the log.
func histories(m *schema.Model) map[string]int64 {
	list := map[string]int64{}
	for _, r := range m.Resources {
		if r.History > 0 {
			list[r.Name] = int64(r.History)
		}
	}
	return list
}

// trim purges what is beyond the history of the records that have changed.
func (e *Eraser) trim(ctx context.Context, p *progress, last uint64) error {
	for len(e.histories) > 0 && p.Trimmed < last {
		upto := min(last, p.Trimmed+maxScan)
		removed := 0
		for typ, keep := range e.histories {
			changed, err := e.changed(ctx, typ, p.Trimmed, upto)
			if err != nil {
				return err
			}
			if len(changed) > 0 { // only one goes on from here
				if err := e.progress.save(ctx, p); err != nil {
					return err
				}
			}
			for subject := range changed {
				n, err := e.bus.Trim(ctx, subject, keep)
				if err != nil {
					return err
				}
				removed += n
			}
		}
		p.Trimmed = upto
		if err := e.progress.save(ctx, p); err != nil {
			return err
		}
		if removed > 0 {
			e.log.LogAttrs(ctx, slog.LevelDebug, "trimmed the history of records", slog.Int("messages", removed), slog.Uint64("seq", upto))
		}
	}
	return nil
}

// changed are the subjects of the records of a type that have had a change in a
// range of the log which was not their first. One that ends with a malformed
// message is left: its state stands before that.
func (e *Eraser) changed(ctx context.Context, typ string, after, upto uint64) (map[string]struct{}, error) {
	subjects := map[string]struct{}{}
	_, err := e.bus.Read(ctx, e.bus.Subjects().Records(typ), after, upto, func(m bus.Message) error {
		if _, sound, _ := ReadEvent(e.bus.Subjects(), m); !sound {
			delete(subjects, m.Subject)
		} else if m.Prev > 0 {
			subjects[m.Subject] = struct{}{}
		}
		return nil
	})
	return subjects, err
}
