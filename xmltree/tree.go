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
// Nodes and attributes are places in the source. They hold no pointers, so a
// document of any size is three or four objects for the garbage collector, and it
// looks into none but the smallest.
type Tree struct {
	src          string
	cooked       string        // the values that the source does not hold literally, one after the other
	nodes        []node        // in document order; the root element is the first
	attrs        []attr        // by element, in document order
	declarations []declaration // by element, in document order
}

// node is an element, or a run of character data when its name has no length.
// What is inside of an element follows it, up to the node that after names.
type node struct {
	from, inner, end uint32  // of an element: where it, its content and what follows it begin; of a run: from and end of its text
	after            uint32  // the node that follows this one and all inside of it
	parent           uint32  // of an element: the one around it
	attrs            uint32  // of an element: its first attribute
	space            spaceID // of an element
	name             uint16  // bytes of an element's name as written, which begins after the <
	prefix           uint8   // bytes of the name before its local part, the colon included
	count            uint8   // of an element: how many attributes it has; of a run: the bits below
}

// What is known of a run of character data.
const (
	runCooked uint8 = 1 << iota // its places are of Tree.cooked, not of the source
	runBlank                    // it is nothing but white space; without this bit it may be, too
)

type attr struct {
	at       uint32 // where its name begins
	from, to uint32 // its value
	space    spaceID
	name     uint16 // as of a node
	prefix   uint8
	cooked   bool // the value's places are of Tree.cooked
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
		return t.declarations[id-1].uri
	case id == xmlSpace:
		return xmlNS
	}
	return ""
}

// local is the local part of an element's name.
func (t *Tree) local(n *node) string {
	return t.src[n.from+1+uint32(n.prefix) : n.from+1+uint32(n.name)]
}

// run is the text of a run of character data.
func (t *Tree) run(n *node) string {
	if n.count&runCooked != 0 {
		return t.cooked[n.from:n.end]
	}
	return t.src[n.from:n.end]
}

func (t *Tree) attrLocal(a *attr) string { return t.src[a.at+uint32(a.prefix) : a.at+uint32(a.name)] }

func (t *Tree) attrName(a *attr) Name { return Name{t.uri(a.space), t.attrLocal(a)} }

func (t *Tree) attrValue(a *attr) string {
	if a.cooked {
		return t.cooked[a.from:a.to]
	}
	return t.src[a.from:a.to]
}

// attrsOf are the attributes of an element.
func (t *Tree) attrsOf(n *node) []attr { return t.attrs[n.attrs : n.attrs+uint32(n.count)] }

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

// Text is the element's own character data, joined: comments, CDATA borders and
// child elements leave no trace.
func (e Elem) Text() string {
	nodes := e.tree.nodes
	var single string
	var joined strings.Builder
	runs := 0
	for i, end := e.at+1, nodes[e.at].after; i < end; i = nodes[i].after {
		if nodes[i].name != 0 {
			continue
		}
		switch runs++; runs {
		case 1:
			single = e.tree.run(&nodes[i])
		case 2:
			joined.WriteString(single)
			fallthrough
		default:
			joined.WriteString(e.tree.run(&nodes[i]))
		}
	}
	if runs < 2 {
		return single
	}
	return joined.String()
}

// Value is Text, and whether there is no child element.
func (e Elem) Value() (text string, leaf bool) {
	nodes := e.tree.nodes
	first, end := e.at+1, nodes[e.at].after
	switch {
	case first == end:
		return "", true
	case first+1 == end && nodes[first].name == 0:
		return e.tree.run(&nodes[first]), true
	}
	return e.Text(), !e.HasElements()
}

// Blank reports whether the element's own character data is white space at most.
func (e Elem) Blank() bool {
	nodes := e.tree.nodes
	for i, end := e.at+1, nodes[e.at].after; i < end; i = nodes[i].after {
		if n := &nodes[i]; n.name == 0 && n.count&runBlank == 0 && Trim(e.tree.run(n)) != "" {
			return false
		}
	}
	return true
}

// HasElements reports whether there is a child element.
func (e Elem) HasElements() bool {
	for range e.Children() {
		return true
	}
	return false
}

// Attr returns an attribute's value.
func (e Elem) Attr(space, local string) (string, bool) {
	if e.tree.nodes[e.at].count == 0 {
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
