package graphql

import (
	"context"

	"tidings/fault"
	"tidings/internal/rawjson"
	"tidings/resource"
	"tidings/schema"
	"tidings/view"
)

// batch holds all objects of one level that were reached by the same field,
// before any of them is written. Reading goes from batch to batch, so that a
// relation costs one read however many parents it has.
type batch struct {
	object *object
	rows   [][]byte // raw JSON; nil: there is none
	faults []error  // why a row is nil; nil when nothing failed
	refs   []any    // of the schema: what each row describes
	page   *view.Page
	links  []link // one for each field of the object that is linked
	// parts hold the rows again where the object has variants: one batch for
	// each, and place says for each row where it went.
	parts []*batch
	place []place
}

// place is a row of a part; in part -1 for a row whose type is not known.
type place struct{ part, row int32 }

// link leads from the rows of a batch to those of the next.
type link struct {
	next  *batch
	spans []span   // for each row; nil: row i leads to row i
	inner [][]span // of lists of lists: what the items of a span are, level by level
	err   error    // why there is none for any row
	errs  []error  // why there is none for one; nil when nothing failed
}

// span is a range of rows; null when low is negative.
type span struct{ low, high int32 }

var (
	nothing = span{low: -1}
	noList  = span{low: -2} // what should be a list is none
)

func (l *link) span(row int) span {
	if l.spans == nil {
		return span{int32(row), int32(row) + 1}
	}
	return l.spans[row]
}

// refuse notes why row i leads nowhere.
func (l *link) refuse(i, rows int, err error) {
	if l.errs == nil {
		l.errs = make([]error, rows)
	}
	l.errs[i] = err
	l.spans[i] = nothing
}

// resolve reads everything below b, level by level.
func (r *run) resolve(ctx context.Context, b *batch) {
	if b == nil {
		return
	}
	for _, part := range b.parts {
		r.resolve(ctx, part)
	}
	if b.object.links == 0 || b.links != nil {
		return
	}
	b.links = make([]link, b.object.links)
	for i := range b.object.fields {
		f := &b.object.fields[i]
		if !f.source.linked() {
			continue
		}
		l := &b.links[f.link]
		*l = r.follow(ctx, b, f)
		r.resolve(ctx, l.next)
	}
}

// follow reads what one field of all rows leads to.
func (r *run) follow(ctx context.Context, b *batch, f *field) link {
	switch f.source {
	case sourceMany:
		return r.many(ctx, b, f)
	case sourceOne:
		return r.one(ctx, b, f)
	case sourceNodes:
		return link{next: &batch{object: f.target, rows: b.page.Records}, spans: whole(len(b.page.Records))}
	case sourceEdges:
		return link{next: edges(f.target, b.page), spans: whole(len(b.page.Records))}
	case sourceNode:
		return link{next: &batch{object: f.target, rows: b.page.Records}}
	case sourcePageInfo:
		return link{next: &batch{object: f.target, rows: [][]byte{pageInfo(b.page)}}}
	case sourceNested:
		return r.nested(b, f)
	case sourceMeta:
		return r.describe(b, f)
	}
	return link{err: fault.New(fault.Internal, "internal error")}
}

func whole(rows int) []span { return []span{{0, int32(rows)}} }

// keysOf returns one string member of every row, empty where there is none or
// where the caller may not follow the field from this row.
func (r *run) keysOf(b *batch, f *field, member string, l *link) []string {
	keys := make([]string, len(b.rows))
	names, found := [2]string{member}, [2]rawjson.Extent{}
	wanted := 1
	owner := 1 // where in found it stands
	if f.rule != nil && b.object.owner >= 0 {
		names[1], wanted = b.object.keys[b.object.owner], 2
	}
	if names[1] == member { // Find fills in a name once
		owner, wanted = 0, 1
	}
	for i, raw := range b.rows {
		l.spans[i] = nothing
		if raw == nil || !rawjson.Find(raw, names[:wanted], found[:wanted]) {
			continue
		}
		if f.rule != nil && !r.who.May(*f.rule, rawjson.Unquote(found[owner].Of(raw))) {
			l.refuse(i, len(b.rows), forbidden(f))
			continue
		}
		if key := found[0].Of(raw); !rawjson.IsNull(key) {
			keys[i] = rawjson.Unquote(key)
		}
	}
	return keys
}

// unique returns the distinct keys and, for each row, which of them it has; -1
// for none.
func unique(keys []string) (ids []string, which []int32) {
	which = make([]int32, len(keys))
	at := make(map[string]int32, len(keys))
	for i, key := range keys {
		if key == "" {
			which[i] = -1
			continue
		}
		n, known := at[key]
		if !known {
			n = int32(len(ids))
			at[key] = n
			ids = append(ids, key)
		}
		which[i] = n
	}
	return ids, which
}

