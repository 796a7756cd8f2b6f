// Package web holds what browsers load. It knows nothing of who serves it.
package web

import _ "embed"

// Resume is a module for the clients of others that lets them resume.
//
//go:embed resume.js
var Resume string
