package soap

import (
	"iter"
	"strings"
)

// name is an expanded name: the namespace's URI, empty for none, and the local part.
type name struct{ space, local string }

// tree is a scanned document. Its strings share the memory of the source
// wherever the source held the value literally. It is never changed after scan.
type tree struct {
	nodes []node // the root element is the first
	attrs []attr
}

// node is an element, or a run of character data when its name is empty.
// Zero links mean none: no list ever leads to the root.
type node struct {
	name             name
	text             string
	first, next      int32 // first child, next sibling
	attrFrom, attrTo int32
}

type attr struct {
	name  name
	value string
}

// elem is one element of a tree. The zero value is no element.
type elem struct {
	tree *tree
	at   int32
}

func (t *tree) root() elem { return elem{t, 0} }

func (e elem) exists() bool { return e.tree != nil }

func (e elem) name() name { return e.tree.nodes[e.at].name }

// is reports whether the element has the given expanded name.
func (e elem) is(space, local string) bool {
	n := &e.tree.nodes[e.at].name
	return n.local == local && n.space == space
}

// children yields the child elements, in order.
func (e elem) children() iter.Seq[elem] {
	return func(yield func(elem) bool) {
		nodes := e.tree.nodes
		for i := nodes[e.at].first; i != 0; i = nodes[i].next {
			if nodes[i].name.local != "" && !yield(elem{e.tree, i}) {
				return
			}
		}
	}
}

// text is the element's own character data, joined: comments, CDATA borders and
// child elements leave no trace.
func (e elem) text() string {
	nodes := e.tree.nodes
	var single string
	var joined strings.Builder
	runs := 0
	for i := nodes[e.at].first; i != 0; i = nodes[i].next {
		if nodes[i].name.local != "" {
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

// blank reports whether the element's own character data is white space at most.
func (e elem) blank() bool {
	nodes := e.tree.nodes
	for i := nodes[e.at].first; i != 0; i = nodes[i].next {
		if nodes[i].name.local == "" && trim(nodes[i].text) != "" {
			return false
		}
	}
	return true
}

// hasElements reports whether there is a child element.
func (e elem) hasElements() bool {
	for range e.children() {
		return true
	}
	return false
}

// attr returns an attribute's value.
func (e elem) attr(space, local string) (string, bool) {
	n := &e.tree.nodes[e.at]
	for _, a := range e.tree.attrs[n.attrFrom:n.attrTo] {
		if a.name.local == local && a.name.space == space {
			return a.value, true
		}
	}
	return "", false
}

// trim removes the white space of XML from both ends.
func trim(s string) string { return strings.Trim(s, " \t\r\n") }
