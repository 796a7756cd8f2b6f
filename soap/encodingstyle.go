package soap

import (
	"strings"

	"tidings/fault"
	"tidings/xmltree"
)

// dataEncodingUnknown is the fault of SOAP 1.2 for a body in an encoding that is
// not read here.
const dataEncodingUnknown wire = "DataEncodingUnknown"

// harmlessStyles are encodings that clients declare out of habit, around bodies
// that are plain XML all the same.
var harmlessStyles = map[string]bool{
	"http://schemas.xmlsoap.org/soap/encoding/":             true,
	"http://www.w3.org/2003/05/soap-encoding":               true,
	"http://www.w3.org/2003/05/soap-envelope/encoding/none": true,
}

// checkStyles refuses encodings that are not known. The profile has no encodings at
// all (R1005, R1006); what is declared is let pass where it changes nothing, as
// references between elements would, which are refused when values are read.
func (r *request) checkStyles(elements ...xmltree.Elem) *failure {
	for _, e := range elements {
		if !e.Exists() {
			continue
		}
		styles, _ := e.Attr(envelopeNS[r.version], "encodingStyle")
		for style := range strings.FieldsSeq(styles) {
			if !harmlessStyles[style] {
				return &failure{Error: fault.New(fault.BadRequest, "the encodingStyle %.200q is not read here: leave it out", style), wire: dataEncodingUnknown}
			}
		}
	}
	return nil
}
