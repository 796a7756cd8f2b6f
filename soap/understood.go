package soap

import "tidings/xmltree"

// The header blocks that are acted upon. A block that must be understood and is
// in neither table is refused, before anything else in the envelope is looked at.
var (
	understoodBlocks = map[xmltree.Name]bool{
		{Space: wsseNS, Local: "Security"}: true,
		// Repeats SOAPAction, on .NET with MessageVersion.Soap11 and the like.
		{Space: "http://schemas.microsoft.com/ws/2005/05/addressing/none", Local: "Action"}: true,
	}
	// ownBlocks are those of the contract's namespace, by their local names.
	ownBlocks = map[string]bool{optionsName: true}
)

// understood reports whether this service acts upon blocks of a name; own is the
// contract's namespace.
func understood(n xmltree.Name, own string) bool {
	return understoodBlocks[n] || isAddressing(n) || n.Space == own && ownBlocks[n.Local]
}
