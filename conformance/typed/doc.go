// Package typed makes clients from contracts with what others wrote, GraphQL Code
// Generator for TypeScript and genqlient for Go, compiles them and runs them against
// the service: queries, mutations and subscriptions, enums, unions, scalars, what can
// be null, and the errors of fields. The tests need the build tag conformance, Node
// and npm.
package typed
