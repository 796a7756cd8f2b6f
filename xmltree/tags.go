package xmltree

import (
	"strings"
	"unicode/utf8"
)

func (s *scanner) startTag(from int) (at int, err error) {
	if s.depth == maxDepth || s.elements == maxElements || s.depth == 0 && s.elements > 0 {
		return from, s.excess(from)
	}
	s.elements++
	at, name, prefix, err := s.qname(from + 1)
	if err != nil {
		return at, err
	}
	self := uint32(len(s.nodes))
	s.nodes = append(s.nodes, node{from: uint32(from), after: self + 1, parent: s.open[s.depth].node, attrs: uint32(len(s.attrs)), name: name, prefix: prefix})
	n := &s.nodes[self]
	outer, empty := len(s.scope), false
	if s.src[at] == '>' {
		at++
	} else if at, empty, err = s.attributes(at, n, outer); err != nil {
		return at, err
	}
	if n.space, err = s.resolve(at, from+1, prefix); err != nil {
		return at, err
	}
	n.inner = uint32(at)
	if empty {
		n.close, n.end = uint32(at), uint32(at)
		s.scope = s.scope[:outer]
		return at, nil
	}
	s.depth++
	s.open[s.depth] = frame{node: self, scopes: int32(outer)}
	return at, nil
}

// excess says why there may be no element at a place.
func (s *scanner) excess(at int) error {
	switch {
	case s.depth == 0 && s.elements > 0:
		return refuse(at, "there is a second root element")
	case s.depth == maxDepth:
		return refuse(at, "elements are nested deeper than %d", maxDepth)
	}
	return refuse(at, "there are more than %d elements", maxElements)
}

// attributes reads up to the end of the start tag: declarations into the scope,
// attributes into those of the element. It reports whether the tag was an empty
// element's.
func (s *scanner) attributes(at int, n *node, outer int) (after int, empty bool, err error) {
	for {
		from := at
		at = afterBlanks(s.src, from)
		switch s.src[at] {
		case '>':
			return at + 1, false, s.qualify(at, n)
		case '/':
			if s.src[at+1] != '>' {
				return at, false, refuse(at, "/ is not followed by >")
			}
			return at + 2, true, s.qualify(at, n)
		}
		if at == from {
			return at, false, refuse(at, "white space is missing in a tag")
		}
		if len(s.attrs)-int(n.attrs)+len(s.scope)-outer == maxAttributes {
			return at, false, refuse(at, "an element has more than %d attributes and namespace declarations", maxAttributes)
		}
		if len(s.attrs)+len(s.declarations) >= maxAllAttrs {
			return at, false, refuse(at, "there are more than %d attributes and namespace declarations", maxAllAttrs)
		}
		if at, err = s.attribute(at, outer); err != nil {
			return at, false, err
		}
	}
}

func (s *scanner) attribute(from, outer int) (at int, err error) {
	end, name, prefix, err := s.qname(from)
	if err != nil {
		return end, err
	}
	at = afterBlanks(s.src, end)
	if s.src[at] != '=' {
		return at, refuse(at, "the attribute %s has no value", s.src[from:end])
	}
	at = afterBlanks(s.src, at+1)
	at, value, err := s.quoted(at)
	if err != nil {
		return at, err
	}
	if written := s.src[from:end]; strings.HasPrefix(written, "xmlns") {
		switch {
		case len(written) == len("xmlns"):
			return at, s.declare(at, outer, end, end, value)
		case prefix == uint8(len("xmlns:")):
			return at, s.declare(at, outer, from+len("xmlns:"), end, value)
		}
	}
	s.attrs = append(s.attrs, attr{at: uint32(from), from: value.from, to: value.to, name: name, prefix: prefix})
	return at, nil
}

// quoted reads an attribute's value. Its white space is normalised: tabs and
// line ends become blanks, those written as references stay.
func (s *scanner) quoted(at int) (after int, value ends, err error) {
	quote := s.src[at]
	if quote != '"' && quote != '\'' {
		return at, value, refuse(at, "the value of an attribute is not quoted")
	}
	at++
	from, cooked := at, false
	for ; ; at++ {
		at = stop(s.src, at, quote)
		switch c := s.src[at]; {
		case c == quote:
			value = ends{uint32(from), uint32(at)}
			if cooked {
				value, err = s.cook(value, true)
			}
			return at + 1, value, err
		case at == s.end:
			return at, value, refuse(at, "the value of an attribute is not closed")
		case c == '<':
			return at, value, refuse(at, "< stands inside of an attribute")
		case c == '>':
		case c == '&' || class[c]&white != 0:
			cooked = true
		default:
			return at, value, refuseControl(at, c)
		}
	}
}

// qualify finds the namespaces of the attributes of a start tag that was read to
// its end, and refuses two of one name.
func (s *scanner) qualify(at int, n *node) (err error) {
	own := s.attrs[n.attrs:]
	n.count = uint8(len(own))
	for i := range own {
		a := &own[i]
		if a.prefix > 0 {
			if a.space, err = s.resolve(at, int(a.at), a.prefix); err != nil {
				return err
			}
		}
		for j := range own[:i] {
			if s.alike(a, &own[j]) {
				return refuse(at, "the attribute %s is given twice", s.src[a.at:a.at+uint32(a.name)])
			}
		}
	}
	return nil
}

// alike reports whether two attributes have one expanded name.
func (s *scanner) alike(a, b *attr) bool {
	t := Tree{text: s.buf.String(), parts: &s.parts}
	return t.attrLocal(a) == t.attrLocal(b) && (a.space == b.space || t.uri(a.space) == t.uri(b.space))
}

// tag is an element's name as written.
func (s *scanner) tag(n *node) string { return s.src[n.from+1 : n.from+1+uint32(n.name)] }

func (s *scanner) endTag(from int) (after int, err error) {
	if s.depth == 0 {
		return from, refuse(from, "an end tag has no start tag")
	}
	n := s.innermost()
	name := from + len("</")
	at := name + int(n.name)
	if at > s.end || !s.same(name, int(n.from)+1, int(n.name)) || !endsName(s.src[at]) {
		return from, refuse(from, "the element <%s> is closed by another end tag", s.tag(n))
	}
	if s.src[at] != '>' {
		if at = afterBlanks(s.src, at); s.src[at] != '>' {
			return at, refuse(at, "the end tag of <%s> is not closed", s.tag(n))
		}
	}
	n.close, n.end, n.after = uint32(from), uint32(at+1), uint32(len(s.nodes))
	s.scope = s.scope[:s.open[s.depth].scopes]
	s.depth--
	return at + 1, nil
}

// endsName reports whether a byte can follow a name.
func endsName(c byte) bool { return class[c]&nameChar == 0 && c != ':' && c < utf8.RuneSelf }
