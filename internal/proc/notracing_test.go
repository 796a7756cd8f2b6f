//go:build !race

package proc_test

const racing = false
