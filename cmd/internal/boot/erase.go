package boot

import (
	"context"
	"fmt"

	"tidings/resource"
	"tidings/schema"
)

// openEraser opens what removes deleted records' history from the log, and what
// the types of the model do not keep.
func (r *Rooms) openEraser(ctx context.Context, m *schema.Model) (*resource.Eraser, error) {
	for _, t := range m.Resources {
		if int64(t.History) > r.config.History {
			return nil, fmt.Errorf("schema %s is refused: %s is to keep %d changes of each record, and the log keeps %d; write @resource(history: %d) or less, or raise TIDINGS_HISTORY (--history) and the stream's limit",
				r.config.Schema, t.Name, t.History, r.config.History, r.config.History)
		}
	}
	return resource.OpenEraser(ctx, r.Bus, m, resource.EraserOptions{After: r.config.EraseAfter, Metrics: r.Metrics, Logger: r.log})
}
