//go:build conformance

package processes

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var soapCode = regexp.MustCompile(`<tns:code>([A-Z_]+)</tns:code>`)

// Workers are killed while partners create records. What was answered is there,
// once. The gateway sends a call whose worker died to another one, under the name that
// it has given it. What ends in a fault that says to try later, because all workers
// were away for too long, was done once or not at all, and is answered when it is
// sent again with its key.
func TestEnvelopesOfKilledWorkers(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	author := token(t, c.data, "partner", "USER")
	const senders, calls = 6, 40
	var mu sync.Mutex
	answered, unknown, again := map[string]bool{}, map[string]bool{}, 0
	progress := make(chan struct{}, senders*calls)
	var sending sync.WaitGroup
	for n := range senders {
		sending.Go(func() {
			for i := range calls {
				title, key := fmt.Sprintf("%d-%d", n, i), ""
				if n%2 == 0 {
					key = title
				}
				for {
					code := createBySOAP(t, c.apis[i%2].url, author, title, key)
					mu.Lock()
					switch code {
					case "":
						answered[title] = true
					case "TIMEOUT", "UNAVAILABLE":
						unknown[title] = true
						again++
					default:
						t.Errorf("%s: %s", title, code)
					}
					mu.Unlock()
					if code == "" || key == "" || t.Context().Err() != nil {
						break
					}
					pause(t.Context(), 100*time.Millisecond) // as Retry-After would have it, but sooner
				}
				progress <- struct{}{}
			}
		})
	}
	for _, w := range []*process{c.workers[0], c.workers[1], c.workers[0]} {
		for range senders * calls / 5 {
			<-progress
		}
		w.kill(t)
		w.restart(t)
	}
	sending.Wait()
	t.Logf("%d answered, %d faults", len(answered), again)

	poll(t, 30*time.Second, "the posts are what was answered", func() error {
		posts, err := list(t.Context(), c.apis[0].url, anybody, "posts", "id title")
		if err != nil {
			return err
		}
		times := map[string]int{}
		for _, r := range posts {
			times[r.Title]++
		}
		for title := range answered {
			if times[title] != 1 {
				return fmt.Errorf("%s, which was answered, is there %d times", title, times[title])
			}
		}
		for title, n := range times {
			if n > 1 || !answered[title] && !unknown[title] {
				return fmt.Errorf("%s is there %d times", title, n)
			}
		}
		return nil
	})
}

// createBySOAP creates a post and returns the code of the fault, empty for none.
func createBySOAP(t *testing.T, base, bearer, title, key string) string {
	header := ""
	if key != "" {
		header = `<t:RequestOptions><t:idempotencyKey>` + key + `</t:idempotencyKey></t:RequestOptions>`
	}
	text := `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService"><s:Header>` + header +
		`</s:Header><s:Body><t:CreatePost><t:input><t:title>` + title + `</t:title></t:input></t:CreatePost></s:Body></s:Envelope>`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/SocialService", strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "text/xml; charset=utf-8")
	r.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := (&http.Client{Timeout: time.Minute}).Do(r) // longer than the gateway waits for a worker
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	if resp.StatusCode == http.StatusOK {
		return ""
	}
	if m := soapCode.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	return resp.Status
}
