//go:build !unix

package proc

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return -1 }
