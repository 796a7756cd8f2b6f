//go:build !linux

package boot_test

import "testing"

func small(t *testing.T, _ string) {
	t.Helper()
	t.Skip("needs a file system of its own")
}

func freeBytes(*testing.T, string) int { return 0 }
