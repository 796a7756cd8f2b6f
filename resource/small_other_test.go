//go:build !linux

package resource_test

import "testing"

func small(t *testing.T, _ string) { t.Skip("it needs a file system of its own") }
