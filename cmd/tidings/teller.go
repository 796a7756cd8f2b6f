package main

import (
	"fmt"
	"io"
	"time"

	"tidings/client"
	"tidings/cmd/internal/tool"
)

// teller says what becomes of a connection. What is lost for the same reason again
// and again is one line that changes on a terminal, and elsewhere one line a minute.
type teller struct {
	to       io.Writer
	terminal bool
	why      string // of the loss before; empty: there was a connection since
	tries    int
	told     time.Time
	drawn    bool // a line without an end
}

// tellAgain is how often the same reason is told again where no terminal is.
const tellAgain = time.Minute

func newTeller(to io.Writer) *teller { return &teller{to: to, terminal: tool.IsTerminal(to)} }

func (t *teller) tell(n client.Notice) {
	switch {
	case n.Lost != "":
		t.lost(n)
	case n.Cursor != "":
		t.connected()
		fmt.Fprintf(t.to, "connected by %s, going on after %s\n", n.Transport, printable(n.Cursor))
	default:
		t.connected()
		fmt.Fprintf(t.to, "connected by %s\n", n.Transport)
	}
}

// lost says why there is no connection, and when another is tried.
func (t *teller) lost(n client.Notice) {
	same := n.Lost == t.why
	t.why = n.Lost
	t.tries++
	switch {
	case same && t.terminal:
		fmt.Fprintf(t.to, "\r\x1b[Ktrying again in %s (try %d)", inTime(n.Again), t.tries)
		t.drawn = true
		return
	case same && time.Since(t.told) < tellAgain:
		return
	}
	t.end()
	t.told = time.Now()
	fmt.Fprintf(t.to, "%s; trying again in %s\n", printable(n.Lost), inTime(n.Again))
}

func (t *teller) connected() {
	t.end()
	t.why, t.tries = "", 0
}

// end takes away a line that has none.
func (t *teller) end() {
	if t.drawn {
		fmt.Fprint(t.to, "\r\x1b[K")
		t.drawn = false
	}
}

// inTime is a wait as people read it.
func inTime(d time.Duration) string {
	if d < time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
