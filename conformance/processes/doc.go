// Package processes starts the binaries as an operator would, drives them over
// real sockets with clients that share no code with them, kills them, and counts
// what was acknowledged against what can be read.
//
// Some tests make a network of their own, in which messages are lost without a
// trace; where namespaces cannot be made they are skipped. Some, on Linux on
// amd64, give a process a clock that they set.
//
// It knows the flags, the variables and the wire protocols, and nothing of the
// rooms inside. The tests need the build tag conformance.
package processes
