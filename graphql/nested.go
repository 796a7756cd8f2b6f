package graphql

import (
	"bytes"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/internal/rawjson"
)

// Objects inside of other objects: embedded values of records, and what
// functions give. They are taken out of the JSON of their parents into a batch,
// and where their type is an interface or a union from there into one batch for
// each type, which the member __typename of their JSON names.

// nested takes objects out of the members of their parents.
func (r *run) nested(b *batch, f *field) link {
	l := link{next: &batch{object: f.target}, spans: make([]span, len(b.rows))}
	names, found := [2]string{f.nodes[0].Name}, [2]rawjson.Extent{}
	wanted := 1
	if f.rule != nil && b.object.owner >= 0 {
		names[1], wanted = b.object.keys[b.object.owner], 2
	}
	for i, raw := range b.rows {
		l.spans[i] = nothing
		if raw == nil || !rawjson.Find(raw, names[:wanted], found[:wanted]) {
			continue
		}
		if f.rule != nil && !r.who.May(*f.rule, rawjson.Unquote(found[1].Of(raw))) {
			l.refuse(i, len(b.rows), forbidden(f))
			continue
		}
		l.spans[i] = l.take(found[0].Of(raw), f.typ, 0)
	}
	r.divide(l.next)
	return l
}

// take adds the objects of a JSON value: one, a list of them, or lists of lists,
// of which depth says how many are around it.
func (l *link) take(raw []byte, typ *ast.Type, depth int) span {
	switch {
	case rawjson.IsNull(raw) && (typ.Elem != nil || depth == 0):
		return nothing
	case typ.Elem == nil:
		return l.add(raw)
	case typ.Elem.Elem == nil:
		low := int32(len(l.next.rows))
		isList := rawjson.Elements(raw, func(item []byte) bool { l.add(item); return true })
		if !isList {
			l.next.rows = l.next.rows[:low]
			return noList
		}
		return span{low, int32(len(l.next.rows))}
	}
	var lists []span
	isList := rawjson.Elements(raw, func(item []byte) bool {
		lists = append(lists, l.take(item, typ.Elem, depth+1))
		return true
	})
	if !isList {
		return noList
	}
	for len(l.inner) <= depth {
		l.inner = append(l.inner, nil)
	}
	low := int32(len(l.inner[depth]))
	l.inner[depth] = append(l.inner[depth], lists...)
	return span{low, int32(len(l.inner[depth]))}
}

// add adds one object, or nil for null.
func (l *link) add(raw []byte) span {
	if rawjson.IsNull(raw) {
		raw = nil
	}
	l.next.rows = append(l.next.rows, raw)
	n := int32(len(l.next.rows))
	return span{n - 1, n}
}

// divide asks the resource's rule of each row, after it has given the rows of an
// interface or a union to the batches of their types.
func (r *run) divide(b *batch) {
	if b.object.variants == nil {
		r.authorize(b)
		return
	}
	b.place = make([]place, len(b.rows))
	b.parts = make([]*batch, len(b.object.variants))
	for i, variant := range b.object.variants {
		b.parts[i] = &batch{object: variant}
	}
	for i, raw := range b.rows {
		part := b.object.variant(raw)
		if b.place[i].part = int32(part); part < 0 {
			continue
		}
		to := b.parts[part]
		b.place[i].row = int32(len(to.rows))
		to.rows = append(to.rows, raw)
	}
	for _, part := range b.parts {
		r.authorize(part)
	}
}

// variant returns which of the variants a row is; -1 for none.
func (o *object) variant(raw []byte) int {
	var found [1]rawjson.Extent
	if raw == nil || !rawjson.Find(raw, []string{"__typename"}, found[:]) {
		return -1
	}
	name := found[0].Of(raw)
	for i, variant := range o.variants {
		if bytes.Equal(variant.typename, name) {
			return i
		}
	}
	return -1
}
