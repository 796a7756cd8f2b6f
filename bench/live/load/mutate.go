package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// mutator changes a record through the service's own mutations, for the time
// from a mutation's sending to the subscribers' receiving. The worker that
// carries it out runs on the load's core.
type mutator struct {
	worker *exec.Cmd
	url    string
	token  string
}

func newMutator(r *rig, nats string) (*mutator, error) {
	data := filepath.Join(r.dir, "data")
	token, err := exec.Command(filepath.Join(*bin, "api"), "token", "--sub", "mutator", "--roles", "ADMIN", "--data", data).Output()
	if err != nil {
		return nil, fmt.Errorf("make a token: %w", err)
	}
	worker := exec.Command(filepath.Join(*bin, "worker"), "--dev", "--admin", "", "--log-level", "warn", "--schema", *schemaDir, "--data", data)
	worker.Env = append(os.Environ(), "TIDINGS_NATS_URL="+nats)
	worker.Stderr = os.Stderr
	if err := worker.Start(); err != nil {
		return nil, err
	}
	m := &mutator{worker: worker, url: fmt.Sprintf("http://127.0.0.1:%d/graphql", r.server.port), token: strings.TrimSpace(string(token))}
	for range 100 {
		if err = m.do(`createUser(input: {id: "mutated", name: "x", email: "mutated@example.org"})`); err == nil || strings.Contains(err.Error(), "CONFLICT") {
			return m, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	m.stop()
	return nil, err
}

// do carries out one mutation.
func (m *mutator) do(field string) error {
	body := fmt.Sprintf(`{"query":%q}`, `mutation{`+field+`{id}}`)
	req, err := http.NewRequest(http.MethodPost, m.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+m.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || strings.Contains(string(answer), `"errors"`)) {
		err = fmt.Errorf("the mutation gave %s", answer)
	}
	return err
}

// run mutates ten times a second until ctx ends.
func (m *mutator) run(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := m.do(fmt.Sprintf(`updateUser(input: {id: "mutated", name: "%s"})`, stamp(byMutation))); err != nil {
			return err
		}
	}
}

func (m *mutator) stop() {
	_ = m.worker.Process.Kill()
	_ = m.worker.Wait()
}

// mutating measures a step during which records are mutated as well.
func (r *rig) mutating(rate float64, d time.Duration, nats string) (x result, err error) {
	m, err := newMutator(r, nats)
	if err != nil {
		return x, err
	}
	defer m.stop()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.run(ctx) }()
	x, err = r.step(rate, d)
	cancel()
	if failed := <-ended; err == nil {
		err = failed
	}
	return x, err
}
