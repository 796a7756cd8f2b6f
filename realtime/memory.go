package realtime

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A process that is about to have no memory left is killed, with all of its
// clients. So before that it takes no others, and then lets those go for whom most
// waits: they resume by cursor.
const (
	memoryEvery  = 100 * time.Millisecond
	memoryTight  = 0.85 // of what there is: no others are taken
	memoryEased  = 0.80 // they are again
	memoryDanger = 0.92 // those for whom most waits are cut off
	// worthCutting is what must wait for a client so that cutting it off is of use.
	worthCutting = 16 << 10
)

// shortage is the refusal of a hub that is full by what its clients need.
type shortage struct{}

func (shortage) Error() string {
	return "the server has too little memory for more connections; try again later"
}
func (shortage) Is(target error) bool { return target == errFull }

// relieve looks after the memory until the hub ends.
func (h *Hub) relieve() {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.life.Done():
			return
		}
		share := h.opts.Memory()
		h.mu.Lock()
		h.short = share > memoryTight || h.short && share > memoryEased
		h.mu.Unlock()
		if share > memoryDanger {
			h.cutSlowest(share - memoryEased)
		}
	}
}

// cutSlowest ends a part of the connections for which something waits, those for
// which most does.
func (h *Hub) cutSlowest(part float64) {
	type slow struct {
		conn
		bytes int
	}
	var list []slow
	for _, c := range h.open() {
		if n := c.waiting(); n >= worthCutting {
			list = append(list, slow{c, n})
		}
	}
	slices.SortFunc(list, func(a, b slow) int { return cmp.Compare(b.bytes, a.bytes) })
	n := int(math.Ceil(min(part, 1) * float64(len(list))))
	for _, c := range list[:n] {
		c.cutOff()
	}
}
