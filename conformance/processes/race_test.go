//go:build conformance && race

package processes

// withRace: the tests run with the race detector, and so do the programs.
const withRace = true
