// Package console looks at the operators' console with Chromium, as an operator
// does, and at it and the query page in each engine that people have: go test -tags
// conformance. SHOTS=DIR keeps what they looked like.
package console
