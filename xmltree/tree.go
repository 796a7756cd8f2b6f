package xmltree

import (
	"iter"
	"strings"
)

// Name is an expanded name: the namespace's URI, empty for none, and the local part.
type Name struct{ Space, Local string }

// Tree is a scanned document. Its strings share the memory of the source
// wherever the source held the value literally. It is never changed after scan.
//
// Nodes, attributes and declarations are places in the text. They hold no
// pointers, so a document of any size is a few objects for the garbage collector,
// and it looks into none but the smallest.
type Tree struct {
	text   string // the source, and after it the values that it does not hold literally
	size   int    // bytes of the source
	*parts        // nil once the tree is released
	made   *scanner
}

// parts are what a tree is made of.
type parts struct {
	nodes        []node        // in document order; the root element is the first
	attrs        []attr        // by element, in document order
	declarations []declaration // by element, in document order
}

// node is an element, or else, when its name has no length, a gap: a place in an
// element's content that is not literally its text. That is text with references,
// a CDATA section or a comment. What stands between the nodes of an element is
// text as it is, and needs none.
//
// What is inside of an element follows it, up to the node that after names.
type node struct {
	from, end    uint32  // where it begins in the source, and where what follows it does
	inner, close uint32  // where an element's content begins and ends; where a gap's text does, in the source or after it
	after        uint32  // the node that follows this one and all inside of it
	parent       uint32  // of an element: the one around it
	attrs        uint32  // of an element: its first attribute
	space        spaceID // of an element
	name         uint16  // bytes of an element's name as written, which begins after the <
	prefix       uint8   // bytes of the name before its local part, the colon included
	count        uint8   // of an element: how many attributes it has, and the bit hasText
}

// hasText says that the text of an element's own is more than white space, or may be.
const hasText uint8 = 1 << 7

type attr struct {
	at       uint32 // where its name begins
	from, to uint32 // its value, in the source or after it
	space    spaceID
	name     uint16 // as of a node
	prefix   uint8
}

// spaceID is a namespace: a declaration, counted from 1, or one of those below.
type spaceID int32

const (
	noSpace  spaceID = 0
	xmlSpace spaceID = -1
)

// uri is the URI of a namespace, empty for none.
func (t *Tree) uri(id spaceID) string {
	switch {
	case id > 0:
		d := &t.declarations[id-1]
		return t.text[d.from:d.to]
	case id == xmlSpace:
		return xmlNS
	}
	return ""
}

// local is the local part of an element's name.
func (t *Tree) local(n *node) string {
	return t.text[n.from+1+uint32(n.prefix) : n.from+1+uint32(n.name)]
}

func (t *Tree) attrLocal(a *attr) string { return t.text[a.at+uint32(a.prefix) : a.at+uint32(a.name)] }

func (t *Tree) attrName(a *attr) Name { return Name{t.uri(a.space), t.attrLocal(a)} }

func (t *Tree) attrValue(a *attr) string { return t.text[a.from:a.to] }

// attrsOf are the attributes of an element.
func (t *Tree) attrsOf(n *node) []attr { return t.attrs[n.attrs : n.attrs+uint32(n.count&^hasText)] }

// Elem is one element of a tree. The zero value is no element. Two are equal (==)
// when they are the same element of the same tree.
type Elem struct {
	tree *Tree
	at   uint32
}

func (e Elem) node() *node { return &e.tree.nodes[e.at] }

// Root is the document's one element.
func (t *Tree) Root() Elem { return Elem{t, 0} }

// Exists reports whether there is an element: the other methods need one.
func (e Elem) Exists() bool { return e.tree != nil }

// Name is the element's expanded name.
func (e Elem) Name() Name {
	n := e.node()
	return Name{e.tree.uri(n.space), e.tree.local(n)}
}

// Is reports whether the element has the given expanded name.
func (e Elem) Is(space, local string) bool {
	n := e.node()
	return e.tree.local(n) == local && e.tree.uri(n.space) == space
}

