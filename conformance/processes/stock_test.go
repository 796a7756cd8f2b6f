//go:build conformance

package processes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// stock are the clients of others that conformance/live has: they come back by
// themselves, each in its own way.
type stock struct {
	mu     sync.Mutex
	titles map[string][]string // of the posts that each was told of
	wrong  []string
}

// stockClients is how many clients there are in conformance/live/resuming.mjs.
const stockClients = 8

// startStock subscribes with all of them to the changes of posts, at an api or
// what stands before it, until the test ends.
func startStock(t testing.TB, via *api, token string) *stock {
	t.Helper()
	s := &stock{titles: map[string][]string{}}
	cmd := exec.CommandContext(t.Context(), "node", "resuming.mjs", via.url+"/graphql", token)
	cmd.Dir = "../live"
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: make clients", err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.take(lines.Bytes())
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, if it fails
		reading.Wait()
		_ = cmd.Wait() // by the kill
	})
	return s
}

func (s *stock) take(line []byte) {
	var said struct{ Client, Title, Error string }
	err := json.Unmarshal(line, &said)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || said.Error != "" {
		s.wrong = append(s.wrong, string(line))
		return
	}
	s.titles[said.Client] = append(s.titles[said.Client], said.Title)
}

// heard waits until each client has heard something, or the title if it is not empty.
func (s *stock) heard(t testing.TB, title string) {
	t.Helper()
	poll(t, time.Minute, "all clients of others have heard "+title, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.titles) < stockClients {
			return fmt.Errorf("%d clients have heard something; %v", len(s.titles), s.wrong)
		}
		for client, list := range s.titles {
			if title != "" && list[len(list)-1] != title {
				return fmt.Errorf("%s has %d, %v", client, len(list), s.wrong)
			}
		}
		return nil
	})
}

// whole checks that each was told, from its first on, of every post once and in order.
func (s *stock) whole(t testing.TB, events []event) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.wrong {
		t.Errorf("a client says %s", line)
	}
	for client, list := range s.titles {
		at := len(events) - len(list)
		for i, title := range list {
			if at < 0 || events[at+i].Text != title {
				t.Errorf("%s was told %d of %d: %q is not what came then", client, len(list), len(events), title)
				break
			}
		}
	}
}
