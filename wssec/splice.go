package wssec

import "tidings/xmltree"

// splice is a place in the source and the text that takes its place.
type splice struct {
	part
	parent xmltree.Elem
	text   []byte
}

// replace makes the splices, which are in order, and scans the message anew. It
// fails when the text of one is no content of the element around its place.
func (x *opening) replace(splices []splice) error {
	src := x.Tree.Source()
	out := make([]byte, 0, len(src))
	end := 0
	for _, s := range splices {
		if s.from < end {
			return Undecipherable()
		}
		out = append(append(out, src[end:s.from]...), s.text...)
		end = s.to
	}
	out = append(out, src[end:]...)
	tree, err := xmltree.ScanWithin(out, "utf-8", len(src)) // plain text is shorter than its base64
	if err != nil {
		return err
	}
	for _, s := range splices {
		from, to := s.parent.Span()
		if e := startingAt(tree.Root(), moved(from, splices)); !e.Exists() || !spans(e, moved(to, splices)) {
			return Undecipherable()
		}
	}
	from, _ := x.security.Span()
	if x.security = startingAt(tree.Root(), moved(from, splices)); !x.security.Exists() || !x.security.Is(SecurityNS, "Security") {
		return Undecipherable()
	}
	for i, p := range x.parts {
		x.parts[i] = part{moved(p.from, splices), moved(p.to, splices)}
	}
	for _, s := range splices {
		from := moved(s.from, splices)
		x.parts = append(x.parts, part{from, from + len(s.text)})
	}
	x.Tree = tree
	return nil
}

// moved is where a place of the source is after the splices.
func moved(at int, splices []splice) int {
	by := 0
	for _, s := range splices {
		if s.to <= at {
			by += len(s.text) - (s.to - s.from)
		}
	}
	return at + by
}

func spans(e xmltree.Elem, to int) bool {
	_, end := e.Span()
	return end == to
}

// startingAt finds the element that begins at a place, or none.
func startingAt(e xmltree.Elem, at int) xmltree.Elem {
	for e.Exists() {
		from, to := e.Span()
		if from == at {
			return e
		}
		if at < from || at >= to {
			break
		}
		e = childAt(e, at)
	}
	return xmltree.Elem{}
}

func childAt(e xmltree.Elem, at int) xmltree.Elem {
	for c := range e.Children() {
		if from, to := c.Span(); from <= at && at < to {
			return c
		}
	}
	return xmltree.Elem{}
}
