package tool

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tidings/transfer"
)

// progress tells a person how far something has come: by a bar that is drawn
// again and again on a terminal, and by a line now and then elsewhere.
type progress struct {
	to       io.Writer
	terminal bool
	verb     string // exported, imported
	of       int64  // where it ends; 0: nobody knows
	began    time.Time
	told     time.Time
	drawn    bool
}

func newProgress(to io.Writer, verb string) *progress {
	return &progress{to: to, terminal: IsTerminal(to), verb: verb, began: time.Now(), told: time.Now()}
}

// IsTerminal reports whether a person looks at a writer, or types into a reader.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	drawEvery = 100 * time.Millisecond
	tellEvery = 10 * time.Second
	barWidth  = 30
)

func (p *progress) tell(now transfer.Progress) {
	every := tellEvery
	if p.terminal {
		every = drawEvery
	}
	if time.Since(p.told) < every {
		return
	}
	p.told = time.Now()
	if now.Of == 0 {
		now.Of = p.of
	}
	text := fmt.Sprintf("%s %d records", p.verb, now.Done)
	if s := time.Since(p.began).Seconds(); s > 1 {
		text += fmt.Sprintf(", %.0f a second", float64(now.Done)/s)
	}
	if now.Of > 0 {
		part := min(1, float64(now.At)/float64(now.Of))
		text = fmt.Sprintf("%3.0f %%  %s", part*100, text)
		if full := int(part * barWidth); p.terminal {
			text = "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "] " + text
		}
	}
	if p.terminal {
		fmt.Fprintf(p.to, "\r%s\x1b[K", text)
		p.drawn = true
		return
	}
	fmt.Fprintln(p.to, text)
}

// end takes the bar away.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
