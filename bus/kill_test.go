package bus_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/bus"
	"tidings/bus/bustest"
)

// victim names the variable that makes this test binary a process to be killed.
const victim = "TIDINGS_TEST_VICTIM_DIR"

// What was acknowledged is never lost, whenever the process is killed: it is
// killed three times while it appends, and then everything it was heard to say
// is looked up. Pairs of one batch are both there or neither is.
func TestNothingAcknowledgedIsLostByKill9(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	acked := map[string]uint64{}
	for round := range 3 {
		killWhileAppending(t, dir, round, acked)
	}
	b := bustest.Dir(t, dir)
	s := b.Subjects()
	_, last, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored, pairs := map[string]uint64{}, map[string]int{}
	if _, err := b.Read(t.Context(), s.Log(), 0, last, func(m bus.Message) error {
		stored[m.Subject] = m.Seq
		if strings.Contains(m.Subject, "pair") {
			pairs[m.Subject[strings.Index(m.Subject, "pair"):]]++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for subject, seq := range acked {
		if stored[subject] != seq {
			t.Errorf("%s was acknowledged as %d and is stored as %d", subject, seq, stored[subject])
		}
	}
	for id, n := range pairs {
		if n != 2 {
			t.Errorf("of the batch %s, %d of 2 messages are stored", id, n)
		}
	}
	t.Logf("%d acknowledged, %d stored, %d batches", len(acked), len(stored), len(pairs))
}

// killWhileAppending starts the victim, lets it acknowledge some, and kills it.
func killWhileAppending(t *testing.T, dir string, round int, acked map[string]uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victim+"="+dir, "ROUND="+strconv.Itoa(round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var subject string
		var seq uint64
		if _, err := fmt.Sscanf(lines.Text(), "ack %s %d", &subject, &seq); err != nil {
			continue
		}
		acked[subject] = seq
		if heard++; heard == 300 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		} // what it had said before it died counts too
	}
	if err := cmd.Wait(); err == nil || heard < 300 {
		t.Fatalf("the victim ended by itself after %d: %v", heard, err)
	}
}

// TestVictim is no test: it appends for ever and says what was acknowledged.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victim)
	if dir == "" {
		t.Skip("runs only as a child process")
	}
	b := bustest.Dir(t, dir)
	var say sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", os.Getenv("ROUND"), w, i)
				entries := []bus.Entry{{Subject: b.Subjects().Record("User", id), Data: body}}
				if w%2 == 0 {
					entries = []bus.Entry{
						{Subject: b.Subjects().Unique("User", "email", "pair"+id), Data: body},
						{Subject: b.Subjects().Record("User", "pair"+id), Data: body},
					}
				}
				seq, err := b.Append(t.Context(), entries...)
				if err != nil {
					t.Error(err)
					return
				}
				say.Lock()
				fmt.Println("ack", entries[len(entries)-1].Subject, seq)
				say.Unlock()
			}
		})
	}
	wg.Wait()
}
