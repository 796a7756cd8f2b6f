//go:build conformance && !race

package processes

const withRace = false
