package soap

import (
	"strings"

	"tidings/fault"
	"tidings/graphql"
	"tidings/wssec"
	"tidings/xmltree"
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

// maxBlocks is how many blocks a Header may hold, for whomever they are.
const maxBlocks = 100

const xsiNS = "http://www.w3.org/2001/XMLSchema-instance"

// versionOf is the version that a Content-Type stands for.
func versionOf(contentType string) version { return mediaOf(contentType).version() }

// version is the version that a media type stands for.
func (m media) version() version {
	if m.kind == mediaType[soap12] {
		return soap12
	}
	return soap11
}

// contentType is the media type of an answer.
func (v version) contentType() string { return mediaType[v] + "; charset=utf-8" }

// request is an envelope that was read.
type request struct {
	version version
	size    int             // of the envelope, in bytes
	came    xmltree.Tree    // of the whole, as it came
	tree    *xmltree.Tree   // of the whole, decrypted: the same one, or another
	headers []xmltree.Elem  // the blocks that are meant for us
	few     [4]xmltree.Elem // the room for those of most envelopes
	body    xmltree.Elem    // the Body
	payload xmltree.Elem    // the one element of the body
	action  string          // of the media type, or empty
	sent    *graphql.Sent   // how its gateway calls it; nil: not at all
	name    string          // of the operation; empty: it is none that there is
	named   bool            // its idempotency key is the wsa:MessageID
	private bool            // nobody on the way could read or change it
	network string          // where an anonymous sender is, followed by a blank; empty: the sender has a name
	echo    []byte          // the Security header of the answer, or empty
	op      *operation      // what the payload names; nil until it was looked up

	refused bool // something of what it asks for was not done, and its answer is no fault

	signed    *wssec.Signed // what its signature proves; nil: nothing
	addresses []string      // of this service, for a wsa:To that is signed; empty: any

	token      credentials // of its UsernameToken, if it has one
	addressing addressing
	secrecy    secrecy
}

// readEnvelope reads an envelope as far as SOAP goes: what the payload means is
// not looked at. The version is right even when there is a failure: then it is
// the one to answer in. The order of the checks is that of the Basic Profile:
// version, headers that must be understood, everything else. open decrypts
// before any header is looked at; nil does nothing.
//
// most is how many bytes an envelope may have. The caller calls release when it is
// done with the request, also after a failure.
func (c *contract) readEnvelope(data []byte, contentType string, most int, open func(*request) *failure) (*request, *failure) {
	media := mediaOf(contentType)
	r := &request{action: media.action, version: media.version(), size: len(data)}
	r.headers = r.few[:0]
	if err := c.memory.Scan(&r.came, data, media.charset, most); err != nil {
		return r, failed(err)
	}
	r.tree = &r.came
	root := r.tree.Root()
	switch {
	case root.Is(envelopeNS[soap11], "Envelope"):
		r.version = soap11
	case root.Is(envelopeNS[soap12], "Envelope"):
		r.version = soap12
	case root.Name().Local == "Envelope":
		return r, &failure{Error: fault.New(fault.BadRequest, "the envelope is of no version of SOAP that is spoken here: use 1.1 or 1.2"), wire: versionMismatch}
	default:
		return r, failed(fault.New(fault.BadRequest, "the root element is no SOAP Envelope"))
	}
	if open != nil {
		if f := open(r); f != nil {
			return r, f
		}
	}
	return r, r.read(r.tree.Root(), c.namespace)
}

// release gives back what the request was read into: none of its elements is to be
// looked at after that.
func (r *request) release() { r.came.Release() }

// read reads what is in the envelope. own is the namespace of the contract, for header
// blocks of its own.
func (r *request) read(root xmltree.Elem, own string) *failure {
	ns := envelopeNS[r.version]
	var header, body xmltree.Elem
	for e := range root.Children() {
		switch {
		case e.Is(ns, "Header") && !header.Exists() && !body.Exists():
			header = e
		case e.Is(ns, "Body") && !body.Exists():
			body = e
		default:
			return failed(fault.New(fault.BadRequest, "the Envelope holds more than one Header and one Body after it"))
		}
	}
	if header.Exists() {
		if f := r.readHeader(header, own); f != nil {
			return f
		}
	}
	if !body.Exists() {
		return failed(fault.New(fault.BadRequest, "the Envelope has no Body"))
	}
	r.body = body
	for e := range body.Children() {
		if r.payload.Exists() {
			return failed(fault.New(fault.BadRequest, "the Body holds more than one element"))
		}
		r.payload = e
	}
	if !r.payload.Exists() {
		return failed(fault.New(fault.BadRequest, "the Body holds no element"))
	}
	if f := r.checkStyles(root, header, body, r.payload); f != nil {
		return f
	}
	if !root.Blank() || !body.Blank() {
		return failed(fault.New(fault.BadRequest, "there is text between the elements of the envelope"))
	}
	return nil
}

// readHeader keeps the blocks for us and refuses what we must understand but do not.
func (r *request) readHeader(header xmltree.Elem, own string) *failure {
	var unknown []xmltree.Name
	blocks := 0
	for block := range header.Children() {
		if blocks++; blocks > maxBlocks {
			return failed(fault.New(fault.BadRequest, "the Header holds more than %d blocks", maxBlocks))
		}
		if !r.forUs(block) {
			continue
		}
		must, err := r.mustUnderstand(block)
		if err != nil {
			return failed(err)
		}
		if must && !understood(block.Name(), own) {
			unknown = append(unknown, block.Name())
		}
		r.headers = append(r.headers, block)
	}
	f := r.readAddressing()
	if len(unknown) > 0 {
		return &failure{Error: fault.New(fault.BadRequest, "the header %s is not understood here", unknown[0].Local), wire: mustUnderstand, notUnderstood: unknown}
	}
	return f
}

// forUs reports whether a header block is meant for the last receiver.
func (r *request) forUs(block xmltree.Elem) bool {
	ns := envelopeNS[r.version]
	if r.version == soap11 {
		actor, _ := block.Attr(ns, "actor")
		return actor == "" || actor == "http://schemas.xmlsoap.org/soap/actor/next"
	}
	role, _ := block.Attr(ns, "role")
	return role == "" || role == ns+"/role/next" || role == ns+"/role/ultimateReceiver"
}

func (r *request) mustUnderstand(block xmltree.Elem) (bool, error) {
	value, _ := block.Attr(envelopeNS[r.version], "mustUnderstand")
	switch xmltree.Trim(value) {
	case "", "0", "false":
		return false, nil
	case "1", "true":
		return true, nil
	}
	return false, fault.New(fault.BadRequest, "mustUnderstand of the header %s is neither 0 nor 1", block.Name().Local)
}

// operation finds the operation that the payload names, and holds the action
// against it.
func (c *contract) operation(r *request, soapAction string) (*operation, *failure) {
	n := r.payload.Name()
	op := c.byName[n.Local]
	switch {
	case op == nil && c.spelled(n.Local) != "":
		return nil, failed(fault.New(fault.BadRequest, "there is no operation %s: it is called %s", n.Local, c.spelled(n.Local)))
	case op == nil:
		return nil, failed(fault.New(fault.BadRequest, "there is no operation %.100s: the WSDL lists them", n.Local))
	case n.Space == "":
		return nil, failed(fault.New(fault.BadRequest, "the element %s has no namespace: it must be of %q", n.Local, c.namespace))
	case n.Space != c.namespace:
		return nil, failed(fault.New(fault.BadRequest, "the element %s is of the namespace %.200q, and here %q is spoken: send each version to the address in its WSDL", n.Local, n.Space, c.namespace))
	}
	r.op = op
	return op, c.checkAction(r, op, r.actionOf(soapAction))
}

// spelled is how the operation is called that somebody has named in another
// spelling; empty if there is none.
func (c *contract) spelled(name string) string {
	for _, op := range c.operations {
		if strings.EqualFold(op.name, name) {
			return op.name
		}
	}
	return ""
}
