package edge

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/internal/proc/proctest"
	"tidings/schema"
)

// soap calls an operation of SOAP as ada, and returns the answer.
func (c *counted) soap(t *testing.T, body string) string {
	t.Helper()
	token, err := auth.Sign([]byte(secretOfTests), auth.Principal{Subject: "ada", Roles: schema.User | schema.Admin}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", c.url+"/v1/SocialService", strings.NewReader(
		`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body>`+body+`</s:Body></s:Envelope>`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "text/xml")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSOAPIsCountedByOperationAndFault(t *testing.T) {
	t.Parallel()
	c := count(t, "TIDINGS_TRUST_TRANSPORT=1", "TIDINGS_RATE_USER=0", "TIDINGS_RETRY=1s", "TIDINGS_SOAP_MAX_ENVELOPE=4096")
	proctest.Scrape(t, c.worker).Expect(t, proctest.Numbers{`tidings_soap_requests_total{fault="OK",operation="GetUser"}`: 0})
	c.createUser(t, 1)
	for range 3 {
		if answer := c.soap(t, `<GetUser><id>user1</id></GetUser>`); !strings.Contains(answer, "n1") {
			t.Error(answer)
		}
	}
	for n := range 20 { // names that callers make up are no labels
		c.soap(t, fmt.Sprintf(`<Get%d><id>user1</id></Get%d>`, n, n))
	}
	until(t, c.worker, proctest.Numbers{
		`tidings_soap_requests_total{fault="OK",operation="GetUser"}`: 3, `tidings_soap_seconds_count{operation="GetUser"}`: 3,
		`tidings_soap_requests_total{fault="BAD_REQUEST",operation="unknown"}`: 20,
		`tidings_operations_total{code="OK",type="query"}`:                     3,
	})
	c.soap(t, strings.Repeat(" ", 5000))
	until(t, c.api, proctest.Numbers{`tidings_limits_refused_total{limit="envelope"}`: 1})
	c.stopWorker()
	c.soap(t, `<GetUser><id>user1</id></GetUser>`)
	until(t, c.api, proctest.Numbers{`tidings_soap_requests_total{fault="UNAVAILABLE",operation="unknown"}`: 1, `tidings_commands_waiting`: 0})
}

func TestJobsAreCounted(t *testing.T) {
	t.Parallel()
	c := count(t, "TIDINGS_TRUST_TRANSPORT=1", "TIDINGS_RATE_USER=0")
	c.createUser(t, 1)
	proctest.Scrape(t, c.worker).Expect(t, proctest.Numbers{`tidings_jobs_ended_total{outcome="done"}`: 0, `tidings_jobs_queued`: 0, `tidings_jobs_running`: 0})
	for range 3 {
		find(t, c.soap(t, "<SubmitCreatePosts><inputs>"+strings.Repeat("<item><title>T</title></item>", 10)+"</inputs></SubmitCreatePosts>"), "jobId>([^<]+)<")
	}
	until(t, c.worker, proctest.Numbers{
		`tidings_jobs_ended_total{outcome="done"}`: 3, `tidings_jobs_ended_total{outcome="failed"}`: 0, `tidings_jobs_queued`: 0, `tidings_jobs_running`: 0,
		`tidings_commands_total{code="OK",type="Post",verb="create"}`: 30,
	})
}

func TestWhatAWorkerDoesIsCounted(t *testing.T) {
	t.Parallel()
	c := count(t)
	for n := range 4 {
		c.createUser(t, n)
	}
	until(t, c.worker, proctest.Numbers{
		`tidings_command_work_seconds_count{verb="create"}`: 4, `tidings_commands_running`: 0, `tidings_commands_redelivered_total`: 0,
		`tidings_log_append_seconds_count`: 4, `tidings_log_has_leader`: 1, `tidings_log_replicas`: 1, `tidings_log_replicas_current`: 1,
		`tidings_bus_gaps_total`: 0,
	})
}
