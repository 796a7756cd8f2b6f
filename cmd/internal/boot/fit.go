package boot

import (
	"log/slog"

	"tidings/internal/proc"
)

// Fit makes the process keep within what it may have of the machine, and says in
// the log what that is.
func (c Config) Fit(log *slog.Logger) {
	f := proc.Fit(c.MemoryLimit)
	log.Info("resources", "procs", f.Procs, "procs_from", f.ProcsFrom, "memory_limit", f.Memory, "memory_from", f.MemoryFrom, "memory_container", f.Container)
	if kept := int64(c.ViewMemory) << 20; f.Memory > 0 && kept > f.Memory/2 {
		log.Warn("what the view keeps in memory leaves less than half of it for everything else", "view_memory", kept, "memory_limit", f.Memory,
			"remedy", "lower TIDINGS_VIEW_MEMORY, or give the process more memory")
	}
	if f.Container > 0 && f.Memory > f.Container {
		log.Warn("the memory limit is above what the container may have: the process is killed before it counts", "memory_limit", f.Memory, "memory_container", f.Container,
			"remedy", "lower TIDINGS_MEMORY_LIMIT or GOMEMLIMIT, or remove it: then it is 90 % of the container's")
	}
}
