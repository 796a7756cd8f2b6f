// Package graphql compiles an operation once, runs it, and runs equal
// subscriptions once for all.
//
// A request becomes a document (parsed, limited, validated, cached), then a
// plan (which stored key goes to which place of the answer), then bytes: the
// plan copies values out of raw JSON records straight into the response.
// Relations are read level by level, one read for all parents of a level.
//
// The package knows neither sockets nor the bus nor tables. It is the door for
// gqlgen, whose executor and extension hooks frame every query and mutation,
// and for golang-lru; with schema it shares the door for gqlparser.
package graphql
