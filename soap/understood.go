package soap

import "tidings/xmltree"

// noAddressing is the namespace of what .NET says in place of WS-Addressing.
const noAddressing = "http://schemas.microsoft.com/ws/2005/05/addressing/none"

// understood reports whether this service acts upon header blocks of a name; own is
// the contract's namespace. A block that must be understood and is not is refused,
// before anything else in the envelope is looked at.
func understood(n xmltree.Name, own string) bool {
	switch n.Local {
	case "Security":
		return n.Space == wsseNS
	case optionsName:
		return n.Space == own
	case "Action", "To":
		// Of noAddressing they repeat SOAPAction and the URL, on .NET with
		// MessageVersion.Soap11 and the like, and in what its traces show to have been
		// sent.
		return n.Space == noAddressing || isAddressing(n)
	}
	return isAddressing(n)
}
