// Package web holds what browsers load. It knows nothing of who serves it.
package web

import _ "embed"

// Query is a page that sends operations to /graphql at its own origin and shows
// what comes back, live subscriptions included. It loads nothing from elsewhere.
// {{nonce}} stands where its style and script need the nonce of a
// Content-Security-Policy.
//
//go:embed query.html
var Query string

// Resume is a module for the clients of others that lets them resume.
//
//go:embed resume.js
var Resume string
