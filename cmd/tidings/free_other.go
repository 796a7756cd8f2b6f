//go:build !linux && !darwin

package main

// freeBytes knows nothing: the standard library does not tell it here.
func freeBytes(string) (bytes int64, known bool) { return 0, false }
