package xmltree

import (
	"cmp"
	"iter"
	"slices"
)

// This file is about how a document was written: prefixes, declarations and
// places. Names and values alone say what it means; who canonicalises, signs or
// decrypts it needs the rest.

// Attribute is an attribute with its prefix as written, empty for none.
type Attribute struct {
	Name          Name
	Prefix, Value string
}

// Source is the scanned document in UTF-8, without its byte order mark; its XML
// declaration may still name the encoding that it came in. The places that Span
// and Inner name are bytes of it.
func (t *Tree) Source() string { return t.text[:t.size] }

// Parent is the element around e; the root has none.
func (e Elem) Parent() Elem {
	if e.at == 0 {
		return Elem{}
	}
	return Elem{e.tree, e.node().parent}
}

// Prefix is the prefix of the element's name as written, empty for none.
func (e Elem) Prefix() string {
	n := e.node()
	return prefixOf(e.tree.text[n.from+1:], n.prefix)
}

// prefixOf is the prefix of a name that begins with n bytes before its local part.
func prefixOf(name string, n uint8) string {
	if n == 0 {
		return ""
	}
	return name[:n-1]
}

// Span is where the element begins in the source and where what follows it does.
func (e Elem) Span() (from, to int) {
	n := e.node()
	return int(n.from), int(n.end)
}

// Inner is where the element's content begins and where it ends. Of an element
// that was written as an empty tag, <a/>, both are the end of the tag, which
// is not a place to insert content at: then content must replace the whole Span.
func (e Elem) Inner() (from, to int) {
	n := e.node()
	return int(n.inner), int(n.close)
}

// Attributes yields the attributes as written, in order. Namespace declarations
// are none of them.
func (e Elem) Attributes() iter.Seq[Attribute] {
	return func(yield func(Attribute) bool) {
		t := e.tree
		attrs := t.attrsOf(e.node())
		for i := range attrs {
			a := &attrs[i]
			if !yield(Attribute{Name: t.attrName(a), Prefix: prefixOf(t.text[a.at:], a.prefix), Value: t.attrValue(a)}) {
				return
			}
		}
	}
}

// declaration is a namespace declaration.
type declaration struct {
	element  uint32 // that makes it
	at       uint32 // where the prefix begins in the source
	from, to uint32 // the URI, in the source or after it
	prefix   uint8  // bytes of the prefix, without a colon; none of the default namespace
}

// bound is the prefix that a declaration binds, empty for the default namespace.
func (t *Tree) bound(d *declaration) string { return t.text[d.at : d.at+uint32(d.prefix)] }

// Declarations yields the namespace declarations of the element itself, each
// prefix once with its URI, in order. The default namespace has the prefix "",
// and the URI "" where it is undone; one of the prefix xml is left out.
func (e Elem) Declarations() iter.Seq2[string, string] {
	return func(yield func(prefix, uri string) bool) {
		for _, d := range e.declared() {
			if !yield(e.tree.bound(&d), e.tree.text[d.from:d.to]) {
				return
			}
		}
	}
}

func (e Elem) declared() []declaration {
	all := e.tree.declarations
	from, _ := slices.BinarySearchFunc(all, e.at, func(d declaration, at uint32) int { return cmp.Compare(d.element, at) })
	to := from
	for to < len(all) && all[to].element == e.at {
		to++
	}
	return all[from:to]
}

// Namespace is the URI that a prefix is bound to at the element, "" being the
// default namespace. An unbound prefix is not found; neither is the default
// namespace where there is none.
func (e Elem) Namespace(prefix string) (uri string, found bool) {
	if prefix == "xml" {
		return xmlNS, true
	}
	for ; e.Exists(); e = e.Parent() {
		for at, uri := range e.Declarations() {
			if at == prefix {
				return uri, uri != ""
			}
		}
	}
	return "", false
}
