package soap

import (
	"bytes"

	"tidings/wssec"
	"tidings/xmltree"
)

// maxParams is how many bytes the reference parameters of one endpoint may have.
const maxParams = 4096

// parameters writes the reference parameters of an endpoint as the header blocks
// that an answer to it has: each as it was, whatever its prefixes were bound to,
// and marked where the dialect has a mark for it.
func (a *addressing) parameters(local string, endpoint xmltree.Elem) ([]byte, *failure) {
	var out []byte
	for e := range endpoint.Children() {
		if !e.Is(a.dialect.namespace, "ReferenceParameters") && !e.Is(a.dialect.namespace, "ReferenceProperties") {
			continue
		}
		for param := range e.Children() {
			out = a.appendParameter(out, param)
			if len(out) > maxParams {
				return nil, a.refuse("", local, "the reference parameters of wsa:"+local+" are too long")
			}
		}
	}
	return out, nil
}

func (a *addressing) appendParameter(out []byte, param xmltree.Elem) []byte {
	var text bytes.Buffer
	_ = wssec.Canonical(&text, param) // whose errors are those of the buffer, which has none
	name := bytes.IndexAny(text.Bytes(), " >")
	if a.dialect != dialects[0] || name < 0 || bytes.Contains(text.Bytes(), []byte("xmlns:"+markPrefix+"=")) {
		return append(out, text.Bytes()...)
	}
	out = append(out, text.Bytes()[:name]...)
	out = append(out, " xmlns:"+markPrefix+`="`+a.dialect.namespace+`" `+markPrefix+`:IsReferenceParameter="true"`...)
	return append(out, text.Bytes()[name:]...)
}

// markPrefix is one that nobody else binds.
const markPrefix = "wsa-reference"

// forFault is what the answer's headers say when the answer is a fault.
func (a addressing) forFault() *addressing {
	a.params = a.faultParams
	return &a
}
