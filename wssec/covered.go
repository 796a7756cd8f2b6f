package wssec

import (
	"slices"

	"tidings/xmltree"
)

// CoveredBy reports whether a signature covers all that was decrypted, but for
// itself and what stands in the elements that are excepted. Content without a tag
// can be changed by anybody on the way, who then sees by the answer what became of
// it, and so in the end what it was; content with one can be sent as a part of
// another message. Only such a signature makes sure that nothing but the answer to
// a right message differs.
func (o *Opened) CoveredBy(s *Signed, except ...xmltree.Elem) bool {
	for _, p := range o.parts {
		if !p.coveredBy(s, o.Tree.Root(), except) {
			return false
		}
	}
	return true
}

// coveredBy looks at what of a part is in e.
func (p part) coveredBy(s *Signed, e xmltree.Elem, except []xmltree.Elem) bool {
	from, to := e.Span()
	switch {
	case to <= p.from || p.to <= from, s.Covers(e), e.Is(SignatureNS, "Signature"), slices.Contains(except, e):
		return true
	case p.from <= from && to <= p.to, !e.Blank():
		return false
	}
	for child := range e.Children() {
		if !p.coveredBy(s, child, except) {
			return false
		}
	}
	return true
}