// many follows a @hasMany field.
func (r *run) many(ctx context.Context, b *batch, f *field) link {
	limit, err := r.limit(f)
	if err != nil {
		return link{err: err}
	}
	l := link{next: &batch{object: f.target}, spans: make([]span, len(b.rows))}
	ids, which := unique(r.keysOf(b, f, "id", &l))
	if len(ids) == 0 {
		return l
	}
	lists := make([][][]byte, len(ids))
	if limit > 0 {
		if lists, err = r.engine.data.Related(ctx, r.who, f.relation, ids, limit); err != nil {
			return link{err: err}
		}
	}
	total := 0
	for _, list := range lists {
		total += len(list)
	}
	l.next.rows = make([][]byte, 0, total)
	spans := make([]span, len(ids))
	for i, list := range lists {
		spans[i].low = int32(len(l.next.rows))
		l.next.rows = append(l.next.rows, list...)
		spans[i].high = int32(len(l.next.rows))
	}
	for i, n := range which {
		if n >= 0 {
			l.spans[i] = spans[n]
		}
	}
	return l
}

func (r *run) limit(f *field) (int, error) {
	args, bad := r.engine.inputs.arguments(f.args, r.vars)
	if bad != nil {
		return 0, bad.fault()
	}
	limit, given := args["limit"].(int64)
	most := r.engine.options.Limits.Page
	switch {
	case !given:
		return f.relation.Limit, nil
	case limit < 0 || limit > int64(most):
		return 0, &overLimit{"page", fault.Input("limit", "limit must be from 0 to %d", most)}
	}
	return int(limit), nil
}

// one follows a @belongsTo field.
func (r *run) one(ctx context.Context, b *batch, f *field) link {
	l := link{next: &batch{object: f.target}, spans: make([]span, len(b.rows))}
	ids, which := unique(r.keysOf(b, f, f.relation.Field, &l))
	if len(ids) == 0 {
		return l
	}
	next, err := r.get(ctx, f.target, ids)
	if err != nil {
		return link{err: err}
	}
	l.next = next
	for i, n := range which {
		if n >= 0 {
			l.spans[i] = span{n, n + 1}
		}
	}
	return l
}

// get reads records by id. Those that are not there, and those that the caller
// may not read, become faults of their rows.
func (r *run) get(ctx context.Context, target *object, ids []string) (*batch, error) {
	found, err := r.engine.data.Get(ctx, r.who, target.resource.Name, ids)
	if err != nil {
		return nil, err
	}
	b := &batch{object: target, rows: make([][]byte, len(found))}
	for i, one := range found {
		b.rows[i] = one.Raw
		if one.Err != nil || one.Raw == nil {
			b.fail(i, missing(target.resource, ids[i], one.Err))
		}
	}
	return b, nil
}

func (b *batch) fail(row int, err error) {
	if b.faults == nil {
		b.faults = make([]error, len(b.rows))
	}
	b.faults[row] = err
}

func missing(r *schema.Resource, id string, err error) error {
	if err != nil {
		return err
	}
	return fault.New(fault.NotFound, "there is no %s with the id %s", r.Name, brief(id))
}

func forbidden(f *field) error {
	return fault.New(fault.Forbidden, "not allowed to read %s.%s", f.parent, f.nodes[0].Name)
}

// authorized returns a batch of one record that came from elsewhere than a
// read of ours, after the resource's own rule.
func (r *run) authorized(target *object, raw []byte) *batch {
	b := &batch{object: target, rows: [][]byte{raw}}
	r.authorize(b)
	return b
}

func (r *run) authorize(b *batch) {
	if b.object.resource == nil {
		return
	}
	rule := b.object.resource.Auth[schema.Read]
	if r.who.May(rule, "") {
		return // whoever owns the records
	}
	for i, raw := range b.rows {
		if raw != nil && !r.who.May(rule, resource.Owner(b.object.resource, raw)) {
			b.rows[i] = nil
			b.fail(i, fault.New(fault.Forbidden, "not allowed to read %s", b.object.resource.Name))
		}
	}
}

func edges(target *object, page *view.Page) *batch {
	b := &batch{object: target, page: page, rows: make([][]byte, len(page.Records))}
	for i, cursor := range page.Cursors {
		raw := append(make([]byte, 0, len(cursor)+16), `{"cursor":`...)
		b.rows[i] = append(appendString(raw, cursor), '}')
	}
	return b
}

func pageInfo(page *view.Page) []byte {
	raw := append(make([]byte, 0, 160), `{"hasNextPage":`...)
	raw = appendValue(raw, page.HasNext)
	raw = append(raw, `,"hasPreviousPage":`...)
	raw = appendValue(raw, page.HasPrevious)
	if n := len(page.Cursors); n > 0 {
		raw = append(raw, `,"startCursor":`...)
		raw = appendString(raw, page.Cursors[0])
		raw = append(raw, `,"endCursor":`...)
		raw = appendString(raw, page.Cursors[n-1])
	}
	return append(raw, '}')
}
