package graphql

import (
	"context"

	"tidings/resource"
)

// history answers a field such as userHistory: the changes of one record that the
// log keeps, read from there.
func (r *run) history(ctx context.Context, f *root, args map[string]any) answer {
	e := r.engine
	first, err := r.changeCount(args)
	if err != nil {
		return refused(err)
	}
	var after uint64
	if cursor, given := args["after"].(string); given {
		if after, err = e.position(cursor); err != nil {
			return refused(err)
		}
	}
	id, _ := args["id"].(string)
	select {
	case e.live.slots <- struct{}{}: // few read the log at a time
	case <-ctx.Done():
		return refused(ctx.Err())
	}
	past, err := e.feed.History(ctx, f.generated.Resource.Name, id, after, first)
	<-e.live.slots
	if err != nil {
		return refused(err)
	}
	return single(r.historyPage(ctx, f.target, past))
}

// historyPage lays the page out as batches.
func (r *run) historyPage(ctx context.Context, o *object, past resource.History) *batch {
	row := []byte(`{"endCursor":null`)
	if n := len(past.Changes); n > 0 {
		row = appendString([]byte(`{"endCursor":`), r.cursor(past.Changes[n-1].Seq))
	}
	row = appendValue(append(row, `,"hasMore":`...), past.More)
	row = appendValue(append(row, `,"complete":`...), past.Complete)
	b := &batch{object: o, rows: [][]byte{append(row, '}')}, links: make([]link, o.links)}
	for i := range o.fields {
		if f := &o.fields[i]; f.source == sourceNodes {
			b.links[f.link] = link{next: r.entries(ctx, f.target, past.Changes), spans: whole(len(past.Changes))}
		}
	}
	return b
}

// entries are the changes of a page. Each record is as it was; who may not read it
// may not read what it was.
func (r *run) entries(ctx context.Context, o *object, changes []resource.PastChange) *batch {
	b := &batch{object: o, rows: make([][]byte, len(changes)), links: make([]link, o.links)}
	events := make([]resource.Event, len(changes))
	for i, c := range changes {
		events[i] = c.Event
		row := change(c.Event, r.cursor(c.Seq))
		row = appendOrNull(append(row[:len(row)-1], `,"actor":`...), c.Actor)
		row = appendOrNull(append(row, `,"command":`...), c.Command)
		b.rows[i] = append(row, '}')
	}
	for i := range o.fields {
		if f := &o.fields[i]; f.source == sourceRecord {
			records := recordsOf(f.target, events)
			r.authorize(records.next)
			r.resolve(ctx, records.next)
			b.links[f.link] = records
		}
	}
	return b
}

func appendOrNull(buf []byte, s string) []byte {
	if s == "" {
		return append(buf, "null"...)
	}
	return appendString(buf, s)
}
