package soap_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/job"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/soap"
)

// background is a world that keeps jobs.
func background(t testing.TB, o job.Options) *world {
	t.Helper()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	jobs, err := job.Open(t.Context(), s.Bus, o)
	if err != nil {
		t.Fatal(err)
	}
	options := trusting
	options.Jobs = jobs
	serve(t, s, options)
	await(t, s)
	return &world{Service: s, url: edge(t, s, options), jobs: jobs}
}

// items are inputs of n posts; the one at bad has no title.
func items(n, bad int) string {
	var b strings.Builder
	for i := range n {
		title := fmt.Sprintf("<title>Post %d</title>", i)
		if i == bad {
			title = "<title></title>"
		}
		fmt.Fprintf(&b, "<item>%s<clientRef>row %d</clientRef></item>", title, i)
	}
	return "<inputs>" + b.String() + "</inputs>"
}

// element is the text of the first element of a name.
func element(t testing.TB, answer, name string) string {
	t.Helper()
	m := regexp.MustCompile("<tns:" + name + ">([^<]*)</tns:" + name + ">").FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("no %s in %s", name, answer)
	}
	return m[1]
}

// finish waits for a job to be over, and returns its status.
func (w *world) finish(t testing.TB, who, id string) string {
	t.Helper()
	var answer string
	eventually(t, "the job is over", func() bool {
		answer = w.good(t, who, "<GetJob><jobId>"+id+"</jobId></GetJob>")
		return strings.Contains(answer, `<tns:retryAfterSeconds xsi:nil="true"/>`)
	})
	return answer
}

func TestWhatIsSubmittedIsCarriedOutInTheBackground(t *testing.T) {
	t.Parallel()
	w := background(t, job.Options{})
	const n = 250
	submit := func(n int) (int, string) {
		return w.call(t, "alice", "<RequestOptions><idempotencyKey>night 1</idempotencyKey></RequestOptions>", "<SubmitCreatePosts>"+items(n, 7)+"</SubmitCreatePosts>")
	}
	_, first := submit(n)
	id := element(t, first, "jobId")
	if _, again := submit(n); element(t, again, "jobId") != id {
		t.Errorf("submitted again it is %s, not %s", again, id)
	}
	if status, other := submit(n + 1); status != 500 || !strings.Contains(other, "CONFLICT") {
		t.Errorf("with another item: %s", other)
	}
	status := w.finish(t, "alice", id)
	for _, want := range []string{"<tns:operation>SubmitCreatePosts</tns:operation>", "<tns:state>DONE</tns:state>", "<tns:done>250</tns:done>", "<tns:failed>1</tns:failed>", "<tns:total>250</tns:total>", "<tns:pages>3</tns:pages>", "<tns:pagesReady>3</tns:pagesReady>"} {
		if !strings.Contains(status, want) {
			t.Errorf("want %s in %s", want, status)
		}
	}
	at := 0
	for page := 1; page <= 3; page++ {
		answer := w.good(t, "alice", fmt.Sprintf("<GetJobResult><jobId>%s</jobId><page>%d</page></GetJobResult>", id, page))
		for _, item := range regexp.MustCompile(`<tns:item><tns:index>.*?(</tns:post>|</tns:error>)</tns:item>`).FindAllString(answer, -1) {
			want := fmt.Sprintf("<tns:index>%d</tns:index><tns:success>true</tns:success><tns:clientRef>row %d</tns:clientRef><tns:post><tns:id>", at, at)
			if at == 7 {
				want = "<tns:index>7</tns:index><tns:success>false</tns:success><tns:clientRef>row 7</tns:clientRef><tns:error><tns:code>BAD_USER_INPUT</tns:code>"
			}
			if !strings.Contains(item, want) || at != 7 && !strings.Contains(item, fmt.Sprintf("<tns:title>Post %d</tns:title>", at)) {
				t.Fatalf("item %d: %s", at, item)
			}
			at++
		}
	}
	if at != n {
		t.Errorf("%d results", at)
	}
	if list := w.good(t, "", "<ListPosts/>"); element(t, list, "totalCount") != fmt.Sprint(n-1) {
		t.Errorf("%s posts", element(t, list, "totalCount"))
	}
	if status, answer := w.ask(t, "alice", "<GetJobResult><jobId>"+id+"</jobId><page>4</page></GetJobResult>"); status != 500 || !strings.Contains(answer, "the job has 3 pages") {
		t.Errorf("a fourth page: %s", answer)
	}
}

