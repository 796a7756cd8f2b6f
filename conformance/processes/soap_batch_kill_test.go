//go:build conformance

package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Partners send batches while workers and apis are killed. A batch with a key is
// sent again until every item has succeeded, and each record is there once. A
// transaction without a key is sent once, and is there whole or not at all.
func TestBatchesOfKilledWorkers(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	author := token(t, c.data, "partner", "SERVICE,USER")
	const senders, batches, items = 6, 12, 15
	var mu sync.Mutex
	whole := map[string]bool{} // of the transactions without a key: whether they were answered
	again := 0
	progress := make(chan struct{}, senders*batches)
	var sending sync.WaitGroup
	for n := range senders {
		sending.Go(func() {
			for i := range batches {
				name, allOrNone := fmt.Sprintf("%d-%d", n, i), n%3 != 0
				key := name
				if n%3 == 2 {
					key = ""
				}
				for attempt := 0; ; attempt++ {
					err := createBatchBySOAP(t.Context(), c.apis[(i+attempt)%2].url, author, name, key, items, allOrNone)
					if key == "" {
						mu.Lock()
						whole[name] = err == nil
						mu.Unlock()
						break
					}
					if err == nil {
						break
					}
					if attempt > 200 || t.Context().Err() != nil {
						t.Errorf("%s: %v", name, err)
						break
					}
					mu.Lock()
					again++
					mu.Unlock()
					pause(t.Context(), 100*time.Millisecond)
				}
				progress <- struct{}{}
			}
		})
	}
	for i, kill := range []*process{c.workers[0], c.apis[0].process, c.workers[1], c.apis[1].process} {
		for range senders * batches / 6 {
			<-progress
		}
		kill.kill(t)
		if i%2 == 0 { // while the other one is alone
			for range senders {
				<-progress
			}
		}
		kill.restart(t)
	}
	sending.Wait()
	times := map[string]int{}
	for _, e := range c.readLog(t) {
		times[e.Text]++
	}
	answered := 0
	for n := range senders {
		for i := range batches {
			name := fmt.Sprintf("%d-%d", n, i)
			var counts []int
			for item := range items {
				counts = append(counts, times[itemTitle(name, item)])
			}
			once := !slices.ContainsFunc(counts, func(n int) bool { return n != 1 })
			none := !slices.ContainsFunc(counts, func(n int) bool { return n != 0 })
			ok, sentOnce := whole[name]
			if ok || !sentOnce {
				answered++
			}
			if !once && (!none || ok || !sentOnce) {
				t.Errorf("the items of %s are there %v times; sent once: %t, answered: %t", name, counts, sentOnce, ok)
			}
		}
	}
	t.Logf("%d batches were answered, %d sent again", answered, again)
}

func itemTitle(batch string, item int) string { return fmt.Sprintf("%s item %d", batch, item) }

// createBatchBySOAP creates posts; the error says that not all are known to be
// there.
func createBatchBySOAP(ctx context.Context, base, bearer, name, key string, items int, allOrNone bool) error {
	var body strings.Builder
	if key != "" {
		body.WriteString(`<s:Header><t:RequestOptions><t:idempotencyKey>` + key + `</t:idempotencyKey></t:RequestOptions></s:Header>`)
	}
	body.WriteString(`<s:Body><t:CreatePosts><t:inputs>`)
	for i := range items {
		body.WriteString(`<t:item><t:title>` + itemTitle(name, i) + `</t:title></t:item>`)
	}
	fmt.Fprintf(&body, `</t:inputs><t:allOrNone>%t</t:allOrNone></t:CreatePosts></s:Body>`, allOrNone)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/SocialService",
		strings.NewReader(`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService">`+body.String()+`</s:Envelope>`))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "text/xml; charset=utf-8")
	r.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := (&http.Client{Timeout: 20 * time.Second}).Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if n := strings.Count(string(answer), "<tns:success>true</tns:success>"); resp.StatusCode != http.StatusOK || n != items {
		return errors.New(resp.Status + ": " + string(answer[:min(len(answer), 600)]))
	}
	return nil
}
