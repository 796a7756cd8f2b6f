//go:build conformance

package processes

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A job goes on while its workers are killed and stopped, and the bus with them:
// every item is carried out, none twice, and each has its result.
func TestAJobSurvivesItsWorkersAndTheBus(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	author := token(t, c.data, "partner", "USER")
	const items = 8000
	var inputs strings.Builder
	for i := range items {
		fmt.Fprintf(&inputs, "<t:item><t:title>%d</t:title></t:item>", i)
	}
	id := jobField(t, mustCallJobs(t, c.apis[0].url, author, "<t:SubmitCreatePosts><t:inputs>"+inputs.String()+"</t:inputs></t:SubmitCreatePosts>"), "jobId")
	look := func(api int) (state string, done int) {
		answer, err := callJobs(t, c.apis[api].url, author, "<t:GetJob><t:jobId>"+id+"</t:jobId></t:GetJob>")
		if err != nil {
			return err.Error(), 0
		}
		done, _ = strconv.Atoi(jobField(t, answer, "done"))
		return jobField(t, answer, "state"), done
	}
	until := func(goal int) {
		poll(t, time.Minute, fmt.Sprintf("%d items are done", goal), func() error {
			if state, done := look(0); done < goal {
				return fmt.Errorf("%s, %d done", state, done)
			}
			return nil
		})
	}
	for i, strike := range []func(){
		func() { c.workers[0].kill(t); c.workers[0].restart(t) },
		func() { c.workers[1].kill(t); c.workers[1].restart(t) },
		func() { c.workers[0].terminate(t); c.workers[0].exit(t, 30*time.Second); c.workers[0].restart(t) },
		func() { c.nats.kill(t); c.nats.restart(t) },
		func() { // loses its turn, and goes on with what it had
			c.workers[1].signal(t, syscall.SIGSTOP)
			pause(t.Context(), 12*time.Second)
			c.workers[1].signal(t, syscall.SIGCONT)
		},
	} {
		until(items * (i + 1) / 9)
		strike()
	}
	poll(t, 2*time.Minute, "the job is over", func() error {
		if state, done := look(1); state != "DONE" || done != items {
			return fmt.Errorf("%s, %d done", state, done)
		}
		return nil
	})
	seen, item := map[string]bool{}, regexp.MustCompile(`<tns:index>(\d+)</tns:index><tns:success>true</tns:success>.*?<tns:id>([^<]+)</tns:id>.*?<tns:title>(\d+)</tns:title>`)
	pages := 1
	for page := 1; page <= pages; page++ {
		answer := mustCallJobs(t, c.apis[1].url, author, fmt.Sprintf("<t:GetJobResult><t:jobId>%s</t:jobId><t:page>%d</t:page></t:GetJobResult>", id, page))
		pages, _ = strconv.Atoi(jobField(t, answer, "pages"))
		for _, m := range item.FindAllStringSubmatch(answer, -1) {
			if m[1] != m[3] || seen[m[2]] {
				t.Errorf("item %s has the result of %s, %s", m[1], m[3], m[2])
			}
			seen[m[2]] = true
		}
	}
	var posts map[string]record
	poll(t, patience, "api 1 shows what workers have made", func() (err error) { // which have said that it is done
		if posts, err = list(t.Context(), c.apis[0].url, anybody, "posts", "id title"); err == nil && len(posts) < items {
			err = fmt.Errorf("%d posts", len(posts))
		}
		return err
	})
	titles := map[string]bool{}
	for _, r := range posts {
		titles[r.Title] = true
	}
	if len(seen) != items || len(posts) != items || len(titles) != items {
		t.Errorf("%d items have %d results, %d posts and %d titles", items, len(seen), len(posts), len(titles))
	}
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	cmd, _ := p.running()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s to %s: %v", s, p.name, err)
	}
}

// callJobs calls an operation with a token.
func callJobs(t testing.TB, base, bearer, body string) (answer string, err error) {
	text := `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService"><s:Body>` + body + `</s:Body></s:Envelope>`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/SocialService", strings.NewReader(text))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "text/xml; charset=utf-8")
	r.Header.Set("Authorization", "Bearer "+bearer)
	resp, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, got)
	}
	return string(got), err
}

func mustCallJobs(t testing.TB, base, bearer, body string) (answer string) {
	t.Helper()
	poll(t, time.Minute, "it is answered", func() (err error) {
		answer, err = callJobs(t, base, bearer, body)
		return err
	})
	return answer
}

// jobField is the text of the first element of a name.
func jobField(t testing.TB, answer, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(answer, "<tns:"+name+">")
	if !ok {
		t.Fatalf("no %s in %.1000s", name, answer)
	}
	text, _, _ := strings.Cut(rest, "<")
	return text
}
