package soap_test

import (
	"strings"
	"testing"

	"tidings/auth"
	"tidings/job"
	"tidings/soap"
)

// What another version of the contract has submitted has records that this one
// cannot show: it says so.
func TestRecordsOfAnotherContractAreNamed(t *testing.T) {
	t.Parallel()
	w := background(t, job.Options{})
	document, err := soap.Document(w.Model, "CreatePost")
	if err != nil {
		t.Fatal(err)
	}
	inputs := []job.Input{{Data: []byte(`{"input":{"title":"a"}}`)}, {Data: []byte(`{"input":{}}`)}, {Data: []byte(`{"input":{"title":"c"}}`)}}
	who := auth.Principal{Subject: "alice", Roles: people["alice"]}
	id, err := w.jobs.Submit(t.Context(), who, job.Order{Kind: "SubmitCreateEssays", Document: document, Items: inputs})
	if err != nil {
		t.Fatal(err)
	}
	w.finish(t, "alice", id)
	answer := w.good(t, "alice", "<GetJobResult><jobId>"+id+"</jobId></GetJobResult>")
	if strings.Count(answer, "<tns:code>OTHER_CONTRACT</tns:code>") != 2 ||
		!strings.Contains(answer, "<tns:path>items[0]</tns:path>") || !strings.Contains(answer, "<tns:path>items[2]</tns:path>") {
		t.Errorf("%s", answer)
	}
}
