package proc

import (
	"os"
	"os/signal"
	"syscall"
)

// Hangups returns the SIGHUPs that the process gets: each asks it to read again
// what it has read at its start. Several that come together are one. stop ends it.
func Hangups() (hangups <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// terminalGone reports, to a process that was started at a terminal, whether
// that is there no more: then a SIGHUP means the end and not a reload.
func terminalGone() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return true
	}
	_ = tty.Close() // it was there
	return false
}
