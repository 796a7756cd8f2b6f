package soap

import (
	"fmt"
	"strings"

	"tidings/fault"
	"tidings/xmltree"
)

// ActionRule is what SOAPAction, or the action of the media type in SOAP 1.2,
// must say. The body alone decides what is done.
type ActionRule string

// The rules. Empty means ActionMatch.
const (
	ActionMatch   ActionRule = "match"   // nothing, or the operation of the body
	ActionRequire ActionRule = "require" // the operation of the body
	ActionIgnore  ActionRule = "ignore"  // anything
)

// PartialRule is how errors below a result are told.
type PartialRule string

// The rules. Empty means PartialHeader for mutations, which have happened, and
// PartialFault for queries.
const (
	PartialHeader PartialRule = "header" // the result without what failed, and a header tns:Errors
	PartialFault  PartialRule = "fault"
)

// checkRules refuses rules that there are not.
func (o Options) checkRules() error {
	switch o.SOAPAction {
	case ActionMatch, ActionRequire, ActionIgnore:
	default:
		return fmt.Errorf("soap: the rule %q for SOAPAction is not known: use match, require or ignore", o.SOAPAction)
	}
	switch o.Partial {
	case "", PartialHeader, PartialFault:
		return nil
	}
	return fmt.Errorf("soap: the rule %q for partial results is not known: use header or fault", o.Partial)
}

// headed reports whether errors below the result of an operation are told in a
// header.
func (o Options) headed(op *operation) bool {
	if o.Partial == "" {
		return op.mutation
	}
	return o.Partial == PartialHeader
}

// actionOf is what SOAPAction says, without its quotes; empty for nothing.
func (r *request) actionOf(soapAction string) string {
	if r.version == soap12 && r.action != "" {
		return r.action
	}
	return strings.Trim(xmltree.Trim(soapAction), `"`)
}

// checkAction holds SOAPAction, and wsa:Action, against the operation of the body.
func (c *contract) checkAction(r *request, op *operation, action string) *failure {
	action = c.ofThisService(action)
	if c.rule == ActionIgnore {
		action = ""
	}
	if f := c.checkAddressed(r, op, action); f != nil {
		return f
	}
	switch {
	case action == "" && c.rule == ActionRequire:
		return failed(fault.New(fault.BadRequest, "SOAPAction is missing: it must be %q", c.action(op)))
	case action != "" && !c.names(op, action):
		return failed(fault.New(fault.BadRequest, "SOAPAction says %.100q, the Body %s: send %q", action, op.name, c.action(op)))
	}
	return nil
}

// ofThisService returns an action that a client has made by itself of namespace
// and operation, urn:x#GetUser as SOAP::Lite does or urn:x:GetUser, as the WSDL
// has it; any other action as it is.
func (c *contract) ofThisService(action string) string {
	name, ok := strings.CutPrefix(action, c.namespace)
	if !ok || name == "" || !strings.Contains("#:", name[:1]) || strings.Contains(name[1:], ":") {
		return action
	}
	return c.namespace + "/" + name[1:]
}
