package wssec

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"tidings/xmltree"
)

// The canonical forms that are made here. Comments are no part of the tree, so
// the forms with comments cannot be made: they are refused.
const (
	exclusiveC14N = "http://www.w3.org/2001/10/xml-exc-c14n#"
	inclusiveC14N = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
)

// Canonical writes an element and all that is in it in the form of Exclusive XML
// Canonicalization 1.0 without comments. prefixes is the InclusiveNamespaces
// PrefixList; "#default" in it means the default namespace. The error is w's.
func Canonical(w io.Writer, e xmltree.Elem, prefixes ...string) error {
	return write(w, &canonical{inclusive: prefixes}, e)
}

func write(w io.Writer, c *canonical, e xmltree.Elem) error {
	c.w, c.apex = w, e
	c.out = make([]byte, 0, 1024)
	c.element(e)
	c.flush()
	return c.err
}

// flushAt is how many bytes are collected before they are written on.
const flushAt = 4096

// canonical writes one canonical form. Its recursion is as deep as the tree,
// which the scanner bounds.
type canonical struct {
	w    io.Writer
	out  []byte
	err  error
	apex xmltree.Elem
	// all makes Canonical XML 1.0: all namespaces in scope are written, and the
	// attributes xml:… of the elements around the apex at the apex.
	all       bool
	inclusive []string // PrefixList
	// undone has the apex say xmlns="" where it says nothing of the default
	// namespace: the STR-Transform wants that.
	undone   bool
	rendered []rendered // in force in what was written so far
	attrs    []xmltree.Attribute
}

// rendered is a namespace declaration that was written.
type rendered struct{ prefix, uri string }

func (c *canonical) flush() {
	if c.err == nil && len(c.out) > 0 {
		_, c.err = c.w.Write(c.out)
	}
	c.out = c.out[:0]
}

func (c *canonical) element(e xmltree.Elem) {
	if len(c.out) > flushAt {
		c.flush()
	}
	outer := len(c.rendered)
	prefix, local := e.Prefix(), e.Name().Local
	c.out = appendQName(append(c.out, '<'), prefix, local)
	c.namespaces(e)
	c.declare(c.rendered[outer:])
	c.attributes(e)
	c.out = append(c.out, '>')
	for child, text := range e.Nodes() {
		if child.Exists() {
			c.element(child)
			continue
		}
		c.out = appendEscaped(c.out, text, &textEscapes)
	}
	c.out = append(appendQName(append(c.out, "</"...), prefix, local), '>')
	c.rendered = c.rendered[:outer]
}

// namespaces finds the declarations that e has to make.
func (c *canonical) namespaces(e xmltree.Elem) {
	c.need(e.Prefix(), e.Name().Space)
	if !c.all {
		for a := range e.Attributes() {
			if a.Prefix != "" {
				c.need(a.Prefix, a.Name.Space)
			}
		}
	}
	switch {
	case e != c.apex:
		for prefix, uri := range e.Declarations() {
			if c.all || c.listed(prefix) {
				c.need(prefix, uri)
			}
		}
	case c.all:
		for prefix := range prefixesInScope(e) {
			uri, _ := e.Namespace(prefix)
			c.need(prefix, uri)
		}
	default:
		for _, prefix := range c.inclusive {
			if prefix == "#default" {
				prefix = ""
			}
			if uri, bound := e.Namespace(prefix); bound {
				c.need(prefix, uri)
			}
		}
		if c.undone && !slices.ContainsFunc(c.rendered, func(r rendered) bool { return r.prefix == "" }) {
			c.rendered = append(c.rendered, rendered{})
		}
	}
}

// need has a declaration made unless it is in force. An unbound default namespace
// is declared only to undo another one.
func (c *canonical) need(prefix, uri string) {
	if prefix == "xml" || c.inForce(prefix) == uri {
		return
	}
	c.rendered = append(c.rendered, rendered{prefix, uri})
}

func (c *canonical) inForce(prefix string) string {
	for i := len(c.rendered) - 1; i >= 0; i-- {
		if c.rendered[i].prefix == prefix {
			return c.rendered[i].uri
		}
	}
	return ""
}

func (c *canonical) listed(prefix string) bool {
	if prefix == "" {
		prefix = "#default"
	}
	return slices.Contains(c.inclusive, prefix)
}

// prefixesInScope are those that e and the elements around it declare.
func prefixesInScope(e xmltree.Elem) map[string]bool {
	found := map[string]bool{}
	for ; e.Exists(); e = e.Parent() {
		for prefix := range e.Declarations() {
			found[prefix] = true
		}
	}
	return found
}

func (c *canonical) declare(fresh []rendered) {
	slices.SortFunc(fresh, func(a, b rendered) int { return strings.Compare(a.prefix, b.prefix) })
	for _, r := range fresh {
		c.out = append(c.out, " xmlns"...)
		if r.prefix != "" {
			c.out = append(append(c.out, ':'), r.prefix...)
		}
		c.out = append(appendEscaped(append(c.out, `="`...), r.uri, &attributeEscapes), '"')
	}
}

func (c *canonical) attributes(e xmltree.Elem) {
	c.attrs = slices.AppendSeq(c.attrs[:0], e.Attributes())
	if c.all && e == c.apex {
		c.attrs = appendInherited(c.attrs, e)
	}
	slices.SortFunc(c.attrs, func(a, b xmltree.Attribute) int {
		return cmp.Or(strings.Compare(a.Name.Space, b.Name.Space), strings.Compare(a.Name.Local, b.Name.Local))
	})
	for _, a := range c.attrs {
		c.out = appendQName(append(c.out, ' '), a.Prefix, a.Name.Local)
		c.out = append(appendEscaped(append(c.out, `="`...), a.Value, &attributeEscapes), '"')
	}
}

// appendInherited adds the attributes xml:… of the elements around e that e and
// nearer ones do not have.
func appendInherited(attrs []xmltree.Attribute, e xmltree.Elem) []xmltree.Attribute {
	for e = e.Parent(); e.Exists(); e = e.Parent() {
		for a := range e.Attributes() {
			if a.Prefix == "xml" && !slices.ContainsFunc(attrs, func(b xmltree.Attribute) bool { return b.Name == a.Name }) {
				attrs = append(attrs, a)
			}
		}
	}
	return attrs
}

func appendQName(out []byte, prefix, local string) []byte {
	if prefix != "" {
		out = append(append(out, prefix...), ':')
	}
	return append(out, local...)
}

// escapes is what stands for a character in the canonical form, empty for itself.
type escapes [64]string

var (
	textEscapes      = escapes{'&': "&amp;", '<': "&lt;", '>': "&gt;", '\r': "&#xD;"}
	attributeEscapes = escapes{'&': "&amp;", '<': "&lt;", '"': "&quot;", '\t': "&#x9;", '\n': "&#xA;", '\r': "&#xD;"}
)

func appendEscaped(out []byte, s string, by *escapes) []byte {
	from := 0
	for i := range len(s) {
		if b := s[i]; b < 64 && by[b] != "" {
			out = append(append(out, s[from:i]...), by[b]...)
			from = i + 1
		}
	}
	return append(out, s[from:]...)
}
