package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"tidings/schema"
)

// A job acts by its submitter's token, and ends when that is revoked.
func TestAJobEndsWhenItsTokenIsRevoked(t *testing.T) {
	t.Parallel()
	s := newService(t, "--limits", "measure")
	admin := s.admin(t)
	envelope := func(token, body string) string {
		_, answer := s.call(t, "POST", "/v1/SocialService", `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body>`+body+`</s:Body></s:Envelope>`,
			"Content-Type: text/xml", token)
		return answer
	}
	partner, root := tokenOf(t, "partner", schema.User), tokenOf(t, "root", schema.Admin)
	job := find(t, envelope(partner, "<SubmitCreatePosts><inputs>"+strings.Repeat("<item><title>T</title></item>", 8000)+"</inputs></SubmitCreatePosts>"), "jobId>([^<]+)<")
	if err := run(t.Context(), []string{"revoke", "--sub", "partner", "--admin", admin}, nil, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	var status string
	s.until(t, "the job is over", func() bool {
		status = envelope(root, "<GetJob><jobId>"+job+"</jobId></GetJob>")
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
