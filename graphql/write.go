package graphql

import (
	"github.com/vektah/gqlparser/v2/ast"

	"tidings/fault"
	"tidings/internal/rawjson"
)

// Writing goes depth first through the batches and appends to one buffer. Each
// write function reports false when the value is null where null is not
// allowed: the buffer may then hold a part of it, and whoever may be null cuts
// that off. The error was recorded where it happened, with the path that the
// run keeps.

// object writes row i of a batch.
func (r *run) object(b *batch, i int) bool {
	if r.exhausted() {
		return false
	}
	o := b.object
	base := len(r.found)
	for range o.keys {
		r.found = append(r.found, rawjson.Extent{})
	}
	ok := r.members(b, i, base)
	r.found = r.found[:base]
	return ok
}

func (r *run) members(b *batch, i, base int) bool {
	o, raw := b.object, b.rows[i]
	if !rawjson.Find(raw, o.keys, r.found[base:base+len(o.keys)]) {
		r.fail(nil, errBroken)
		return false
	}
	r.buf = append(r.buf, '{')
	for n := range o.fields {
		f := &o.fields[n]
		if n > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(r.buf, f.key...)
		switch {
		case f.source == sourceTypename:
			r.buf = append(r.buf, o.typename...)
		case f.source.linked():
			if !r.linked(b, f, i) {
				return false
			}
		case f.rule != nil && !r.who.May(*f.rule, r.ownerOf(b, i, base)):
			if !r.failed(f, forbidden(f)) {
				return false
			}
		default:
			if !r.leaf(f, r.found[base+f.slot].Of(raw)) {
				return false
			}
		}
	}
	r.buf = append(r.buf, '}')
	return true
}

func (r *run) ownerOf(b *batch, i, base int) string {
	if b.object.owner < 0 {
		return ""
	}
	return rawjson.Unquote(r.found[base+b.object.owner].Of(b.rows[i]))
}

// failed records an error at a field and writes null for it.
func (r *run) failed(f *field, err error) bool {
	r.path = append(r.path, step{name: f.name})
	r.fail(f.nodes, err)
	r.path = r.path[:len(r.path)-1]
	return r.null(f.typ.NonNull)
}

// null writes null, if that is allowed.
func (r *run) null(nonNull bool) bool {
	if nonNull {
		return false
	}
	r.buf = append(r.buf, "null"...)
	return true
}

// leaf writes a leaf value or a list of them. What fits is copied as it is.
func (r *run) leaf(f *field, raw []byte) bool {
	if !rawjson.IsNull(raw) && f.leaf.accepts(raw) {
		r.buf = append(r.buf, raw...)
		return true
	}
	if rawjson.IsNull(raw) && !f.leaf.nonNull {
		r.buf = append(r.buf, "null"...)
		return true
	}
	r.path = append(r.path, step{name: f.name})
	ok := r.badLeaf(f, f.leaf, raw)
	r.path = r.path[:len(r.path)-1]
	return ok
}

// badLeaf writes a value of which at least a part does not fit.
func (r *run) badLeaf(f *field, l *leaf, raw []byte) bool {
	mark := len(r.buf)
	if r.tryLeaf(f, l, raw) {
		return true
	}
	r.buf = r.buf[:mark]
	return r.null(l.nonNull)
}

func (r *run) tryLeaf(f *field, l *leaf, raw []byte) bool {
	switch {
	case rawjson.IsNull(raw) && l.nonNull:
		r.fail(f.nodes, nonNullError(f))
		return false
	case rawjson.IsNull(raw):
		return r.null(false)
	case l.elem == nil && l.acceptsOne(raw):
		r.buf = append(r.buf, raw...)
		return true
	case l.elem == nil:
		r.fail(f.nodes, leafError(l, raw))
		return false
	}
	r.buf = append(r.buf, '[')
	index, good := 0, true
	isList := rawjson.Elements(raw, func(item []byte) bool {
		if index > 0 {
			r.buf = append(r.buf, ',')
		}
		r.path = append(r.path, step{index: index})
		good = r.badLeaf(f, l.elem, item)
		r.path = r.path[:len(r.path)-1]
		index++
		return good
	})
	if !isList {
		r.fail(f.nodes, leafError(l, raw))
	}
	r.buf = append(r.buf, ']')
	return isList && good
}

// linked writes the objects that a field of row i leads to.
func (r *run) linked(b *batch, f *field, i int) bool {
	r.path = append(r.path, step{name: f.name})
	ok := r.follows(&b.links[f.link], f, i)
	r.path = r.path[:len(r.path)-1]
	return ok
}

func (r *run) follows(l *link, f *field, i int) bool {
	err := l.err
	if err == nil && l.errs != nil {
		err = l.errs[i]
	}
	if err != nil {
		r.fail(f.nodes, err)
		return r.null(f.typ.NonNull)
	}
	if s := l.span(i); s.low < 0 || f.typ.Elem != nil {
		return r.items(l, f, f.typ, s, 0)
	} else {
		return r.item(l.next, f, f.typ, int(s.low))
	}
}

// items writes a list of objects, or of lists, of which depth says how many are
// around it.
func (r *run) items(l *link, f *field, typ *ast.Type, s span, depth int) bool {
	if s.low < 0 {
		return r.noList(f, typ, s)
	}
	mark := len(r.buf)
	r.buf = append(r.buf, '[')
	for n := s.low; n < s.high; n++ {
		if n > s.low {
			r.buf = append(r.buf, ',')
		}
		r.path = append(r.path, step{index: int(n - s.low)})
		var ok bool
		if typ.Elem.Elem != nil {
			ok = r.items(l, f, typ.Elem, l.inner[depth][n], depth+1)
		} else {
			ok = r.item(l.next, f, typ.Elem, int(n))
		}
		r.path = r.path[:len(r.path)-1]
		if !ok {
			r.buf = r.buf[:mark]
			return r.null(typ.NonNull)
		}
	}
	r.buf = append(r.buf, ']')
	return true
}

// noList writes null where there is no list, or no object.
func (r *run) noList(f *field, typ *ast.Type, s span) bool {
	switch {
	case s == noList:
		r.fail(f.nodes, fault.New(fault.Internal, "Expected a list for the field %s.%s.", f.parent, f.nodes[0].Name))
	case typ.NonNull:
		r.fail(f.nodes, nonNullError(f))
	}
	return r.null(typ.NonNull)
}

// item writes one object, or null for one that is not there.
func (r *run) item(b *batch, f *field, typ *ast.Type, row int) bool {
	mark := len(r.buf)
	switch {
	case b.place != nil && b.rows[row] != nil:
		if at := b.place[row]; at.part >= 0 {
			return r.item(b.parts[at.part], f, typ, int(at.row))
		}
		r.fail(f.nodes, fault.New(fault.Internal, "The value of %s.%s names no type of %s.", f.parent, f.nodes[0].Name, typ.Name()))
	case b.rows[row] != nil:
		if r.object(b, row) {
			return true
		}
		r.buf = r.buf[:mark]
	case b.faults != nil && b.faults[row] != nil:
		r.fail(f.nodes, b.faults[row])
	case typ.NonNull:
		r.fail(f.nodes, nonNullError(f))
	}
	return r.null(typ.NonNull)
}
