// Package http drives the HTTP binding of GraphQL of the real binary with what
// others wrote: graphql-http's audits of the GraphQL-over-HTTP specification,
// all of them, Apollo Client, urql, graphql-js's client schema and GraphQL Code
// Generator. The tests need the build tag conformance, Node and npm.
package http
