// Package gqlgen is the baseline: a server of gqlgen's generated code for the
// part of the example's contract that the benchmarks ask for, over records that
// are typed Go values in memory. Nothing is read, decoded or authorized.
package gqlgen

//go:generate go run github.com/99designs/gqlgen generate
