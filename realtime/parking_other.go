//go:build !linux

package realtime

// parking has room for nobody: silent sockets wait on goroutines of their own.
type parking struct{ hub *Hub }

type place struct{}

func (p *parking) park(*socket) bool { return false }
func (p *parking) wake(*socket)      {}
func (p *parking) leave(*socket)     {}
