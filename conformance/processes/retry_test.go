//go:build conformance

package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patientClient waits for longer than an api does for a worker.
var patientClient = http.Client{Timeout: time.Minute}

// patientPost is post with that client; without an error there is data.
func patientPost(ctx context.Context, base, token string, c call, into any) error {
	req, err := graphqlRequest(ctx, base, token, c)
	if err != nil {
		return err
	}
	resp, err := patientClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var r result
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&r); err != nil {
		return fmt.Errorf("%s: %.200q: %w", resp.Status, body, err)
	}
	if err := r.err(); err != nil {
		return err
	}
	return json.Unmarshal(r.Data, into)
}

// The only worker is killed while mutations and SOAP calls are on their way, and
// another one comes 8 s later: nobody without a key learns of it, and each change
// has happened once.
func TestNobodyLearnsThatTheOnlyWorkerWasAwayForEightSeconds(t *testing.T) {
	c := &cluster{data: t.TempDir()}
	c.nats, c.bus = startNATS(t)
	env := []string{"TIDINGS_NATS_URL=" + c.bus}
	worker := startWorker(t, "worker 1", c.data, env)
	c.apis = []*api{startAPI(t, "api 1", c.data, env), startAPI(t, "api 2", c.data, env)}

	var mu sync.Mutex
	wrote := map[string]int{} // titles, and how often each must be in the log
	note := func(title string) {
		mu.Lock()
		defer mu.Unlock()
		wrote[title]++
	}
	var done [12]atomic.Int64
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for n, author := range c.authors(t, 12) {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				title := fmt.Sprintf("%d-%d", n, i)
				if n%3 == 0 {
					if code := createBySOAP(t, c.apis[i%2].url, author, title, ""); code != "" {
						t.Errorf("SOAP %s: %s", title, code)
						return
					}
					note(title)
					done[n].Add(1)
					continue
				}
				var created, updated struct{ Done record }
				base := c.apis[i%2].url
				if err := patientPost(t.Context(), base, author, call{Query: createPost, Variables: map[string]any{"input": map[string]any{"title": title}}}, &created); err != nil {
					t.Errorf("create %s: %v", title, err)
					return
				}
				note(title)
				title += " again"
				if err := patientPost(t.Context(), base, author, call{Query: updatePost, Variables: map[string]any{"input": map[string]any{"id": created.Done.ID, "title": title}}}, &updated); err != nil {
					t.Errorf("update %s: %v", title, err)
					return
				}
				note(title)
				done[n].Add(1)
			}
		})
	}
	written := func() (all []int64) {
		for i := range done {
			all = append(all, done[i].Load())
		}
		return all
	}
	progress := func() { // of everybody
		t.Helper()
		before := written()
		poll(t, time.Minute, "the writers go on", func() error {
			for i, n := range written() {
				if n < before[i]+10 {
					return fmt.Errorf("writer %d has written %d more", i, n-before[i])
				}
			}
			return nil
		})
	}
	for range 2 {
		progress()
		worker.kill(t)
		pause(t.Context(), 8*time.Second)
		worker.restart(t)
	}
	progress()
	close(stop)
	writers.Wait()
	got := map[string]int{}
	for _, e := range c.readLog(t) {
		got[e.Text]++
	}
	for title, n := range wrote {
		if got[title] != n {
			t.Errorf("%q was answered %d times and is in the log %d times", title, n, got[title])
		}
	}
	for title, n := range got {
		if wrote[title] != n {
			t.Errorf("%q is in the log %d times and was answered %d times", title, n, wrote[title])
		}
	}
	t.Logf("%d changes", len(got))
}
