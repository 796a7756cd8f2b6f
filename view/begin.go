package view

import "context"

// Begin returns the position after which the log is to be read: the view's own.
func (v *View) Begin(context.Context) (uint64, error) { return v.Position(), nil }

// Ready returns ErrUnwritable while the file does not take what was applied, and
// ErrDamaged once it was given up, until a Fill has mended it.
func (v *View) Ready() error {
	v.behind.mu.RLock()
	defer v.behind.mu.RUnlock()
	return v.behind.trouble
}
