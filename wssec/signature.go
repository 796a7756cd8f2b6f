package wssec

import (
	"crypto"
	"slices"
	"strings"

	"tidings/xmltree"
)

// The bounds of a signature.
const (
	maxReferences = 16
	maxTransforms = 2
	maxPrefixes   = 64    // in a PrefixList
	maxBase64     = 32768 // bytes of text
)

// The transforms besides the canonical forms.
const (
	strTransform       = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#STR-Transform"
	envelopedTransform = SignatureNS + "enveloped-signature"
)

// signature is a ds:Signature that was read. Nothing about it is proved.
type signature struct {
	signedInfo xmltree.Elem
	form       form // of signedInfo
	method     signatureMethod
	value      []byte
	references []reference
	keyInfo    xmltree.Elem
}

// reference is one ds:Reference.
type reference struct {
	uri          string
	form         form
	dereferenced bool // the STR-Transform: what is signed is the token
	hash         crypto.Hash
	digest       []byte
}

// form is a canonical form.
type form struct {
	inclusive bool
	prefixes  []string
}

// readSignature reads a ds:Signature strictly: what is not known is refused, not
// passed over.
func readSignature(e xmltree.Elem) (*signature, error) {
	parts, err := sequence(e, SignatureNS, "SignedInfo", "SignatureValue", "KeyInfo")
	if err != nil {
		return nil, err
	}
	s := &signature{signedInfo: parts[0], keyInfo: parts[2]}
	if s.value, err = binary(parts[1]); err != nil {
		return nil, err
	}
	return s, s.readSignedInfo()
}

func (s *signature) readSignedInfo() error {
	var children []xmltree.Elem
	for e := range s.signedInfo.Children() {
		if len(children) == 2+maxReferences {
			return refuse(InvalidSecurity, "a signature has more than %d references", maxReferences)
		}
		children = append(children, e)
	}
	if len(children) < 3 || !children[0].Is(SignatureNS, "CanonicalizationMethod") || !children[1].Is(SignatureNS, "SignatureMethod") {
		return refuse(InvalidSecurity, "SignedInfo is malformed")
	}
	var err error
	if s.form, err = readForm(children[0]); err != nil {
		return err
	}
	algorithm, _ := children[1].Attr("", "Algorithm")
	var known bool
	if s.method, known = signatureMethods[algorithm]; !known || children[1].HasElements() {
		return refuse(UnsupportedAlgorithm, "the signature method %.200q, or a parameter of it", algorithm)
	}
	for _, e := range children[2:] {
		r, err := readReference(e)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(s.references, func(other reference) bool { return other.uri == r.uri }) {
			return refuse(InvalidSecurity, "two references to %.100q", r.uri)
		}
		s.references = append(s.references, r)
	}
	return nil
}

func readReference(e xmltree.Elem) (r reference, err error) {
	if !e.Is(SignatureNS, "Reference") {
		return r, refuse(InvalidSecurity, "%.100s stands among the references", e.Name().Local)
	}
	var uri bool
	if r.uri, uri = e.Attr("", "URI"); !uri {
		return r, refuse(InvalidSecurity, "a reference has no URI")
	}
	names := []string{"Transforms", "DigestMethod", "DigestValue"}
	for first := range e.Children() {
		if !first.Is(SignatureNS, names[0]) {
			names = names[1:]
		}
		break
	}
	parts, err := sequence(e, SignatureNS, names...)
	if err != nil {
		return r, err
	}
	r.form = form{inclusive: true} // as XML Signature says, where no transform does
	if len(parts) == 3 {
		if err := r.readTransforms(parts[0]); err != nil {
			return r, err
		}
		parts = parts[1:]
	}
	algorithm, _ := parts[0].Attr("", "Algorithm")
	var known bool
	if r.hash, known = digestMethods[algorithm]; !known || parts[0].HasElements() {
		return r, refuse(UnsupportedAlgorithm, "the digest method %.200q, or a parameter of it", algorithm)
	}
	r.digest, err = binary(parts[1])
	return r, err
}

// readTransforms accepts a canonical form or the STR-Transform, either alone or after
// enveloped-signature. The latter does nothing: no element that may be signed
// holds the signature. Some clients write it nevertheless.
func (r *reference) readTransforms(e xmltree.Elem) error {
	last := false
	n := 0
	for t := range e.Children() {
		if n++; !t.Is(SignatureNS, "Transform") || n > maxTransforms || last {
			return refuse(InvalidSecurity, "the transforms are malformed, more than %d, or more follow a canonical form", maxTransforms)
		}
		var err error
		switch algorithm, _ := t.Attr("", "Algorithm"); {
		case algorithm == envelopedTransform && !t.HasElements():
			continue
		case algorithm == strTransform:
			r.dereferenced = true
			r.form, err = readTransformationParameters(t)
		default:
			r.form, err = readForm(t)
		}
		if err != nil {
			return err
		}
		last = true
	}
	if n == 0 {
		return refuse(InvalidSecurity, "Transforms is empty")
	}
	return nil
}

func readTransformationParameters(t xmltree.Elem) (form, error) {
	params, err := sequence(t, SecurityNS, "TransformationParameters")
	if err != nil {
		return form{}, err
	}
	method, err := sequence(params[0], SignatureNS, "CanonicalizationMethod")
	if err != nil {
		return form{}, err
	}
	return readForm(method[0])
}

// readForm reads the Algorithm of a canonical form, with its PrefixList.
func readForm(e xmltree.Elem) (f form, err error) {
	algorithm, _ := e.Attr("", "Algorithm")
	switch algorithm {
	case exclusiveC14N:
	case inclusiveC14N:
		f.inclusive = true
	default:
		return f, refuse(UnsupportedAlgorithm, "the transform or canonical form %.200q", algorithm)
	}
	if !e.HasElements() {
		return f, nil
	}
	parts, err := sequence(e, exclusiveC14N, "InclusiveNamespaces")
	if err != nil || f.inclusive {
		return f, refuse(InvalidSecurity, "a canonical form is malformed")
	}
	list, _ := parts[0].Attr("", "PrefixList")
	f.prefixes = strings.Fields(list)
	if len(f.prefixes) > maxPrefixes {
		return f, refuse(InvalidSecurity, "a PrefixList has more than %d prefixes", maxPrefixes)
	}
	return f, nil
}

// sequence returns the children of e, which must be exactly those of the names.
func sequence(e xmltree.Elem, space string, names ...string) ([]xmltree.Elem, error) {
	parts := make([]xmltree.Elem, 0, len(names))
	for child := range e.Children() {
		if len(parts) == len(names) || !child.Is(space, names[len(parts)]) {
			return nil, refuse(InvalidSecurity, "%.100s stands in %s where it may not", child.Name().Local, e.Name().Local)
		}
		parts = append(parts, child)
	}
	if len(parts) < len(names) {
		return nil, refuse(InvalidSecurity, "%.100s has no %s", e.Name().Local, names[len(parts)])
	}
	if !e.Blank() {
		return nil, refuse(InvalidSecurity, "there is text in %.100s", e.Name().Local)
	}
	return parts, nil
}

// binary reads an element of base64, in which there may be white space.
func binary(e xmltree.Elem) ([]byte, error) {
	text := e.Text()
	if len(text) > maxBase64 || e.HasElements() {
		return nil, refuse(InvalidSecurity, "%.100s is longer than %d bytes, or holds elements", e.Name().Local, maxBase64)
	}
	data, err := decodeBase64(text)
	if err != nil || len(data) == 0 {
		return nil, refuse(InvalidSecurity, "%.100s holds no base64", e.Name().Local)
	}
	return data, nil
}
