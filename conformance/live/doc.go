// Package live drives live operations of the real binaries with clients that
// others wrote: npm's graphql-ws, graphql-sse (in both modes) and
// subscriptions-transport-ws, Apollo Client and urql over them, and Chromium,
// Firefox and WebKit with EventSource and WebSocket. Each counts the events that
// it gets while processes are killed under it, and while its tokens end, are renewed and are
// revoked. The tests need the build tag conformance, Node, npm and the browsers.
package live
