package resource

// ReserveAhead lets a worker reserve unique values ahead, whatever its bus.
func ReserveAhead(w *Worker) *Worker {
	w.ahead = true
	return w
}
