package soap_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tidings/auth"
	"tidings/graphql"
	"tidings/job"
	"tidings/resource/resourcetest"
)

// ask posts the body of an envelope and returns the HTTP status and the answer.
func (w *world) ask(t testing.TB, who, body string) (int, string) {
	t.Helper()
	h := http.Header{"Content-Type": {"text/xml"}}
	if who != "" {
		h.Set("Authorization", "Bearer "+token(t, who))
	}
	resp, answer := w.post(t, h, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body>`+body+`</s:Body></s:Envelope>`)
	return resp.StatusCode, answer
}

// good is ask for what must succeed.
func (w *world) good(t testing.TB, who, body string) string {
	t.Helper()
	status, answer := w.ask(t, who, body)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", body, status, answer)
	}
	return answer
}

var pageEnd = regexp.MustCompile(`</tns:events><tns:cursor>([^<]+)</tns:cursor><tns:hasMore>(\w+)</tns:hasMore>`)

// pulled is what a pull answered: the kinds of its events, its cursor and hasMore.
func pulled(t testing.TB, answer string) (kinds, cursor, more string) {
	t.Helper()
	m := pageEnd.FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("no page: %s", answer)
	}
	for _, k := range regexp.MustCompile(`<tns:item><tns:kind>(\w+)</tns:kind>`).FindAllStringSubmatch(answer, -1) {
		kinds += k[1] + " "
	}
	return strings.TrimSpace(kinds), m[1], m[2]
}

func TestPullTellsWhatChangedSinceItsCursor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	w.good(t, "alice", "<CreatePost><input><title>before</title></input></CreatePost>")
	kinds, start, more := pulled(t, w.good(t, "", "<PullPostChanges/>"))
	if kinds != "" || more != "false" {
		t.Fatalf("without a cursor: %q, hasMore %s", kinds, more)
	}
	id := uuids.FindString(w.good(t, "alice", "<CreatePost><input><title>T</title></input></CreatePost>"))
	w.good(t, "alice", "<UpdatePost><input><id>"+id+"</id><title>U</title></input></UpdatePost>")
	w.good(t, "alice", "<DeletePost><input><id>"+id+"</id></input></DeletePost>")
	all := w.good(t, "", "<PullPostChanges><cursor>"+start+"</cursor></PullPostChanges>")
	kinds, end, more := pulled(t, all)
	if kinds != "CREATED UPDATED DELETED" || more != "false" {
		t.Fatalf("%q, hasMore %s: %s", kinds, more, all)
	}
	if n := strings.Count(all, "<tns:post>"); n != 2 {
		t.Errorf("%d events hold the record, of which one was deleted: %s", n, all)
	}
	if !strings.Contains(all, "<tns:title>U</tns:title>") {
		t.Error(all)
	}
	var one []string
	for at, more := start, "true"; more == "true"; {
		var kind string
		kind, at, more = pulled(t, w.good(t, "", "<PullPostChanges><cursor>"+at+"</cursor><max>1</max></PullPostChanges>"))
		one = append(one, kind)
	}
	if strings.Join(one, " ") != kinds {
		t.Errorf("one by one: %q", one)
	}
	if kinds, again, _ := pulled(t, w.good(t, "", "<PullPostChanges><cursor>"+end+"</cursor></PullPostChanges>")); kinds != "" || again != end {
		t.Errorf("after the last: %q at %s, not %s", kinds, again, end)
	}
	engine, err := graphql.New(w.Model, w.Client, w.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Execute(t.Context(), auth.Principal{}, graphql.Request{Query: fmt.Sprintf(`{ postChanges(after: %q) { endCursor } }`, start)})
	if want := `{"data":{"postChanges":{"endCursor":"` + end + `"}}}`; string(r.Body) != want {
		t.Errorf("GraphQL says %s, not %s", r.Body, want)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	late := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-poll.C:
		case <-late:
			t.Fatalf("it never happened that %s", what)
		}
	}
}

func TestPullWaitsForTheFirstEvent(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	o := trusting
	o.Concurrency = 1 // which a pull that waits does not take
	service := serve(t, s, o)
	await(t, s)
	w := &world{Service: s, url: edge(t, s, o)}
	_, start, _ := pulled(t, w.good(t, "", "<PullPostChanges/>"))
	const pulls = 3
	answers := make(chan string, pulls)
	for range pulls {
		go func() {
			_, answer := w.ask(t, "", "<PullPostChanges><cursor>"+start+"</cursor><waitSeconds>25</waitSeconds></PullPostChanges>")
			answers <- answer
		}()
	}
	eventually(t, "all wait", func() bool { return service.Waiting() == pulls })
	w.good(t, "alice", "<CreatePost><input><title>T</title></input></CreatePost>")
	for range pulls {
		if kinds, _, _ := pulled(t, <-answers); kinds != "CREATED" {
			t.Errorf("got %q", kinds)
		}
	}
	if n := service.Waiting(); n != 0 {
		t.Errorf("%d wait still", n)
	}
	if answer := w.good(t, "", "<PullPostChanges><cursor>"+start+"</cursor><waitSeconds>25</waitSeconds></PullPostChanges>"); !strings.Contains(answer, "CREATED") {
		t.Errorf("what is there is not waited for: %s", answer)
	}
	_, end, _ := pulled(t, w.good(t, "", "<PullPostChanges><waitSeconds>25</waitSeconds></PullPostChanges>"))
	if kinds, _, _ := pulled(t, w.good(t, "", "<PullPostChanges><cursor>"+end+"</cursor><waitSeconds>1</waitSeconds></PullPostChanges>")); kinds != "" {
		t.Errorf("after a second: %q", kinds)
	}
	service.Crowd()
	start2 := time.Now()
	w.good(t, "", "<PullPostChanges><cursor>"+end+"</cursor><waitSeconds>25</waitSeconds></PullPostChanges>")
	if took := time.Since(start2); took > 20*time.Second {
		t.Errorf("one too many waits for %v", took)
	}
}

func TestAPullThatCannotBeAnsweredSaysWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	_, here, _ := pulled(t, w.good(t, "", "<PullPostChanges/>"))
	_, seq, _ := strings.Cut(here, "-")
	for body, want := range map[string]string{
		"<cursor>abc-" + seq + "</cursor>":                           "CURSOR_EXPIRED</tns:code><tns:message>the changes after this cursor are no longer all kept: pull without a cursor",
		"<cursor>x</cursor>":                                         "<tns:code>BAD_USER_INPUT</tns:code>",
		"<cursor>" + here + "</cursor><max>101</max>":                "<tns:message>max must be from 1 to 100</tns:message><tns:path>max</tns:path>",
		"<waitSeconds>26</waitSeconds>":                              "<tns:message>waitSeconds must be from 0 to 25</tns:message><tns:path>waitSeconds</tns:path>",
		"<cursor>" + here + "</cursor><waitSeconds>-1</waitSeconds>": "waitSeconds must be from 0 to 25",
	} {
		status, answer := w.ask(t, "", "<PullPostChanges>"+body+"</PullPostChanges>")
		if status != 500 || !strings.Contains(answer, want) || !strings.Contains(answer, "<faultcode>soap:Client</faultcode>") {
			t.Errorf("%s: %d %s\nwant %s", body, status, answer, want)
		}
	}
}

func TestPullTellsOnlyWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(diary)}})
	service := serve(t, s, trusting)
	await(t, s)
	w := &world{Service: s, url: edge(t, s, trusting)}
	if status, answer := w.ask(t, "", "<PullEntryChanges/>"); status != 500 || !strings.Contains(answer, "FORBIDDEN") {
		t.Errorf("nobody: %d %s", status, answer)
	}
	_, start, _ := pulled(t, w.good(t, "alice", "<PullEntryChanges/>"))
	answer := make(chan string)
	go func() {
		_, got := w.ask(t, "alice", "<PullEntryChanges><cursor>"+start+"</cursor><waitSeconds>25</waitSeconds></PullEntryChanges>")
		answer <- got
	}()
	eventually(t, "she waits", func() bool { return service.Waiting() == 1 })
	w.good(t, "bob", "<CreateEntry><input><text>his</text></input></CreateEntry>")
	w.good(t, "alice", "<CreateEntry><input><text>hers</text></input></CreateEntry>")
	if got := <-answer; !strings.Contains(got, "hers") || strings.Contains(got, "his<") {
		t.Error(got)
	}
}

const diary = `
type Entry @resource @auth(requires: [OWNER], on: [READ, UPDATE, DELETE]) @auth(requires: [USER], on: [CREATE]) {
  id: ID!
  ownerId: ID! @owner
  text: String!
}
`

func TestAnAnswerHoldsAsMuchAsTheBusCarries(t *testing.T) {
	t.Parallel()
	w := background(t, job.Options{})
	_, start, _ := pulled(t, w.good(t, "", "<PullPostChanges/>"))
	body := "<body>" + strings.Repeat("x", 19_000) + "</body>"
	id := element(t, w.good(t, "alice", "<SubmitCreatePosts><inputs>"+strings.Repeat("<item><title>T</title>"+body+"</item>", 45)+"</inputs></SubmitCreatePosts>"), "jobId")
	w.finish(t, "alice", id)
	for range 2 { // a few large ones of each job, since their inputs are parts of their own
		w.finish(t, "alice", element(t, w.good(t, "alice", "<SubmitCreatePosts><inputs>"+strings.Repeat("<item><title>T</title>"+body+"</item>", 20)+"</inputs></SubmitCreatePosts>"), "jobId"))
	}
	pulls, events := 0, 0
	for cursor, more := start, "true"; more == "true"; pulls++ {
		var kinds string
		kinds, cursor, more = pulled(t, w.good(t, "", "<PullPostChanges><cursor>"+cursor+"</cursor><max>100</max></PullPostChanges>"))
		events += len(strings.Fields(kinds))
	}
	if events != 85 || pulls < 2 {
		t.Errorf("%d events in %d pulls", events, pulls)
	}
}

func TestAPullThatWaitsEndsWithItsService(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	service := serve(t, s, trusting)
	await(t, s)
	w := &world{Service: s, url: edge(t, s, trusting)}
	_, start, _ := pulled(t, w.good(t, "", "<PullPostChanges/>"))
	answer := make(chan string)
	go func() {
		_, got := w.ask(t, "", "<PullPostChanges><cursor>"+start+"</cursor><waitSeconds>25</waitSeconds></PullPostChanges>")
		answer <- got
	}()
	eventually(t, "it waits", func() bool { return service.Waiting() == 1 })
	began := time.Now()
	service.Stop()
	if kinds, cursor, _ := pulled(t, <-answer); kinds != "" || cursor != start || time.Since(began) > 20*time.Second {
		t.Errorf("%q at %s after %v", kinds, cursor, time.Since(began))
	}
}
