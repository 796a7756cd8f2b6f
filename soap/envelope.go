package soap

import (
	"mime"
	"strings"

	"tidings/fault"
)

// version is a version of SOAP. The namespace of the envelope decides, whatever
// the media type says, and the answer is of the same version.
type version int

const (
	soap11 version = iota
	soap12
)

// Namespaces, by version where there are two.
var (
	envelopeNS = [...]string{"http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"}
	mediaType  = [...]string{"text/xml", "application/soap+xml"}
)

const xsiNS = "http://www.w3.org/2001/XMLSchema-instance"

// contentType is the media type of an answer.
func (v version) contentType() string { return mediaType[v] + "; charset=utf-8" }

// request is an envelope that was read.
type request struct {
	version version
	headers []elem // the blocks that are meant for us
	payload elem   // the one element of the body
	action  string // of the media type, or empty
	echo    []byte // the Security header of the answer, or empty
}

// readEnvelope reads an envelope as far as SOAP goes: what the payload means is
// not looked at. The version is right even when there is a failure: then it is
// the one to answer in. The order of the checks is that of the Basic Profile:
// version, headers that must be understood, everything else.
func readEnvelope(data []byte, contentType string) (*request, *failure) {
	media, params, _ := mime.ParseMediaType(contentType)
	r := &request{action: params["action"]}
	if media == mediaType[soap12] {
		r.version = soap12
	}
	t, err := scan(data, params["charset"])
	if err != nil {
		return r, failed(err)
	}
	root := t.root()
	switch {
	case root.is(envelopeNS[soap11], "Envelope"):
		r.version = soap11
	case root.is(envelopeNS[soap12], "Envelope"):
		r.version = soap12
	case root.name().local == "Envelope":
		return r, &failure{Error: fault.New(fault.BadRequest, "the envelope is of no version of SOAP that is spoken here: use 1.1 or 1.2"), wire: versionMismatch}
	default:
		return r, failed(fault.New(fault.BadRequest, "the root element is no SOAP Envelope"))
	}
	return r, r.read(root)
}

func (r *request) read(root elem) *failure {
	ns := envelopeNS[r.version]
	var header, body elem
	for e := range root.children() {
		switch {
		case e.is(ns, "Header") && !header.exists() && !body.exists():
			header = e
		case e.is(ns, "Body") && !body.exists():
			body = e
		default:
			return failed(fault.New(fault.BadRequest, "the Envelope holds more than one Header and one Body after it"))
		}
	}
	if header.exists() {
		if f := r.readHeader(header); f != nil {
			return f
		}
	}
	if !body.exists() {
		return failed(fault.New(fault.BadRequest, "the Envelope has no Body"))
	}
	for e := range body.children() {
		if r.payload.exists() {
			return failed(fault.New(fault.BadRequest, "the Body holds more than one element"))
		}
		r.payload = e
	}
	if !r.payload.exists() {
		return failed(fault.New(fault.BadRequest, "the Body holds no element"))
	}
	if !root.blank() || !body.blank() {
		return failed(fault.New(fault.BadRequest, "there is text between the elements of the envelope"))
	}
	return nil
}

// readHeader keeps the blocks for us and refuses what we must understand but do not.
func (r *request) readHeader(header elem) *failure {
	var unknown []name
	for block := range header.children() {
		if !r.forUs(block) {
			continue
		}
		must, err := r.mustUnderstand(block)
		if err != nil {
			return failed(err)
		}
		if must && !understood(block.name()) {
			unknown = append(unknown, block.name())
		}
		r.headers = append(r.headers, block)
	}
	if len(unknown) > 0 {
		return &failure{Error: fault.New(fault.BadRequest, "the header %s is not understood here", unknown[0].local), wire: mustUnderstand, notUnderstood: unknown}
	}
	return nil
}

// understood lists the headers that this service acts upon.
func understood(n name) bool {
	return n == name{wsseNS, "Security"} ||
		n == name{"http://schemas.microsoft.com/ws/2005/05/addressing/none", "Action"} // repeats SOAPAction
}

// forUs reports whether a header block is meant for the last receiver.
func (r *request) forUs(block elem) bool {
	ns := envelopeNS[r.version]
	if r.version == soap11 {
		actor, _ := block.attr(ns, "actor")
		return actor == "" || actor == "http://schemas.xmlsoap.org/soap/actor/next"
	}
	role, _ := block.attr(ns, "role")
	return role == "" || role == ns+"/role/next" || role == ns+"/role/ultimateReceiver"
}

func (r *request) mustUnderstand(block elem) (bool, error) {
	value, _ := block.attr(envelopeNS[r.version], "mustUnderstand")
	switch trim(value) {
	case "", "0", "false":
		return false, nil
	case "1", "true":
		return true, nil
	}
	return false, fault.New(fault.BadRequest, "mustUnderstand of the header %s is neither 0 nor 1", block.name().local)
}

// operation finds the operation that the payload names, and holds the action
// against it: it may be missing, but name no other operation.
func (c *contract) operation(r *request, soapAction string) (*operation, *failure) {
	n := r.payload.name()
	op := c.byName[n.local]
	switch {
	case op == nil:
		return nil, failed(fault.New(fault.BadRequest, "there is no operation %.100s: the WSDL lists them", n.local))
	case n.space != c.namespace:
		return nil, failed(fault.New(fault.BadRequest, "the element %s is of the namespace %.200q, not of %q", n.local, n.space, c.namespace))
	}
	action := r.action
	if r.version == soap11 || action == "" {
		action = strings.Trim(trim(soapAction), `"`)
	}
	if action != "" && action != op.name && action != c.namespace+"/"+op.name {
		return nil, failed(fault.New(fault.BadRequest, "SOAPAction says %.100q, the Body %s", action, op.name))
	}
	return op, nil
}
