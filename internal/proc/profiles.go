package proc

import (
	"net/http"
	"net/http/pprof"
)

// Profiles are the profiles of the Go runtime below /debug/pprof/, for programs on
// the same machine: they tell what is in memory, and taking one costs time.
func Profiles() []Route {
	return []Route{
		{Pattern: "GET /debug/pprof/", Handler: http.HandlerFunc(pprof.Index)},
		{Pattern: "GET /debug/pprof/profile", Handler: http.HandlerFunc(pprof.Profile)},
		{Pattern: "GET /debug/pprof/symbol", Handler: http.HandlerFunc(pprof.Symbol)},
		{Pattern: "GET /debug/pprof/trace", Handler: http.HandlerFunc(pprof.Trace)},
	}
}
