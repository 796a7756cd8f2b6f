package xmltree

import (
	"math"
	"strings"
	"unicode/utf8"
)

const (
	xmlNS   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNS = "http://www.w3.org/2000/xmlns/"
)

// Scan reads a document of at most MaxBytes into a tree, strictly: XML 1.0 with
// namespaces, in UTF-8, UTF-16, US-ASCII, ISO-8859-1 or Windows-1252, without a
// document type, processing instructions and names beyond ASCII, within the
// limits of this package. Anything else is a fault.BadRequest that names the place
// in the document as UTF-8. It takes time linear in the input.
//
// charset is the one of the media type, empty when that names none. A byte
// order mark outranks it, and both outrank the XML declaration.
func Scan(data []byte, charset string) (*Tree, error) { return ScanWithin(data, charset, MaxBytes) }

// ScanWithin is Scan with a limit of its own for the bytes: of the document as it
// came, and as UTF-8.
func ScanWithin(data []byte, charset string, most int) (*Tree, error) {
	if len(data) > min(most, math.MaxInt32) { // places are of 32 bits
		return nil, tooLarge(most)
	}
	src, declared, err := readProlog(data, charset, most)
	if err != nil {
		return nil, err
	}
	s := scanner{src: src, nodes: make([]node, likelyNodes(src))}
	t := &struct { // one object for what most documents need
		Tree
		attrs        [8]attr
		declarations [4]declaration
	}{}
	s.attrs, s.declarations = t.attrs[:0], t.declarations[:0]
	if err := s.document(declared); err != nil {
		return nil, err
	}
	t.Tree = Tree{src: src, cooked: s.cooked.String(), nodes: s.nodes[:s.used:s.used], attrs: s.attrs, declarations: s.declarations}
	return &t.Tree, nil
}

// likelyNodes is how many nodes there are room for at first. Two pieces of markup
// are an element and the text in it, or before it.
func likelyNodes(src string) int {
	pieces := strings.Count(src, "<")
	return min(pieces+pieces/2, 16+len(src)/16)
}

// scanner walks over src once. Nodes are appended in document order. Its methods
// take the place in src that they read at, and return the one after what they read.
type scanner struct {
	src          string
	nodes        []node // of which so many are used, and the others are zero
	used         int
	attrs        []attr
	declarations []declaration
	cooked       strings.Builder
	open         [maxDepth]frame
	depth        int
	scope        [maxScope]spaceID // the declarations in scope, those of the innermost element last
	scopes       int
	elements     int
	comments     int
}

// frame is an element whose end tag is still to come.
type frame struct {
	node   uint32
	scopes int32 // how many declarations are in scope outside the element
}

func (s *scanner) document(at int) (err error) {
	for at < len(s.src) {
		if s.src[at] != '<' {
			at, err = s.text(at)
		} else {
			at, err = s.markup(at)
		}
		if err != nil {
			return err
		}
	}
	if s.depth > 0 {
		return refuse(at, "the element <%s> is not closed", s.tag(&s.nodes[s.open[s.depth-1].node]))
	}
	if s.elements == 0 {
		return refuse(at, "there is no element")
	}
	return nil
}

// markup reads one piece of it.
func (s *scanner) markup(at int) (int, error) {
	switch s.at(at + 1) {
	case '/':
		return s.endTag(at)
	case '!':
		return s.declaration(at)
	case '?':
		return at, refuse(at, "processing instructions are not accepted")
	}
	return s.startTag(at)
}

func (s *scanner) text(from int) (at int, err error) {
	at = afterIndent(s.src, from)
	if at < len(s.src) && s.src[at] == '<' && s.depth > 0 {
		return at, s.run(at, ends{uint32(from), uint32(at), false}, runBlank)
	}
	at, cooked, err := s.characters(at)
	if err != nil {
		return at, err
	}
	if s.depth == 0 {
		if Trim(s.src[from:at]) != "" {
			return at, refuse(at, "there is text outside of the root element")
		}
		return at, nil
	}
	e := ends{uint32(from), uint32(at), false}
	if cooked {
		if e, err = s.cook(e, false); err != nil {
			return at, err
		}
	}
	return at, s.run(at, e, 0)
}

// characters reads up to the markup that ends a run of text, and reports whether
// there is anything in it that stands for something else.
func (s *scanner) characters(at int) (after int, cooked bool, err error) {
	for ; ; at++ {
		if at = stop(s.src, at, ']'); at == len(s.src) {
			return at, cooked, nil
		}
		switch c := s.src[at]; {
		case c == '<':
			return at, cooked, nil
		case c == '&' || c == '\r':
			cooked = true
		case c == ']':
			if strings.HasPrefix(s.src[at:], "]]>") {
				return at, false, refuse(at, "]]> stands outside of a CDATA section")
			}
		case class[c]&control != 0:
			return at, false, refuseControl(at, c)
		}
	}
}

