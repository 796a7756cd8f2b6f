// Package console looks at the operators' console with Chromium, as an operator
// does: go test -tags conformance. SHOTS=DIR keeps what it looked like.
package console
