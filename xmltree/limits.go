// Package xmltree reads XML strictly into a tree, and writes text that any
// reader of XML takes for what it was. It knows no envelope and no schema.
//
// Specifications: XML 1.0 (Fifth Edition) and Namespaces in XML 1.0 (Third
// Edition), without document types, processing instructions and names beyond
// ASCII; the lexical forms of time in XML Schema 1.0, Part 2.
package xmltree

// The limits of a document. What is larger is refused: with
// fault.PayloadTooLarge for the bytes, with fault.BadRequest for the rest.
const (
	MaxBytes      = 1 << 20 // of a document, as it came and as UTF-8
	maxDepth      = 40      // elements inside each other
	maxAttributes = 64      // attributes and namespace declarations of one element
	maxScope      = 128     // namespace declarations in scope at one place
	maxElements   = 200_000 // in one document
	maxComments   = 1_000   // in one document
	maxNodes      = 600_000 // elements and pieces of text of one document
	maxAllAttrs   = 400_000 // attributes and namespace declarations of one document
	maxName       = 256     // bytes of a qualified name
	maxNamespace  = 512     // bytes of a namespace's URI
)