func TestUpdatesAndDeletesAreSubmittedToo(t *testing.T) {
	t.Parallel()
	w := background(t, job.Options{})
	mine := element(t, w.good(t, "alice", "<CreatePost><input><title>mine</title><minutes>3</minutes></input></CreatePost>"), "id")
	his := element(t, w.good(t, "bob", "<CreatePost><input><title>his</title></input></CreatePost>"), "id")
	job := element(t, w.good(t, "alice", fmt.Sprintf(`<SubmitUpdatePosts><inputs>
		<item><id>%s</id><title>new</title><fieldsToNull><item>minutes</item></fieldsToNull></item><item><id>%s</id><title>hers</title></item>
	</inputs></SubmitUpdatePosts>`, mine, his)), "jobId")
	w.finish(t, "alice", job)
	answer := w.good(t, "alice", "<GetJobResult><jobId>"+job+"</jobId></GetJobResult>")
	for _, want := range []string{"<tns:title>new</tns:title>", `<tns:minutes xsi:nil="true"/>`, "<tns:code>FORBIDDEN</tns:code>"} {
		if !strings.Contains(answer, want) {
			t.Errorf("want %s in %s", want, answer)
		}
	}
	job = element(t, w.good(t, "alice", "<SubmitDeletePosts><inputs><item><id>"+mine+"</id></item><item><id>"+mine+"</id></item></inputs></SubmitDeletePosts>"), "jobId")
	w.finish(t, "alice", job)
	answer = w.good(t, "alice", "<GetJobResult><jobId>"+job+"</jobId></GetJobResult>")
	if strings.Count(answer, "<tns:title>new</tns:title>") != 1 || !strings.Contains(answer, "<tns:code>NOT_FOUND</tns:code>") {
		t.Error(answer)
	}
}

func TestAJobThatCannotBeTakenSaysWhy(t *testing.T) {
	t.Parallel()
	w := background(t, job.Options{Items: 3})
	id := element(t, w.good(t, "alice", "<SubmitCreatePosts>"+items(1, -1)+"</SubmitCreatePosts>"), "jobId")
	for _, c := range []struct{ who, body, want string }{
		{"", "<SubmitCreatePosts>" + items(1, -1) + "</SubmitCreatePosts>", "a job belongs to somebody: sign in to submit one"},
		{"bob", "<SubmitCreatePosts><inputs/></SubmitCreatePosts>", "the job has no items"},
		{"bob", "<SubmitCreatePosts>" + items(4, -1) + "</SubmitCreatePosts>", "at most 3 are possible"},
		{"bob", "<SubmitCreatePosts><inputs><item><colour>red</colour></item></inputs></SubmitCreatePosts>", "<tns:path>inputs[0].colour</tns:path>"},
		{"bob", "<GetJob><jobId>" + id + "</jobId></GetJob>", "<tns:code>NOT_FOUND</tns:code>"},
		{"bob", "<CancelJob><jobId>" + id + "</jobId></CancelJob>", "<tns:code>NOT_FOUND</tns:code>"},
		{"bob", "<GetJobResult><jobId>" + id + "</jobId></GetJobResult>", "<tns:code>NOT_FOUND</tns:code>"},
		{"alice", "<GetJobResult><jobId>" + id + "</jobId><page>0</page></GetJobResult>", "<tns:path>page</tns:path>"},
	} {
		if status, answer := w.ask(t, c.who, c.body); status != 500 || !strings.Contains(answer, c.want) || !strings.Contains(answer, "<faultcode>soap:Client") && c.who != "" {
			t.Errorf("%s: %d %s", c.body, status, answer)
		}
	}
	w.good(t, "root", "<GetJob><jobId>"+id+"</jobId></GetJob>")
	without := newWorld(t, trusting)
	if _, answer := without.ask(t, "alice", "<GetJob><jobId>"+id+"</jobId></GetJob>"); !strings.Contains(answer, "UNAVAILABLE") {
		t.Errorf("where no jobs are kept: %s", answer)
	}
}

// An adopter's own Job has its names; jobs have others then.
func TestATypeCalledJobKeepsItsNames(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte("type Job @resource { id: ID! state: String! }")}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := soap.WSDL(m, trusting, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<wsdl:operation name="GetJob">`, `<wsdl:operation name="GetSubmittedJob">`, `<wsdl:operation name="GetSubmittedJobResult">`, `<wsdl:operation name="SubmitCreateJobs">`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("want %s", want)
		}
	}
}

// A client that sends again by itself what was not answered gets the same job.
func TestASubmissionWhoseAnswerWasLostIsOneJob(t *testing.T) {
	t.Parallel()
	w := background(t, job.Options{})
	f := newFront(t, w.Service)
	alice := token(t, "alice")
	body := "<SubmitCreatePosts>" + items(3, -1) + "</SubmitCreatePosts>"
	f.drop(t, f.send(t, alice, "", body))
	_, answer := take(t, f.send(t, alice, "", body))
	w.finish(t, "alice", element(t, answer, "jobId"))
	if n := made(t, w.Service, "Post"); n != 3 {
		t.Errorf("there are %d posts", n)
	}
	_, other := take(t, f.send(t, alice, "", body))
	if first, second := element(t, answer, "jobId"), element(t, other, "jobId"); first == second {
		t.Error("who had the answer means another job")
	}
}
