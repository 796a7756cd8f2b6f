package xmltree

import (
	"iter"
	"strings"
)

// Name is an expanded name: the namespace's URI, empty for none, and the local part.
type Name struct{ Space, Local string }

// Tree is a scanned document. Its strings share the memory of the source
// wherever the source held the value literally. It is never changed after scan.
type Tree struct {
	src          string
	nodes        []node // the root element is the first
	attrs        []attr
	declarations []declaration // by element, in document order
}

// node is an element, or a run of character data when its name is empty.
// Zero links mean none: no list ever leads to the root.
type node struct {
	name             Name
	text             string // of an element its name as written, with the prefix
	first, next      int32  // first child, next sibling
	attrFrom, attrTo int32
	parent           int32
	from, inner, end int32 // of an element: where it, its content and what follows it begin
}

type attr struct {
	name   Name
	value  string
	prefix string
}

// Elem is one element of a tree. The zero value is no element. Two are equal (==)
// when they are the same element of the same tree.
type Elem struct {
	tree *Tree
	at   int32
}

// Root is the document's one element.
func (t *Tree) Root() Elem { return Elem{t, 0} }

// Exists reports whether there is an element: the other methods need one.
func (e Elem) Exists() bool { return e.tree != nil }

// Name is the element's expanded name.
func (e Elem) Name() Name { return e.tree.nodes[e.at].name }

// Is reports whether the element has the given expanded name.
func (e Elem) Is(space, local string) bool {
	n := &e.tree.nodes[e.at].name
	return n.Local == local && n.Space == space
}

// Children yields the child elements, in order.
func (e Elem) Children() iter.Seq[Elem] {
	return func(yield func(Elem) bool) {
		nodes := e.tree.nodes
		for i := nodes[e.at].first; i != 0; i = nodes[i].next {
			if nodes[i].name.Local != "" && !yield(Elem{e.tree, i}) {
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
	for i := nodes[e.at].first; i != 0; i = nodes[i].next {
		if nodes[i].name.Local != "" {
			continue
		}
		switch runs++; runs {
		case 1:
			single = nodes[i].text
		case 2:
			joined.WriteString(single)
			fallthrough
		default:
			joined.WriteString(nodes[i].text)
		}
	}
	if runs < 2 {
		return single
	}
	return joined.String()
}

// Blank reports whether the element's own character data is white space at most.
func (e Elem) Blank() bool {
	nodes := e.tree.nodes
	for i := nodes[e.at].first; i != 0; i = nodes[i].next {
		if nodes[i].name.Local == "" && Trim(nodes[i].text) != "" {
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
	n := &e.tree.nodes[e.at]
	for _, a := range e.tree.attrs[n.attrFrom:n.attrTo] {
		if a.name.Local == local && a.name.Space == space {
			return a.value, true
		}
	}
	return "", false
}

// Attrs yields the attributes with their values, in order. Namespace
// declarations are none of them.
func (e Elem) Attrs() iter.Seq2[Name, string] {
	return func(yield func(Name, string) bool) {
		n := &e.tree.nodes[e.at]
		for _, a := range e.tree.attrs[n.attrFrom:n.attrTo] {
			if !yield(a.name, a.value) {
				return
			}
		}
	}
}

// Trim removes the white space of XML from both ends.
func Trim(s string) string { return strings.Trim(s, " \t\r\n") }
