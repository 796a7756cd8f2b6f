// Package graphqljs compares the graphql room with the reference implementation.
//
// The same documents run through an engine over real parts and through
// graphql-js over the same contract and records (reference.mjs); data, the
// presence of errors, their paths, locations and codes must be equal. What
// differs on purpose stands in testdata/deviations.txt, each with its reason.
// The tests need the build tag conformance, Node and npm.
package graphqljs
