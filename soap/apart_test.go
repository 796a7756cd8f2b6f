package soap_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"tidings/auth"
	"tidings/job"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/wssec"
)

// Envelopes are read in memory that is used again. Whatever callers send side by
// side, in answers, faults, batches, jobs and what is encrypted, each sees what is
// its own alone.
func TestNothingOfOneEnvelopeShowsInTheAnswerToAnother(t *testing.T) {
	t.Parallel()
	o := trusting
	o.Keys = new(wssec.Keys)
	o.Keys.Replace(wssec.Keyring{serviceKey(t)})
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	jobs, err := job.Open(t.Context(), s.Bus, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Jobs = jobs
	hash, err := passwordHash()
	if err != nil {
		t.Fatal(err)
	}
	a, err := auth.NewAccounts([]auth.Account{{User: "spy", Hash: hash, Roles: schema.User, Partner: auth.Partner{Encryption: serviceKey(t).Certificate}}})
	if err != nil {
		t.Fatal(err)
	}
	serveFor(t, s, o, a)
	await(t, s)
	w := &world{Service: s, url: edge(t, s, o), jobs: jobs}
	secrets := regexp.MustCompile(`secret-\d+-\d+-`)
	for caller := range 6 {
		t.Run(fmt.Sprint(caller), func(t *testing.T) {
			t.Parallel()
			for round := range 12 {
				mine := fmt.Sprintf("secret-%d-%d-", caller, round)
				for what, answer := range w.exchanges(t, mine, round) {
					for _, seen := range secrets.FindAllString(answer, -1) {
						if seen != mine {
							t.Errorf("%s: %s sees %s in %s", what, mine, seen, answer)
						}
					}
					if !strings.Contains(answer, mine) {
						t.Errorf("%s: %s does not see its own in %s", what, mine, answer)
					}
				}
			}
		})
	}
}

// exchanges are answers to envelopes that hold a secret.
func (w *world) exchanges(t *testing.T, secret string, round int) map[string]string {
	answers := map[string]string{}
	ask := func(what, header, body string) {
		_, answers[what] = w.call(t, "alice", header, body)
	}
	const wsa = "http://www.w3.org/2005/08/addressing"
	message := `<a:MessageID xmlns:a="` + wsa + `">urn:x:` + secret + `</a:MessageID>`
	long := strings.Repeat(secret+"&amp;<![CDATA[<]]>", 1+round*9)
	ask("record", message, "<CreatePost><input><title>"+secret+"</title><body>"+long+"</body><tags><item>"+secret+"</item></tags></input></CreatePost>")
	ask("unknown element", message, "<CreatePost><input><"+secret+"/></input></CreatePost>")
	ask("unknown namespace", "", `<CreatePost><input><x xmlns="urn:`+secret+`"/></input></CreatePost>`)
	ask("unknown operation", message, "<"+secret+"/>")
	ask("broken", "", "<"+secret+"></"+secret+"x>")
	ask("header", `<`+secret+` s:mustUnderstand="1"/>`, "<ListUsers/>")
	ask("batch", message, batch("CreatePosts", "", "<title>"+secret+"</title><clientRef>"+secret+"</clientRef>", "<title></title><clientRef>"+secret+"</clientRef>", "<"+secret+"/>"))
	if round%4 == 0 {
		_, answer := w.call(t, "alice", "<RequestOptions><idempotencyKey>"+secret+"</idempotencyKey></RequestOptions>", "<SubmitCreatePosts><inputs><item><title>"+secret+"</title><clientRef>"+secret+"</clientRef></item></inputs></SubmitCreatePosts>")
		id := element(t, answer, "jobId")
		w.finish(t, "alice", id)
		ask("job", "", "<GetJobResult><jobId>"+id+"</jobId></GetJobResult>")
	}
	token := `<w:Security><w:UsernameToken><w:Username>spy</w:Username><w:Password>` + password + `</w:Password></w:UsernameToken></w:Security>`
	for what, body := range map[string]string{
		"encrypted":       "<t:CreatePost><t:input><t:title>" + secret + "</t:title></t:input></t:CreatePost>",
		"encrypted fault": "<t:CreatePost><t:input><t:" + secret + "/></t:input></t:CreatePost>",
	} {
		_, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, encrypt(t, envelope11(token, body)))
		answers[what] = decrypt(t, answer)
	}
	return answers
}
