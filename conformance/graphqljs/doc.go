// Package graphqljs compares the graphql room, and what the schema room says of
// changed contracts, with the reference implementation.
//
// The same documents run through an engine over real parts and through
// graphql-js over the same contract and records (reference.mjs); data, the
// presence of errors, their paths, locations and codes must be equal. What
// differs on purpose stands in testdata/deviations.txt, each with its reason.
// Pairs of schemas go through schema.Diff and through findSchemaChanges
// (changes.mjs); testdata/changes has them and their deviations.
// The tests need the build tag conformance, Node and npm.
package graphqljs
