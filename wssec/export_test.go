package wssec

import (
	"io"

	"tidings/xmltree"
)

// CanonicalInclusive is the form of Canonical XML 1.0.
func CanonicalInclusive(w io.Writer, e xmltree.Elem) error { return canonicalInclusive(w, e) }
