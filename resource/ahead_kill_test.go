package resource_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
)

// victim names the variable that makes this test binary a process to be killed.
const victim = "TIDINGS_TEST_RESERVING_VICTIM_DIR"

// A process is killed while it creates records whose values it reserves ahead. What
// it acknowledged is there; every other value is either the record's or free.
func TestNoValueIsLostOrGivenTwiceByKill9(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir, tried, acked := t.TempDir(), []string{}, map[string]bool{}
	for round := range 2 {
		killWhileReserving(t, dir, round, func(what, id string) {
			if what == "try" {
				tried = append(tried, id)
			}
			acked[id] = what == "ack"
		})
	}
	b := bustest.Dir(t, dir)
	found, err := resource.CheckLog(t.Context(), b, social(t), nil)
	if err != nil || found.Flaws() != found.OrphanCount {
		t.Fatalf("%+v, %v", found, err)
	}
	w := resource.NewWorker(b, social(t), resource.WorkerOptions{})
	free := 0
	for _, id := range tried {
		m, err := b.Last(t.Context(), b.Subjects().Record("User", id))
		if err != nil || m == nil && acked[id] {
			t.Fatalf("%s, acknowledged, is not there: %v", id, err)
		}
		if m != nil && acked[id] {
			continue
		}
		_, err = w.Carry(t.Context(), createUserWith("heir-of-"+id, id+"@example.com"))
		switch {
		case m == nil && err == nil:
			free++
		case m != nil && fault.Is(err, fault.Conflict):
		default:
			t.Errorf("%s is there: %t, and its value was given: %v", id, m != nil, err)
		}
	}
	t.Logf("%d tried, %d reserved in vain, %d values free", len(tried), found.OrphanCount, free)
	if n := flawsOf(t, b); n != 0 {
		t.Errorf("%d flaws", n)
	}
}

// killWhileReserving starts the victim, lets it acknowledge some, and kills it.
func killWhileReserving(t *testing.T, dir string, round int, heard func(what, id string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestVictimThatReserves$")
	cmd.Env = append(os.Environ(), victim+"="+dir, fmt.Sprintf("ROUND=%d", round))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	acks := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, id, ok := strings.Cut(lines.Text(), " ")
		if !ok || what != "try" && what != "ack" {
			continue
		}
		heard(what, id)
		if what == "ack" {
			acks++
		}
		if what == "ack" && acks == 200 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || acks < 200 {
		t.Fatalf("the victim ended by itself after %d: %v", acks, err)
	}
}

// TestVictimThatReserves is no test: it creates for ever and says what was
// acknowledged.
func TestVictimThatReserves(t *testing.T) {
	dir := os.Getenv(victim)
	if dir == "" {
		t.Skip("runs only as a child process")
	}
	w := resource.NewWorker(bustest.Dir(t, dir), social(t), resource.WorkerOptions{})
	var say sync.Mutex
	tell := func(what, id string) {
		say.Lock()
		defer say.Unlock()
		fmt.Println(what, id)
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("u-%s-%d-%d", os.Getenv("ROUND"), n, i)
				tell("try", id)
				if _, err := w.Carry(t.Context(), createUserWith(id, id+"@example.com")); err != nil {
					t.Error(err)
					return
				}
				tell("ack", id)
			}
		})
	}
	wg.Wait()
}
