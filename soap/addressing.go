package soap

import (
	"strconv"
	"strings"

	"tidings/bus"
	"tidings/fault"
	"tidings/xmltree"
)

// dialect is a version of WS-Addressing: what differs between the two.
type dialect struct {
	namespace string
	anonymous string // "answer on this connection"
	none      string // "do not answer"; empty where the version has no such address
	bad       wire   // fault code of a header that is wrong
	missing   wire   // fault code of a header that must be there
}

// The dialects that are spoken: WS-Addressing 1.0 and the member submission of
// August 2004. An answer is in the dialect of its request.
var dialects = [...]*dialect{
	{
		namespace: "http://www.w3.org/2005/08/addressing",
		anonymous: "http://www.w3.org/2005/08/addressing/anonymous",
		none:      "http://www.w3.org/2005/08/addressing/none",
		bad:       "wsa:InvalidAddressingHeader",
		missing:   "wsa:MessageAddressingHeaderRequired",
	},
	{
		namespace: "http://schemas.xmlsoap.org/ws/2004/08/addressing",
		anonymous: "http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous",
		bad:       "wsa:InvalidMessageInformationHeader",
		missing:   "wsa:MessageInformationHeaderRequired",
	},
}

// The causes that WS-Addressing 1.0 tells apart below InvalidAddressingHeader.
const (
	invalidCardinality wire = "wsa:InvalidCardinality"
	invalidAddress     wire = "wsa:InvalidAddress"
	missingAddress     wire = "wsa:MissingAddressInEPR"
	actionMismatch     wire = "wsa:ActionMismatch"
	onlyAnonymous      wire = "wsa:OnlyAnonymousAddressSupported"
	actionNotSupported wire = "wsa:ActionNotSupported"
)

// addressing is what the WS-Addressing headers of a request say. The zero value
// is that of a request without any. Where the answer goes is no choice: it goes
// back on the connection, or nowhere. No address is ever called.
type addressing struct {
	dialect   *dialect // nil: not addressed
	action    string
	messageID string       // the sender's name for this message, kept when it is sent again
	to        xmltree.Elem // where the sender says that it goes, or none
	noReply   bool         // ReplyTo is "none"
	noFault   bool         // FaultTo is "none", or ReplyTo where there is no FaultTo
	// params are the headers that the sender wants back, written for an answer and
	// for a fault.
	params, faultParams []byte
}

// maxAddress is how long an id or an address may be, in bytes.
const maxAddress = 2048

// isAddressing reports whether n is a header block of WS-Addressing.
func isAddressing(n xmltree.Name) bool {
	switch n.Local {
	case "To", "Action", "MessageID", "From", "ReplyTo", "FaultTo", "RelatesTo":
		return n.Space == dialects[0].namespace || n.Space == dialects[1].namespace
	}
	return false
}

// readAddressing reads the WS-Addressing blocks among those for us. What was read
// before a failure stays, so that the fault can be addressed.
func (r *request) readAddressing() *failure {
	a := &r.addressing
	var blocks map[string]xmltree.Elem
	for _, block := range r.headers {
		n := block.Name()
		if !isAddressing(n) {
			continue
		}
		if a.dialect == nil {
			blocks = map[string]xmltree.Elem{}
			a.dialect = dialects[0]
			if n.Space != a.dialect.namespace {
				a.dialect = dialects[1]
			}
		}
		switch _, twice := blocks[n.Local]; {
		case n.Space != a.dialect.namespace:
			return a.refuse("", n.Local, "the headers are of two versions of WS-Addressing")
		case twice && n.Local != "RelatesTo":
			return a.refuse(invalidCardinality, n.Local, "the header wsa:"+n.Local+" is given twice")
		}
		blocks[n.Local] = block
	}
	if a.dialect == nil {
		return nil
	}
	f := a.read(blocks)
	if f != nil {
		a.noReply, a.noFault = false, false
	}
	return f
}

func (a *addressing) read(blocks map[string]xmltree.Elem) *failure {
	texts := map[string]string{}
	for _, local := range [...]string{"MessageID", "Action", "To", "RelatesTo"} {
		block, given := blocks[local]
		if !given {
			continue
		}
		texts[local] = xmltree.Trim(block.Text())
		if texts[local] == "" || block.HasElements() {
			return a.refuse(invalidAddress, local, "the header wsa:"+local+" holds no address")
		}
		if len(texts[local]) > maxAddress {
			return a.refuse(invalidAddress, local, "the header wsa:"+local+" is longer than "+strconv.Itoa(maxAddress)+" bytes")
		}
	}
	a.messageID, a.action, a.to = texts["MessageID"], texts["Action"], blocks["To"]
	if a.action == "" {
		return a.lacks("Action")
	}
	for _, local := range [...]string{"From", "ReplyTo", "FaultTo"} {
		block, given := blocks[local]
		if !given {
			continue
		}
		address, f := a.address(local, block)
		if f != nil {
			return f
		}
		params, f := a.parameters(local, block)
		if f != nil {
			return f
		}
		none := address == a.dialect.none && address != ""
		switch {
		case local == "From":
		case address != a.dialect.anonymous && !none:
			return a.refuse(onlyAnonymous, local, "answers go back on the same connection only: leave wsa:"+local+" out, or make it anonymous")
		case local == "ReplyTo":
			a.noReply, a.noFault = none, none
			a.params, a.faultParams = params, params
		default:
			a.noFault, a.faultParams = none, params
		}
	}
	if _, given := blocks["ReplyTo"]; given && a.messageID == "" {
		return a.lacks("MessageID")
	}
	return nil
}

