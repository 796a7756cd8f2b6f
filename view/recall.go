package view

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"strconv"
)

// Records and pages that are read again come from memory. The memory is here,
// below everybody who reads, because only Apply knows the moment at which a read
// begins to show a change, and only a memory that shares this moment can keep
// the promise that a read after Apply shows what was applied.
//
// Before changes are shown, what is remembered of them is forgotten, and the
// sequence up to which they go is noted (changing, and in their tables). A read
// may remember what it found only when nothing was noted beyond the position at
// which it began: it then began after those changes were shown, and found their
// result or a newer one. (A position moves only after they are shown.) So nothing
// older than the position is ever remembered.
//
// A record is forgotten by itself. A page is forgotten with any change of its
// types, since a record that comes may belong anywhere.

// memory is what a view remembers.
type memory struct {
	seed    maphash.Seed
	records [16]records
	pages   *cache[string, remembered]
}

// records is the part of the remembered records whose names have one hash.
type records struct {
	*cache[recordKey, []byte]
	changing uint64 // under the cache's lock
}

type recordKey struct{ typ, id string }

// remembered is a Page or the lists of Related, as of a state of its tables.
type remembered struct {
	state uint64
	page  Page
	lists [][][]byte
}

// newMemory divides the bytes: half for records, half for pages.
func newMemory(bytes int) *memory {
	if bytes <= 0 {
		return nil
	}
	m := &memory{seed: maphash.MakeSeed(), pages: newCache[string, remembered](bytes / 2)}
	for i := range m.records {
		m.records[i].cache = newCache[recordKey, []byte](bytes / 2 / len(m.records))
	}
	return m
}

func (m *memory) of(key recordKey) *records {
	return &m.records[maphash.String(m.seed, key.id)%uint64(len(m.records))]
}

// record returns a remembered record, nil when there is none.
func (m *memory) record(typ, id string) []byte {
	if m == nil {
		return nil
	}
	key := recordKey{typ, id}
	doc, _ := m.of(key).get(key)
	return doc
}

// remember keeps a record that a read found which began at the position.
func (m *memory) remember(typ, id string, doc []byte, position uint64) {
	if m == nil || doc == nil {
		return
	}
	key := recordKey{typ, id}
	r := m.of(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changing <= position {
		r.putLocked(key, doc, len(doc)+len(id))
	}
}

// changing forgets what changes up to the given sequence will change. It returns
// what had been remembered, to be given to changed when they are shown.
func (m *memory) changing(upto uint64, changes []Change) (hot map[recordKey]bool) {
	if m == nil {
		return nil
	}
	for _, c := range changes {
		key := recordKey{c.Type, c.ID}
		r := m.of(key)
		r.mu.Lock()
		r.changing = upto
		if r.removeLocked(key) {
			if hot == nil {
				hot = map[recordKey]bool{}
			}
			hot[key] = true
		}
		r.mu.Unlock()
	}
	return hot
}

// changed remembers the new state of the records that were remembered before:
// who was read often will be again. It comes after they are shown and before the
// position moves, when no read may remember any of them.
func (m *memory) changed(hot map[recordKey]bool, changes []Change) {
	if len(hot) == 0 {
		return
	}
	for _, c := range slices.Backward(changes) {
		key := recordKey{c.Type, c.ID}
		if !hot[key] {
			continue
		}
		delete(hot, key) // what came before in this Apply is past
		if c.Raw != nil {
			m.of(key).put(key, bytes.Clone(c.Raw), len(c.Raw)+len(c.ID)) // a part of a larger message
		}
	}
}

// forget forgets everything, as of a position that is about to be shown.
func (m *memory) forget(upto uint64) {
	if m == nil {
		return
	}
	for i := range m.records {
		r := &m.records[i]
		r.mu.Lock()
		r.changing = upto
		r.clearLocked()
		r.mu.Unlock()
	}
	m.pages.mu.Lock()
	defer m.pages.mu.Unlock()
	m.pages.clearLocked()
}

// state is a number that changes whenever one of the tables does. known is
// false while a change is under way that a read from SQLite may not show.
func state(position uint64, tables ...*table) (n uint64, known bool) {
	known = true
	for _, t := range tables {
		at := t.changing.Load()
		n += at
		known = known && at <= position
	}
	return n, known
}

// recall returns the remembered page or lists of that name, or reads and
// remembers them. An empty name is remembered by nobody.
func (v *View) recall(ctx context.Context, key string, tables []*table, read func() (remembered, error)) (remembered, error) {
	select {
	case <-v.closed:
		return remembered{}, ErrClosed
	default:
	}
	now, known := state(v.position.Load(), tables...)
	if found, ok := v.memory.pageAt(key, now); ok {
		return found, ctx.Err()
	}
	found, err := read()
	if err == nil && known {
		found.state = now
		v.memory.rememberPage(key, found)
	}
	return found, err
}

// pageAt returns a remembered page or lists of that state.
func (m *memory) pageAt(key string, state uint64) (remembered, bool) {
	if m == nil || key == "" {
		return remembered{}, false
	}
	found, ok := m.pages.get(key)
	return found, ok && found.state == state
}

func (m *memory) rememberPage(key string, found remembered) {
	if m == nil || key == "" {
		return
	}
	size := len(key)
	for i, doc := range found.page.Records {
		size += len(doc) + len(found.page.Cursors[i]) + 40
	}
	for _, list := range found.lists {
		size += 24
		for _, doc := range list {
			size += len(doc) + 24
		}
	}
	m.pages.put(key, found, size)
}

// key names the page among all pages; empty when it is not to be remembered:
// filters are too many to come again.
func (q Query) key() string {
	if q.Filter != nil {
		return ""
	}
	b := append(make([]byte, 0, 128), 'L')
	for _, s := range [...]string{q.Type, q.After, q.Before, q.Owner} {
		b = appendPart(b, s)
	}
	b = strconv.AppendInt(b, int64(q.First), 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(q.Last), 10)
	for _, o := range q.Order {
		if o.Field == nil {
			return ""
		}
		b = strconv.AppendBool(append(b, '/'), o.Desc)
		b = appendPart(b, o.Field.Name)
	}
	return string(b)
}

// maxParents bounds the key of lists that are remembered.
const maxParents = 200

func (q Related) key() string {
	if len(q.Parents) > maxParents {
		return ""
	}
	b := append(make([]byte, 0, 64+40*len(q.Parents)), 'R')
	rel := q.Relation
	b = appendPart(b, rel.Target.Name)
	if rel.Through != nil {
		b = appendPart(b, rel.Through.Name)
	}
	b = append(b, '/')
	b = appendPart(b, rel.Field)
	b = appendPart(b, rel.TargetField)
	b = appendPart(b, q.Owner)
	b = strconv.AppendInt(b, int64(q.Limit), 10)
	for _, id := range q.Parents {
		b = appendPart(b, id)
	}
	return string(b)
}

// appendPart writes a text so that no two sequences of texts look alike.
func appendPart(b []byte, s string) []byte {
	b = strconv.AppendInt(b, int64(len(s)), 10)
	return append(append(b, ':'), s...)
}
