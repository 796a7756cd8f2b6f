package soap

import "tidings/xmltree"

// noAddressing is the namespace of what .NET says in place of WS-Addressing.
const noAddressing = "http://schemas.microsoft.com/ws/2005/05/addressing/none"

// The header blocks that are acted upon. A block that must be understood and is
// in neither table is refused, before anything else in the envelope is looked at.
var (
	understoodBlocks = map[xmltree.Name]bool{
		{Space: wsseNS, Local: "Security"}: true,
		// Repeat SOAPAction and the URL, on .NET with MessageVersion.Soap11 and the
		// like, and in what its traces show to have been sent.
		{Space: noAddressing, Local: "Action"}: true,
		{Space: noAddressing, Local: "To"}:     true,
	}
	// ownBlocks are those of the contract's namespace, by their local names.
	ownBlocks = map[string]bool{optionsName: true}
)

// understood reports whether this service acts upon blocks of a name; own is the
// contract's namespace.
func understood(n xmltree.Name, own string) bool {
	return understoodBlocks[n] || isAddressing(n) || n.Space == own && ownBlocks[n.Local]
}