// address reads the address of an endpoint reference.
func (a *addressing) address(local string, block xmltree.Elem) (string, *failure) {
	found := ""
	for e := range block.Children() {
		if !e.Is(a.dialect.namespace, "Address") {
			continue
		}
		if found != "" {
			return "", a.refuse(invalidCardinality, local, "wsa:"+local+" holds two addresses")
		}
		if found = xmltree.Trim(e.Text()); found == "" {
			return "", a.refuse(invalidAddress, local, "the address of wsa:"+local+" is empty")
		}
	}
	if found == "" {
		return "", a.refuse(missingAddress, local, "wsa:"+local+" holds no address")
	}
	return found, nil
}

// refuse makes the fault of a header that is wrong.
func (a *addressing) refuse(why wire, header, message string) *failure {
	p := &problem{dialect: a.dialect, header: header}
	code := a.dialect.bad
	if a.dialect == dialects[0] && why != "" {
		code, p.within = why, code
	}
	return &failure{Error: fault.New(fault.BadRequest, "%s", message), wire: code, problem: p}
}

// lacks makes the fault of a header that must be there.
func (a *addressing) lacks(header string) *failure {
	return &failure{
		Error: fault.New(fault.BadRequest, "the header wsa:%s is missing", header), wire: a.dialect.missing,
		problem: &problem{dialect: a.dialect, header: header},
	}
}

// checkAddressed holds wsa:Action against the operation that the body names, and
// against SOAPAction, which says the same or nothing.
func (c *contract) checkAddressed(r *request, op *operation, soapAction string) *failure {
	a := &r.addressing
	switch {
	case a.dialect == nil:
		return nil
	case soapAction != "" && soapAction != a.action && (!c.names(op, soapAction) || !c.names(op, a.action)):
		return a.refuse(actionMismatch, "Action", "SOAPAction and wsa:Action are not the same")
	case !c.names(op, a.action):
		f := a.refuse("", "Action", "wsa:Action is not that of "+op.name+", which is "+c.action(op))
		f.wire = actionNotSupported
		return f
	}
	return nil
}

// names reports whether an action is the operation's: the SOAPAction of the WSDL,
// the bare name, or the default that WS-Addressing makes of port and message.
func (c *contract) names(op *operation, action string) bool {
	return action == c.action(op) || action == op.name || action == c.defaultAction(op.name+"Request") || action == c.defaultAction(op.name)
}

// defaultAction is the action of a message that the WSDL gives none: WS-Addressing
// 1.0, WSDL Binding, 4.4.4.
func (c *contract) defaultAction(message string) string {
	between := c.separator()
	return strings.TrimSuffix(c.namespace, between) + between + c.service + "PortType" + between + message
}

// separator stands between the parts of a default action.
func (c *contract) separator() string {
	if strings.HasPrefix(c.namespace, "urn:") {
		return ":"
	}
	return "/"
}

// faultAction is the action of a fault.
func (c *contract) faultAction(r *request, f *failure) string {
	d := r.addressing.dialect
	switch op := r.op; {
	case d == nil:
		return ""
	case f.problem != nil, d != dialects[0]:
		return d.namespace + "/fault"
	case op != nil && f.wire == "":
		return c.defaultAction(op.name + c.separator() + "Fault" + c.separator() + faultName)
	}
	return d.namespace + "/soap/fault"
}

// appendReply writes the headers of the answer to an addressed request.
func (a *addressing) appendReply(out []byte, action string) []byte {
	if a.dialect == nil {
		return out
	}
	out = append(append(append(out, `<wsa:Action xmlns:wsa="`...), a.dialect.namespace...), `">`...)
	out = append(append(xmltree.AppendText(out, action), "</wsa:Action>"...), a.params...)
	if a.messageID != "" {
		out = append(append(append(out, `<wsa:RelatesTo xmlns:wsa="`...), a.dialect.namespace...), `">`...)
		out = append(xmltree.AppendText(out, a.messageID), "</wsa:RelatesTo>"...)
	}
	return out
}

// answered is the answer as it goes to the gateway: nothing but the status 202
// where the sender wants none, which does not make the work undone.
func (a *addressing) answered(out []byte, h bus.Header, isFault bool) ([]byte, bus.Header, error) {
	if isFault && a.noFault || !isFault && a.noReply {
		return nil, bus.Header{headerStatus: {"202"}}, nil
	}
	return out, h, nil
}
