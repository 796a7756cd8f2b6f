package wssec

import (
	"strings"

	"tidings/xmltree"
)

// maxID bounds an Id in bytes, and maxIDs how many a message may have.
const (
	maxID  = 256
	maxIDs = 4096
)

// elementsByID finds the elements that references can lead to. An Id is wsu:Id
// on any element; without a namespace it counts on the elements of SOAP and of
// the security specifications alone, since in a payload an attribute of that
// name means whatever its schema says. Two elements with one Id are refused.
func elementsByID(root xmltree.Elem) (map[string]xmltree.Elem, error) {
	c := idCollector{found: map[string]xmltree.Elem{}}
	return c.found, c.collect(root)
}

type idCollector struct{ found map[string]xmltree.Elem }

func (c *idCollector) collect(e xmltree.Elem) error {
	for a := range e.Attributes() {
		isID := a.Name.Local == "Id" && (a.Name.Space == UtilityNS || a.Name.Space == "" && idBearing(e.Name().Space))
		if !isID {
			continue
		}
		if a.Value == "" || len(a.Value) > maxID || len(c.found) == maxIDs {
			return refuse(InvalidSecurity, "an Id is empty or longer than %d bytes, or there are more than %d", maxID, maxIDs)
		}
		if other, used := c.found[a.Value]; used && other != e {
			return refuse(InvalidSecurity, "two elements have the Id %.100q", a.Value)
		}
		c.found[a.Value] = e
	}
	for child := range e.Children() {
		if err := c.collect(child); err != nil {
			return err
		}
	}
	return nil
}

func idBearing(space string) bool {
	switch space {
	case soap11NS, soap12NS, SecurityNS, Security11, UtilityNS, SignatureNS, xencNS, xenc11NS:
		return true
	}
	return false
}

// lookUp follows a reference of the form "#id", the only one that is followed.
func lookUp(ids map[string]xmltree.Elem, uri string) (xmltree.Elem, error) {
	id, local := strings.CutPrefix(uri, "#")
	if !local || id == "" {
		return xmltree.Elem{}, refuse(InvalidSecurity, "the reference %.100q is none to an Id in this message", uri)
	}
	e, ok := ids[id]
	if !ok {
		return xmltree.Elem{}, refuse(FailedCheck, "no element that may be signed has the Id %.100q", id)
	}
	return e, nil
}
