package xmltree

import "strings"

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
	t := new(Tree)
	if err := (*Memory)(nil).Scan(t, data, charset, most); err != nil {
		return nil, err
	}
	return t, nil
}

// scanner walks over src once. Nodes are appended in document order. Its methods
// take the place in src that they read at, and return the one after what they read.
type scanner struct {
	buf strings.Builder // the document, the padding, and the values that it does not hold literally
	src string          // the document, and the padding
	end int             // of the document
	parts
	scope    []binding           // those of the innermost element last
	open     [maxDepth + 1]frame // the first is the document's
	depth    int
	elements int
	comments int
	memory   *Memory // that the scanner goes back to
}

// frame is an element whose end tag is still to come.
type frame struct {
	node   uint32
	scopes int32 // how many declarations are in scope outside the element
}

func (s *scanner) read(data []byte, charset string, most int) error {
	at, err := readProlog(&s.buf, data, charset, most)
	if err != nil {
		return err
	}
	s.src = s.buf.String()
	s.end = len(s.src) - len(padding)
	if s.nodes == nil {
		s.nodes = make([]node, 0, min(2+strings.Count(s.src, "<")/2, 16+len(s.src)/16)) // most elements have two tags
	}
	return s.document(at)
}

func (s *scanner) document(at int) (err error) {
	for at < s.end {
		if s.src[at] != '<' {
			at, err = s.text(at)
		} else {
			switch s.src[at+1] {
			case '/':
				at, err = s.endTag(at)
			case '!':
				at, err = s.declaration(at)
			case '?':
				err = refuse(at, "processing instructions are not accepted")
			default:
				at, err = s.startTag(at)
			}
		}
		if err != nil {
			return err
		}
	}
	if s.depth > 0 {
		return refuse(at, "the element <%s> is not closed", s.tag(s.innermost()))
	}
	if s.elements == 0 {
		return refuse(at, "there is no element")
	}
	return nil
}

// innermost is the innermost element that is open.
func (s *scanner) innermost() *node { return &s.nodes[s.open[s.depth].node] }

// gap appends one, whose text is at e.
func (s *scanner) gap(from, end int, e ends) error {
	if len(s.nodes) == maxNodes {
		return refuse(from, "there are more than %d elements and pieces of text", maxNodes)
	}
	s.nodes = append(s.nodes, node{from: uint32(from), end: uint32(end), inner: e.from, close: e.to, after: uint32(len(s.nodes) + 1)})
	return nil
}

// ends are where a value begins and ends: in the source, or after it.
type ends struct{ from, to uint32 }

// value is what ends stand for.
func (s *scanner) value(e ends) string { return s.buf.String()[e.from:e.to] }