// Children yields the child elements, in order.
func (e Elem) Children() iter.Seq[Elem] {
	return func(yield func(Elem) bool) {
		nodes := e.tree.nodes
		for i, end := e.at+1, nodes[e.at].after; i < end; i = nodes[i].after {
			if nodes[i].name != 0 && !yield(Elem{e.tree, i}) {
				return
			}
		}
	}
}

// Nodes yields the child elements and, with the zero Elem, the runs of character
// data between them, in order. Comments, references and the borders of CDATA
// sections may divide a run. No run is empty.
func (e Elem) Nodes() iter.Seq2[Elem, string] {
	return func(yield func(Elem, string) bool) {
		t, n := e.tree, e.node()
		literal := n.inner // where text begins that was not yielded yet
		for i := e.at + 1; i < n.after; i = t.nodes[i].after {
			c := &t.nodes[i]
			if literal < c.from && !yield(Elem{}, t.text[literal:c.from]) {
				return
			}
			literal = c.end
			if c.name != 0 && !yield(Elem{t, i}, "") {
				return
			}
			if c.name == 0 && c.inner < c.close && !yield(Elem{}, t.text[c.inner:c.close]) {
				return
			}
		}
		if literal < n.close {
			yield(Elem{}, t.text[literal:n.close])
		}
	}
}

// plain is the text of an element that holds nothing else, as it is in the source.
func (e Elem) plain() (text string, ok bool) {
	n := e.node()
	if n.after != e.at+1 {
		return "", false
	}
	return e.tree.text[n.inner:n.close], true
}

// Text is the element's own character data, joined: comments, CDATA borders and
// child elements leave no trace.
func (e Elem) Text() string {
	if text, ok := e.plain(); ok {
		return text
	}
	return e.joined()
}

func (e Elem) joined() string {
	var single string
	var joined strings.Builder
	runs := 0
	for child, run := range e.Nodes() {
		if child.Exists() {
			continue
		}
		switch runs++; runs {
		case 1:
			single = run
		case 2:
			joined.WriteString(single)
			fallthrough
		default:
			joined.WriteString(run)
		}
	}
	if runs < 2 {
		return single
	}
	return joined.String()
}

// Value is Text, and whether there is no child element.
func (e Elem) Value() (text string, leaf bool) {
	if text, ok := e.plain(); ok {
		return text, true
	}
	return e.joined(), !e.HasElements()
}

// Blank reports whether the element's own character data is white space at most.
func (e Elem) Blank() bool { return e.node().count&hasText == 0 || Trim(e.Text()) == "" }

// HasElements reports whether there is a child element.
func (e Elem) HasElements() bool {
	for range e.Children() {
		return true
	}
	return false
}

// Attr returns an attribute's value.
func (e Elem) Attr(space, local string) (string, bool) {
	if e.tree.nodes[e.at].count&^hasText == 0 {
		return "", false
	}
	return e.attr(space, local)
}

func (e Elem) attr(space, local string) (string, bool) {
	attrs := e.tree.attrsOf(e.node())
	for i := range attrs {
		if a := &attrs[i]; e.tree.attrLocal(a) == local && e.tree.uri(a.space) == space {
			return e.tree.attrValue(a), true
		}
	}
	return "", false
}

// Attrs yields the attributes with their values, in order. Namespace
// declarations are none of them.
func (e Elem) Attrs() iter.Seq2[Name, string] {
	return func(yield func(Name, string) bool) {
		for a := range e.Attributes() {
			if !yield(a.Name, a.Value) {
				return
			}
		}
	}
}

// Trim removes the white space of XML from both ends.
func Trim(s string) string {
	for len(s) > 0 && class[s[0]]&white != 0 {
		s = s[1:]
	}
	for len(s) > 0 && class[s[len(s)-1]]&white != 0 {
		s = s[:len(s)-1]
	}
	return s
}
