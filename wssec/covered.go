package wssec

import "tidings/xmltree"

// CoveredBy reports whether a signature covers all that was decrypted, but for
// itself. Content without a tag can be changed by anybody on the way, who then
// sees by the answer what became of it, and so in the end what it was: only such
// a signature makes sure that nothing but the answer to a right message differs.
func (o *Opened) CoveredBy(s *Signed) bool {
	for _, p := range o.parts {
		if !p.coveredBy(s, o.Tree.Root()) {
			return false
		}
	}
	return true
}

// coveredBy looks at what of a part is in e.
func (p part) coveredBy(s *Signed, e xmltree.Elem) bool {
	from, to := e.Span()
	switch {
	case to <= p.from || p.to <= from, s.Covers(e), e.Is(SignatureNS, "Signature"):
		return true
	case p.from <= from && to <= p.to, !e.Blank():
		return false
	}
	for child := range e.Children() {
		if !p.coveredBy(s, child) {
			return false
		}
	}
	return true
}
