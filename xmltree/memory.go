package xmltree

import (
	"math"
	"sync"
)

// Memory is what trees are made in. A tree that is released leaves its memory to
// the next one, so that who reads one document after the other allocates little
// but the text of each. The zero value is ready, and safe for concurrent use; nil keeps
// nothing.
type Memory struct{ pool sync.Pool }

// maxKept is how many nodes, attributes and declarations each may be kept for the
// next tree: those of a large document are not.
const maxKept = 4096

// Scan is ScanWithin, in this memory: it makes t the tree of the document. After an
// error t is none.
func (m *Memory) Scan(t *Tree, data []byte, charset string, most int) error {
	if len(data) > min(most, math.MaxInt32) { // places are of 32 bits
		return tooLarge(most)
	}
	s := m.give()
	if s == nil {
		s = &scanner{memory: m}
	}
	if err := s.read(data, charset, most); err != nil {
		m.take(s)
		return err
	}
	*t = Tree{text: s.buf.String(), size: s.end, parts: &s.parts, made: s}
	return nil
}

// give is a scanner whose memory was used before; nil when there is none.
func (m *Memory) give() *scanner {
	if m == nil {
		return nil
	}
	s, _ := m.pool.Get().(*scanner)
	return s
}

// Release gives the memory of a tree back, which nobody else may be reading then. No
// Elem of the tree may be used after that: it panics, and never shows another tree.
// Strings stay what they are. A tree need not be released.
func (t *Tree) Release() {
	if s := t.made; s != nil {
		t.parts, t.made = nil, nil
		s.memory.take(s)
	}
}

// take keeps what a scanner has, and nothing of what it has read.
func (m *Memory) take(s *scanner) {
	if m == nil || max(cap(s.nodes), cap(s.attrs), cap(s.declarations)) > maxKept {
		return
	}
	s.buf.Reset()
	s.src = ""
	s.nodes, s.attrs, s.declarations, s.scope = s.nodes[:0], s.attrs[:0], s.declarations[:0], s.scope[:0]
	s.depth, s.elements, s.comments = 0, 0, 0
	m.pool.Put(s)
}
