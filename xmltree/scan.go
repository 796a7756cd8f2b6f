package xmltree

import (
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
	if len(data) > most {
		return nil, tooLarge(most)
	}
	src, declared, err := readProlog(data, charset, most)
	if err != nil {
		return nil, err
	}
	s := &scanner{
		src: src, pos: declared,
		tree:    &Tree{src: src, nodes: make([]node, 0, 16+min(len(src)/24, maxElements)), attrs: make([]attr, 0, 8), declarations: make([]declaration, 0, 8)},
		scope:   make([]int32, 0, 8),
		pending: make([]pendingAttr, 0, 4),
	}
	if err := s.document(); err != nil {
		return nil, err
	}
	return s.tree, nil
}

// scanner walks over src once. The tree's nodes are appended in document order.
type scanner struct {
	src      string
	pos      int
	tree     *Tree
	open     [maxDepth]frame
	depth    int
	scope    []int32 // declarations
	elements int
	comments int
	pending  []pendingAttr // of the start tag being read
}

// frame is an element whose end tag is still to come.
type frame struct {
	node  int32
	last  int32 // its last child so far, 0 for none
	tag   string
	scope int // length of the scope outside the element
}

type pendingAttr struct{ prefix, local, value string }

func (s *scanner) document() error {
	for s.pos < len(s.src) {
		if err := s.step(); err != nil {
			return err
		}
	}
	if s.depth > 0 {
		return s.refuse("the element <%s> is not closed", s.open[s.depth-1].tag)
	}
	if s.elements == 0 {
		return s.refuse("there is no element")
	}
	return nil
}

// step reads one piece: a run of text or one piece of markup.
func (s *scanner) step() error {
	if s.src[s.pos] != '<' {
		return s.text()
	}
	if s.pos+1 == len(s.src) {
		return s.refuse("the document ends inside a tag")
	}
	switch s.src[s.pos+1] {
	case '/':
		return s.endTag()
	case '!':
		return s.declaration()
	case '?':
		return s.refuse("processing instructions are not accepted")
	}
	return s.startTag()
}

func (s *scanner) text() error {
	from, cooked := s.pos, false
	for ; s.pos < len(s.src); s.pos++ {
		c := s.src[s.pos]
		if class[c]&textStop == 0 {
			continue
		}
		if c == '<' {
			break
		}
		switch {
		case c == '&' || c == '\r':
			cooked = true
		case c == ']':
			if strings.HasPrefix(s.src[s.pos:], "]]>") {
				return s.refuse("]]> stands outside of a CDATA section")
			}
		default:
			return s.refuse("the control character %#02x is not allowed", c)
		}
	}
	raw := s.src[from:s.pos]
	if s.depth == 0 {
		if Trim(raw) != "" {
			return s.refuse("there is text outside of the root element")
		}
		return nil
	}
	if cooked {
		var err error
		if raw, err = s.cook(raw, false); err != nil {
			return err
		}
	}
	return s.piece(raw)
}

// piece appends a run of character data.
func (s *scanner) piece(text string) error {
	if len(s.tree.nodes) >= maxNodes {
		return s.refuse("there are more than %d elements and pieces of text", maxNodes)
	}
	s.add(node{text: text})
	return nil
}

// declaration reads what begins with "<!": comments and CDATA sections.
func (s *scanner) declaration() error {
	rest := s.src[s.pos:]
	if strings.HasPrefix(rest, "<!--") {
		return s.comment()
	}
	if !strings.HasPrefix(rest, "<![CDATA[") {
		return s.refuse("document types and other declarations are not accepted")
	}
	if s.depth == 0 {
		return s.refuse("there is a CDATA section outside of the root element")
	}
	n := strings.Index(rest, "]]>")
	if n < 0 {
		return s.refuse("the CDATA section is not closed")
	}
	raw := rest[len("<![CDATA["):n]
	if err := s.plain(raw); err != nil {
		return err
	}
	if strings.Contains(raw, "\r") {
		raw = strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\r", "\n")
	}
	s.pos += n + len("]]>")
	return s.piece(raw)
}

func (s *scanner) comment() error {
	if s.comments++; s.comments > maxComments {
		return s.refuse("there are more than %d comments", maxComments)
	}
	body := s.src[s.pos+len("<!--"):]
	n := strings.Index(body, "--")
	if n < 0 || n+2 == len(body) {
		return s.refuse("the comment is not closed")
	}
	if body[n+2] != '>' {
		return s.refuse("-- stands inside of a comment")
	}
	if err := s.plain(body[:n]); err != nil {
		return err
	}
	s.pos += len("<!--") + n + len("-->")
	return nil
}

// plain refuses control characters.
func (s *scanner) plain(raw string) error {
	for _, c := range []byte(raw) {
		if class[c]&control != 0 {
			return s.refuse("the control character %#02x is not allowed", c)
		}
	}
	return nil
}

func (s *scanner) startTag() error {
	if s.depth == 0 && s.elements > 0 {
		return s.refuse("there is a second root element")
	}
	if s.depth == maxDepth {
		return s.refuse("elements are nested deeper than %d", maxDepth)
	}
	if s.elements++; s.elements > maxElements {
		return s.refuse("there are more than %d elements", maxElements)
	}
	from := s.pos
	s.pos++
	prefix, local, err := s.qname()
	if err != nil {
		return err
	}
	tag, outer := s.src[from+1:s.pos], len(s.scope)
	empty, err := s.attributes(outer)
	if err != nil {
		return err
	}
	space, err := s.resolve(prefix)
	if err != nil {
		return err
	}
	at, err := s.element(node{name: Name{space, local}, text: tag, from: int32(from), inner: int32(s.pos), end: int32(s.pos)})
	if err != nil {
		return err
	}
	if empty {
		s.scope = s.scope[:outer]
		return nil
	}
	s.open[s.depth] = frame{node: at, tag: tag, scope: outer}
	s.depth++
	return nil
}