// run appends a run of character data, which was read up to at.
func (s *scanner) run(at int, e ends, known uint8) error {
	n, after := s.node()
	if after > maxNodes {
		return refuse(at, "there are more than %d elements and pieces of text", maxNodes)
	}
	n.from, n.end, n.after, n.count = e.from, e.to, after, known
	if e.cooked {
		n.count |= runCooked
	}
	return nil
}

// node appends a node, all zeros, and says where the next one will be.
func (s *scanner) node() (n *node, after uint32) {
	if s.used == len(s.nodes) {
		s.grow()
	}
	n = &s.nodes[s.used]
	s.used++
	return n, uint32(s.used)
}

// grow makes room for more nodes.
func (s *scanner) grow() {
	s.nodes = append(s.nodes, node{})
	s.nodes = s.nodes[:cap(s.nodes)]
}

// declaration reads what begins with "<!": comments and CDATA sections.
func (s *scanner) declaration(at int) (after int, err error) {
	if strings.HasPrefix(s.src[at:], "<!--") {
		return s.comment(at)
	}
	body, ok := strings.CutPrefix(s.src[at:], "<![CDATA[")
	if !ok {
		return at, refuse(at, "document types and other declarations are not accepted")
	}
	if s.depth == 0 {
		return at, refuse(at, "there is a CDATA section outside of the root element")
	}
	n := strings.Index(body, "]]>")
	if n < 0 {
		return at, refuse(at, "the CDATA section is not closed")
	}
	from := at + len("<![CDATA[")
	raw := body[:n]
	if err := plain(from, raw); err != nil {
		return at, err
	}
	e := ends{uint32(from), uint32(from + n), false}
	if strings.Contains(raw, "\r") {
		e = s.add(strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\r", "\n"))
	}
	after = from + n + len("]]>")
	return after, s.run(after, e, 0)
}

func (s *scanner) comment(at int) (after int, err error) {
	if s.comments++; s.comments > maxComments {
		return at, refuse(at, "there are more than %d comments", maxComments)
	}
	from := at + len("<!--")
	body := s.src[from:]
	n := strings.Index(body, "--")
	if n < 0 || n+2 == len(body) {
		return at, refuse(at, "the comment is not closed")
	}
	if body[n+2] != '>' {
		return at, refuse(at, "-- stands inside of a comment")
	}
	return from + n + len("-->"), plain(from, body[:n])
}

// plain refuses control characters in what begins at a place.
func plain(at int, raw string) error {
	for i, c := range []byte(raw) {
		if class[c]&control != 0 {
			return refuseControl(at+i, c)
		}
	}
	return nil
}

func (s *scanner) startTag(from int) (at int, err error) {
	if s.depth == 0 && s.elements > 0 {
		return from, refuse(from, "there is a second root element")
	}
	if s.depth == maxDepth {
		return from, refuse(from, "elements are nested deeper than %d", maxDepth)
	}
	if s.elements++; s.elements > maxElements {
		return from, refuse(from, "there are more than %d elements", maxElements)
	}
	n, after := s.node()
	n.from, n.attrs, n.after = uint32(from), uint32(len(s.attrs)), after
	if s.depth > 0 {
		n.parent = s.open[s.depth-1].node
	}
	if at, n.name, n.prefix, err = s.qname(from + 1); err != nil {
		return at, err
	}
	outer, empty := s.scopes, false
	if s.at(at) == '>' {
		at++
	} else if at, empty, err = s.attributes(at, n, outer); err != nil {
		return at, err
	}
	if n.space, err = s.resolve(at, prefixOf(s.src[from+1:], n.prefix)); err != nil {
		return at, err
	}
	n.inner, n.end = uint32(at), uint32(at)
	if empty {
		s.scopes = outer
		return at, nil
	}
	s.open[s.depth] = frame{node: after - 1, scopes: int32(outer)}
	s.depth++
	return at, nil
}

// attributes reads up to the end of the start tag: declarations into the scope,
// attributes into those of the element. It reports whether the tag was an empty
// element's.
func (s *scanner) attributes(at int, n *node, outer int) (after int, empty bool, err error) {
	for {
		from := at
		at = afterBlanks(s.src, from)
		switch s.at(at) {
		case '>':
			return at + 1, false, s.qualify(at, n)
		case '/':
			if s.at(at+1) != '>' {
				return at, false, refuse(at, "/ is not followed by >")
			}
			return at + 2, true, s.qualify(at, n)
		}
		if at == from {
			return at, false, refuse(at, "white space is missing in a tag")
		}
		if len(s.attrs)-int(n.attrs)+s.scopes-outer == maxAttributes {
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
	at, name, prefix, err := s.qname(from)
	if err != nil {
		return at, err
	}
	written := s.src[from:at]
	at = afterBlanks(s.src, at)
	if s.at(at) != '=' {
		return at, refuse(at, "the attribute %s has no value", written)
	}
	at = afterBlanks(s.src, at+1)
	at, value, err := s.quoted(at)
	if err != nil {
		return at, err
	}
	switch {
	case written == "xmlns":
		return at, s.declare(at, outer, "", s.value(value))
	case strings.HasPrefix(written, "xmlns:"):
		return at, s.declare(at, outer, written[prefix:], s.value(value))
	}
	s.attrs = append(s.attrs, attr{at: uint32(from), from: value.from, to: value.to, name: name, prefix: prefix, cooked: value.cooked})
	return at, nil
}

func (s *scanner) declare(at, outer int, prefix, uri string) error {
	switch {
	case prefix == "xml" && uri == xmlNS:
		return nil
	case prefix == "xml" || prefix == "xmlns" || uri == xmlNS || uri == xmlnsNS:
		return refuse(at, "the prefixes xml and xmlns cannot be bound")
	case prefix != "" && uri == "":
		return refuse(at, "the prefix %s is bound to no namespace", prefix)
	case len(uri) > maxNamespace:
		return refuse(at, "the URI of a namespace is longer than %d bytes", maxNamespace)
	case s.scopes == maxScope:
		return refuse(at, "there are more than %d namespace declarations in scope", maxScope)
	}
	for _, id := range s.scope[outer:s.scopes] {
		if s.declarations[id-1].prefix == prefix {
			return refuse(at, "an element declares the prefix %q twice", prefix)
		}
	}
	s.declarations = append(s.declarations, declaration{prefix, uri, uint32(s.used - 1)})
	s.scope[s.scopes] = spaceID(len(s.declarations))
	s.scopes++
	return nil
}

// qualify finds the namespaces of the attributes of a start tag that was read to
// its end, and refuses two of one name.
func (s *scanner) qualify(at int, n *node) (err error) {
	own := s.attrs[n.attrs:]
	n.count = uint8(len(own))
	for i := range own {
		a := &own[i]
		if a.prefix > 0 {
			if a.space, err = s.resolve(at, prefixOf(s.src[a.at:], a.prefix)); err != nil {
				return err
			}
		}
		for j := range own[:i] {
			if s.same(a, &own[j]) {
				return refuse(at, "the attribute %s is given twice", s.src[a.at:a.at+uint32(a.name)])
			}
		}
	}
	return nil
}

// same reports whether two attributes have one expanded name.
func (s *scanner) same(a, b *attr) bool {
	t := Tree{src: s.src, declarations: s.declarations}
	return t.attrLocal(a) == t.attrLocal(b) && (a.space == b.space || t.uri(a.space) == t.uri(b.space))
}

// tag is an element's name as written.
func (s *scanner) tag(n *node) string { return s.src[n.from+1 : n.from+1+uint32(n.name)] }

func (s *scanner) endTag(at int) (after int, err error) {
	if s.depth == 0 {
		return at, refuse(at, "an end tag has no start tag")
	}
	f := s.open[s.depth-1]
	n := &s.nodes[f.node]
	tag := s.tag(n)
	rest, ok := strings.CutPrefix(s.src[at+len("</"):], tag)
	if !ok || rest == "" || class[rest[0]]&nameChar != 0 || rest[0] == ':' || rest[0] >= utf8.RuneSelf {
		return at, refuse(at, "the element <%s> is closed by another end tag", tag)
	}
	at += len("</") + len(tag)
	if rest[0] != '>' {
		if at = afterBlanks(s.src, at); s.at(at) != '>' {
			return at, refuse(at, "the end tag of <%s> is not closed", tag)
		}
	}
	n.end, n.after = uint32(at+1), uint32(s.used)
	s.scopes = int(f.scopes)
	s.depth--
	return at + 1, nil
}

func (s *scanner) resolve(at int, prefix string) (spaceID, error) {
	for i := s.scopes - 1; i >= 0; i-- {
		if id := s.scope[i]; s.declarations[id-1].prefix == prefix {
			return id, nil
		}
	}
	switch prefix {
	case "":
		return noSpace, nil
	case "xml":
		return xmlSpace, nil
	}
	return 0, refuse(at, "the prefix %s is not declared", prefix)
}
