//go:build !unix

package bus

import "os"

// lockFile locks nothing: these systems have no lock that ends with its
// process in the standard library.
func lockFile(*os.File) error { return nil }
