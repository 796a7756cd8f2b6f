// Package queryui drives the query page of the real binary in Chromium: its
// examples for two schemas, live operations over both transports while the
// service restarts, the token, the documentation and its change with the schema.
// It also builds the page again and compares the bytes. The tests need the build
// tag conformance, Node, npm and Chromium.
package queryui