// attributes reads up to the end of the start tag: declarations into the scope,
// attributes into pending. It reports whether the tag was an empty element's.
func (s *scanner) attributes(outer int) (empty bool, err error) {
	s.pending = s.pending[:0]
	for {
		spaced := s.blanks()
		switch s.peek() {
		case '>':
			s.pos++
			return false, nil
		case '/':
			if s.pos++; s.peek() != '>' {
				return false, s.refuse("/ is not followed by >")
			}
			s.pos++
			return true, nil
		}
		if !spaced {
			return false, s.refuse("white space is missing in a tag")
		}
		if len(s.pending)+len(s.scope)-outer == maxAttributes {
			return false, s.refuse("an element has more than %d attributes and namespace declarations", maxAttributes)
		}
		if len(s.tree.attrs)+len(s.tree.declarations) >= maxAllAttrs {
			return false, s.refuse("there are more than %d attributes and namespace declarations", maxAllAttrs)
		}
		if err := s.attribute(outer); err != nil {
			return false, err
		}
	}
}

func (s *scanner) attribute(outer int) error {
	prefix, local, err := s.qname()
	if err != nil {
		return err
	}
	s.blanks()
	if s.peek() != '=' {
		return s.refuse("the attribute %s has no value", local)
	}
	s.pos++
	s.blanks()
	value, err := s.quoted()
	if err != nil {
		return err
	}
	switch {
	case prefix == "xmlns":
		return s.declare(outer, local, value)
	case prefix == "" && local == "xmlns":
		return s.declare(outer, "", value)
	}
	s.pending = append(s.pending, pendingAttr{prefix, local, value})
	return nil
}

func (s *scanner) declare(outer int, prefix, uri string) error {
	switch {
	case prefix == "xml" && uri == xmlNS:
		return nil
	case prefix == "xml" || prefix == "xmlns" || uri == xmlNS || uri == xmlnsNS:
		return s.refuse("the prefixes xml and xmlns cannot be bound")
	case prefix != "" && uri == "":
		return s.refuse("the prefix %s is bound to no namespace", prefix)
	case len(uri) > maxNamespace:
		return s.refuse("the URI of a namespace is longer than %d bytes", maxNamespace)
	case len(s.scope) == maxScope:
		return s.refuse("there are more than %d namespace declarations in scope", maxScope)
	}
	for _, i := range s.scope[outer:] {
		if s.tree.declarations[i].prefix == prefix {
			return s.refuse("an element declares the prefix %q twice", prefix)
		}
	}
	s.scope = append(s.scope, int32(len(s.tree.declarations)))
	s.tree.declarations = append(s.tree.declarations, declaration{prefix, uri, int32(len(s.tree.nodes))})
	return nil
}

// element appends the element of a finished start tag, with its attributes.
func (s *scanner) element(n node) (int32, error) {
	from := len(s.tree.attrs)
	for _, p := range s.pending {
		a := attr{name: Name{Local: p.local}, value: p.value, prefix: p.prefix}
		if p.prefix != "" {
			var err error
			if a.name.Space, err = s.resolve(p.prefix); err != nil {
				return 0, err
			}
		}
		for _, other := range s.tree.attrs[from:] {
			if other.name == a.name {
				return 0, s.refuse("the attribute %s is given twice", p.local)
			}
		}
		s.tree.attrs = append(s.tree.attrs, a)
	}
	n.attrFrom, n.attrTo = int32(from), int32(len(s.tree.attrs))
	return s.add(n), nil
}

// add appends a node as the last child of the innermost open element.
func (s *scanner) add(n node) int32 {
	at := int32(len(s.tree.nodes))
	if s.depth == 0 {
		s.tree.nodes = append(s.tree.nodes, n)
		return at
	}
	parent := &s.open[s.depth-1]
	n.parent = parent.node
	s.tree.nodes = append(s.tree.nodes, n)
	if parent.last == 0 {
		s.tree.nodes[parent.node].first = at
	} else {
		s.tree.nodes[parent.last].next = at
	}
	parent.last = at
	return at
}

func (s *scanner) endTag() error {
	if s.depth == 0 {
		return s.refuse("an end tag has no start tag")
	}
	f := &s.open[s.depth-1]
	rest, ok := strings.CutPrefix(s.src[s.pos+len("</"):], f.tag)
	if !ok || rest == "" || class[rest[0]]&nameChar != 0 || rest[0] == ':' || rest[0] >= utf8.RuneSelf {
		return s.refuse("the element <%s> is closed by another end tag", f.tag)
	}
	s.pos += len("</") + len(f.tag)
	s.blanks()
	if s.peek() != '>' {
		return s.refuse("the end tag of <%s> is not closed", f.tag)
	}
	s.pos++
	s.tree.nodes[f.node].end = int32(s.pos)
	s.scope = s.scope[:f.scope]
	s.depth--
	return nil
}

func (s *scanner) resolve(prefix string) (string, error) {
	for i := len(s.scope) - 1; i >= 0; i-- {
		if d := &s.tree.declarations[s.scope[i]]; d.prefix == prefix {
			return d.uri, nil
		}
	}
	switch prefix {
	case "":
		return "", nil
	case "xml":
		return xmlNS, nil
	}
	return "", s.refuse("the prefix %s is not declared", prefix)
}
