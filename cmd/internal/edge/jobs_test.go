package edge

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"tidings/schema"
)

// manyPosts is a job that takes its time.
func manyPosts() string {
	return "<SubmitCreatePosts><inputs>" + strings.Repeat("<item><title>T</title></item>", 8000) + "</inputs></SubmitCreatePosts>"
}

// carry returns the answer to a call of SOAP with a token.
func (s *service) carry(t *testing.T, token, body string) string {
	t.Helper()
	_, answer := s.call(t, "POST", "/v1/SocialService", `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body>`+body+`</s:Body></s:Envelope>`,
		"Content-Type: text/xml", token)
	return answer
}

// One job is taken, and the next when it is over.
func limitOfJobs(t *testing.T) {
	s := newService(t, "--jobs-unfinished", "1", "--limits", "measure")
	partner, other := tokenOf(t, "partner", schema.User), tokenOf(t, "other", schema.User)
	id := find(t, s.carry(t, partner, manyPosts()), "jobId>([^<]+)<")
	if answer := s.carry(t, partner, manyPosts()); !strings.Contains(answer, "RATE_LIMITED") {
		t.Errorf("beyond it: %.300s", answer)
	}
	find(t, s.carry(t, other, "<SubmitCreatePosts><inputs><item><title>T</title></item></inputs></SubmitCreatePosts>"), "jobId>([^<]+)<")
	s.carry(t, partner, "<CancelJob><jobId>"+id+"</jobId></CancelJob>")
	s.until(t, "it takes another one", func() bool {
		return !strings.Contains(s.carry(t, partner, "<SubmitCreatePosts><inputs><item><title>T</title></item></inputs></SubmitCreatePosts>"), "RATE_LIMITED")
	})
}

// An envelope may be as large as it may be, and no larger.
func limitOfEnvelopes(t *testing.T) {
	s := newService(t, "--soap-max-envelope", "4096")
	for size, refused := range map[int]bool{4096: false, 4097: true} {
		body := envelope + strings.Repeat(" ", size-len(envelope))
		if resp, answer := s.call(t, "POST", "/v1/SocialService", body, "Content-Type: text/xml"); (resp.StatusCode == http.StatusRequestEntityTooLarge) != refused {
			t.Errorf("%d bytes: %d %.300s", size, resp.StatusCode, answer)
		}
	}
}

// A job acts by its submitter's token, and ends when that is revoked.
func TestAJobEndsWhenItsTokenIsRevoked(t *testing.T) {
	t.Parallel()
	s := newService(t, "--limits", "measure")
	admin := s.admin(t)
	partner, root := tokenOf(t, "partner", schema.User), tokenOf(t, "root", schema.Admin)
	job := find(t, s.carry(t, partner, manyPosts()), "jobId>([^<]+)<")
	if err := run(t.Context(), []string{"revoke", "--sub", "partner", "--admin", admin}, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	var status string
	s.until(t, "the job is over", func() bool {
		status = s.carry(t, root, "<GetJob><jobId>"+job+"</jobId></GetJob>")
		return strings.Contains(status, `retryAfterSeconds xsi:nil="true"`)
	})
	for _, want := range []string{"<tns:state>FAILED</tns:state>", "<tns:reason>the token was revoked</tns:reason>"} {
		if !strings.Contains(status, want) {
			t.Errorf("want %s in %s", want, status)
		}
	}
	done := find(t, status, "done>([^<]+)<")
	_, posts := s.post(t, request(`{ posts { totalCount } }`))
	if want := fmt.Sprintf(`{"data":{"posts":{"totalCount":%s}}}`, done); !strings.HasPrefix(posts, want) {
		t.Errorf("%s, want %s", posts, want)
	}
}
