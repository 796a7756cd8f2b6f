package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidings/internal/proc/proctest"
)

const watchNotes = `subscription { noteChanged { kind note { text } } }`

// running is `tidings watch` at work.
type running struct {
	out, errs proctest.Log
	stop      context.CancelFunc
	ended     chan error
}

// watches runs `tidings watch` until the test ends.
func watches(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &running{stop: cancel, ended: make(chan error, 1)}
	p := program{args: append([]string{"watch"}, args...), stdin: strings.NewReader(""), stdout: &w.out, stderr: &w.errs}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ended <- p.run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	eventually(t, func() bool { return strings.Contains(w.errs.String(), "connected by") || len(w.ended) > 0 }, w.errs.String)
	return w
}

// texts are the notes that were printed.
func (w *running) texts(t *testing.T) (list []string) {
	t.Helper()
	for line := range strings.Lines(w.out.String()) {
		if !strings.HasSuffix(line, "\n") {
			continue // the rest is still to come
		}
		var e struct {
			Data struct {
				NoteChanged struct{ Note struct{ Text string } }
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, e.Data.NoteChanged.Note.Text)
	}
	return list
}

// The service is killed and started again while two watch it and a third writes:
// each change that was answered is printed once and in order, by either transport.
func TestWatchGoesOnAcrossAKilledServiceWithoutAGapOrADouble(t *testing.T) {
	t.Parallel()
	dir, address := notes(t), freeAddress(t)
	dev := func() *process {
		p := launch(t, "dev", dir, "--listen", address, "--admin", "")
		p.says(t, "ADMIN_TOKEN=")
		return p
	}
	service := dev()
	token := tokenFor(t, dir)
	var all []*running
	for _, transport := range []string{"wss", "sse"} {
		all = append(all, watches(t, watchNotes, "--json", "--url", address, "--transport", transport))
	}
	var answered []string
	for i := range 12 {
		if i == 4 || i == 8 {
			for _, w := range all { // both have seen the loss before
				eventually(t, func() bool { return strings.Count(w.errs.String(), "connected by") > i/8 }, w.errs.String)
			}
			service.kill()
			service = dev()
		}
		text := fmt.Sprint("note ", i)
		out, errs, status := calls(t, "", "query", `mutation($t: String!) { createNote(input: {text: $t}) { id } }`, "-v", "t="+text, "--url", address, "--token", token)
		if status != 0 {
			t.Fatal(out, errs)
		}
		answered = append(answered, text)
	}
	for _, w := range all {
		eventually(t, func() bool { return len(w.texts(t)) >= len(answered) }, func() string { return w.out.String() + w.errs.String() })
		if got := w.texts(t); !slices.Equal(got, answered) {
			t.Errorf("printed %v, want %v\n%s", got, answered, w.errs.String())
		}
		if says := w.errs.String(); strings.Count(says, "going on after") < 2 {
			t.Errorf("nothing was said of two losses:\n%s", says)
		}
		w.stop()
		if err := <-w.ended; err != nil {
			t.Errorf("Ctrl-C: %v", err)
		}
		if says := w.errs.String(); !strings.Contains(says, "the last cursor: ") {
			t.Errorf("no cursor to go on from:\n%s", says)
		}
	}
}

func TestWatchEndsWithTheReasonWhenToComeAgainWouldNotHelp(t *testing.T) {
	t.Parallel()
	url, _ := serves(t, notes(t))
	for _, transport := range []string{"wss", "sse"} {
		for _, c := range []struct{ args, says string }{
			{"--after dn0fnvds19c0-2", "CURSOR_EXPIRED"},
			{"--after nonsense", "BAD_USER_INPUT"},
			{"--token nonsense", "the token is not good"},
			{"--var x=1 --operation Nobody", "BAD"},
		} {
			args := append([]string{"watch", watchNotes, "--url", url, "--transport", transport}, strings.Fields(c.args)...)
			if _, errs, status := calls(t, "", args...); status != statusAnswer || !strings.Contains(errs, c.says) {
				t.Errorf("%s %s: status %d, %s", transport, c.args, status, errs)
			}
		}
	}
}

func TestWatchEndsAfterAsManyAsAreWanted(t *testing.T) {
	t.Parallel()
	url, token := serves(t, notes(t))
	w := watches(t, watchNotes, "--count", "2", "--json", "--url", url)
	for range 3 {
		if out, errs, status := calls(t, "", "query", `mutation { createNote(input: {text: "x"}) { id } }`, "--url", url, "--token", token); status != 0 {
			t.Fatal(out, errs)
		}
	}
	select {
	case err := <-w.ended:
		if got := w.texts(t); err != nil || len(got) != 2 {
			t.Errorf("%v, %v", err, got)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on: ", w.errs.String())
	}
}
