package soap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tidings/auth"
	"tidings/bus"
	"tidings/fault"
	"tidings/graphql"
	"tidings/job"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
	"tidings/soap"
)

var secret = []byte("a secret of the tests, 32 bytes long")

// password is the one of every account, hashed once.
const password = "correct horse"

var passwordHash = sync.OnceValues(func() ([]byte, error) { return auth.HashPassword(password) })

var people = map[string]schema.Roles{"alice": schema.User, "bob": schema.User, "root": schema.Admin}

// world is a running service with its HTTP edge.
type world struct {
	jobs *job.Jobs
	*resourcetest.Service
	url string
	// ids are the generated ids, in the order in which they were seen.
	ids []string
}

func newWorld(t testing.TB, o soap.Options) *world {
	t.Helper()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	serve(t, s, o)
	await(t, s)
	return &world{Service: s, url: edge(t, s, o)}
}

// serve starts a SOAP service that reads by s.
func serve(t testing.TB, s *resourcetest.Service, o soap.Options) *soap.Service {
	t.Helper()
	return serveFor(t, s, o, accounts(t))
}

// serveFor starts a SOAP service with accounts of the test's.
func serveFor(t testing.TB, s *resourcetest.Service, o soap.Options, a *auth.Accounts) *soap.Service {
	t.Helper()
	kept, err := s.Bus.Bucket(t.Context(), bus.BucketOptions{Name: "answers", MaxAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return serveWith(t, s, o, a, graphql.Options{Answers: kept})
}

// serveWith is serveFor by an engine with options of its own.
func serveWith(t testing.TB, s *resourcetest.Service, o soap.Options, a *auth.Accounts, g graphql.Options) *soap.Service {
	t.Helper()
	service := newService(t, s, o, a, g)
	runService(t, service)
	return service
}

// newService makes a service that does not run yet.
func newService(t testing.TB, s *resourcetest.Service, o soap.Options, a *auth.Accounts, g graphql.Options) *soap.Service {
	t.Helper()
	engine, err := graphql.New(s.Model, s.Client, s.Feed, g)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewVerifier(auth.Options{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	o.Ready = s.Feed.Ready()
	if o.WaitFor == nil {
		o.WaitFor = s.Client.WaitFor
	}
	service, err := soap.NewService(s.Bus, s.Model, engine, a, verifier, o)
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// runService runs a service until stop is called, which waits for its end, or the
// test ends.
func runService(t testing.TB, service *soap.Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := service.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := service.RunJobs(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

func accounts(t testing.TB) *auth.Accounts {
	t.Helper()
	hash, err := passwordHash()
	if err != nil {
		t.Fatal(err)
	}
	var list []auth.Account
	for name, roles := range people {
		list = append(list, auth.Account{User: name, Hash: hash, Roles: roles})
	}
	a, err := auth.NewAccounts(list)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// edge serves a gateway by HTTP and returns its base URL.
func edge(t testing.TB, s *resourcetest.Service, o soap.Options) string {
	t.Helper()
	gateway, err := soap.NewGateway(s.Bus, s.Model, o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, path := range gateway.Paths() {
		mux.Handle(path, gateway)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// await returns when a service answers.
func await(t testing.TB, s *resourcetest.Service) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, err := s.Bus.Call(ctx, s.Bus.Subjects().SOAP("v1", "SocialService"), nil, []byte("<"))
		if !fault.Is(err, fault.Unavailable) {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("no service answers")
		}
	}
}

var trusting = soap.Options{Address: "https://api.example.com", TrustTransport: true}

// TestExchanges plays the conversations of testdata/*.txtar against a running
// service. A section "x.request" holds HTTP headers, an empty line and an
// envelope, "x.response" the answer: its status, its headers and the envelope,
// with a line for each tag. ID-1 is the first generated id that was seen, TIME any
// time; {{token:alice}} is a token of hers. -update writes the answers anew.
func TestExchanges(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			play(t, newWorld(t, trusting), file)
		})
	}
}

func play(t *testing.T, w *world, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := &txtar.Archive{Comment: a.Comment}
	want := map[string]string{}
	for _, f := range a.Files {
		want[f.Name] = string(f.Data)
	}
	for _, f := range a.Files {
		name, ok := strings.CutSuffix(f.Name, ".request")
		if !ok {
			continue
		}
		got := w.exchange(t, string(f.Data))
		out.Files = append(out.Files, f, txtar.File{Name: name + ".response", Data: []byte(got)})
		if !*update && got != want[name+".response"] {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want[name+".response"])
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times  = regexp.MustCompile(`>2\d\d\d-\d\d-\d\dT[\d:.]+Z<`)
	reqIDs = regexp.MustCompile(`requestId>[A-Z0-9]+<`)
	cursor = regexp.MustCompile(`Cursor>[A-Za-z0-9_-]+<`)
	tokens = regexp.MustCompile(`\{\{token:(\w+)\}\}`)
	empty  = regexp.MustCompile(`<([\w:]+)>\n</`)
	idRefs = regexp.MustCompile(`ID-(\d+)`)
)

func (w *world) exchange(t *testing.T, request string) string {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	body = idRefs.ReplaceAllStringFunc(body, func(ref string) string {
		var n int
		if _, err := fmt.Sscanf(ref, "ID-%d", &n); err != nil || n < 1 || n > len(w.ids) {
			t.Fatalf("%s was not seen yet", ref)
		}
		return w.ids[n-1]
	})
	header := http.Header{"Content-Type": {"text/xml; charset=utf-8"}}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		header.Set(key, tokens.ReplaceAllStringFunc(value, func(m string) string { return token(t, tokens.FindStringSubmatch(m)[1]) }))
	}
	resp, answer := w.post(t, header, body)
	answer = uuids.ReplaceAllStringFunc(answer, func(id string) string {
		for i, known := range w.ids {
			if known == id {
				return fmt.Sprintf("ID-%d", i+1)
			}
		}
		w.ids = append(w.ids, id)
		return fmt.Sprintf("ID-%d", len(w.ids))
	})
	answer = times.ReplaceAllString(answer, ">TIME<")
	answer = reqIDs.ReplaceAllString(answer, "requestId>REQUEST<")
	answer = cursor.ReplaceAllString(answer, "Cursor>CURSOR<")
	answer = empty.ReplaceAllString(strings.ReplaceAll(answer, "><", ">\n<"), "<$1></")
	line := resp.Status + "\nContent-Type: " + resp.Header.Get("Content-Type")
	if after := resp.Header.Get("Retry-After"); after != "" {
		line += "\nRetry-After: " + after
	}
	return line + "\n\n" + strings.TrimSuffix(answer, "\n") + "\n"
}

func (w *world) post(t testing.TB, header http.Header, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/v1/SocialService", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(answer)
}

func token(t testing.TB, who string) string {
	t.Helper()
	token, err := auth.Sign(secret, auth.Principal{Subject: who, Roles: people[who]}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestGatewayBelowSOAP(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	url := edge(t, s, trusting) + "/v1/SocialService"
	cases := map[string]struct {
		method, query, contentType, encoding string
		body                                 []byte
		status                               int
	}{
		"GET without ?wsdl":    {method: "GET", status: 405},
		"PUT":                  {method: "PUT", status: 405},
		"?wsdl":                {method: "GET", query: "?wsdl", status: 200},
		"?WSDL":                {method: "GET", query: "?WSDL", status: 200},
		"?singleWsdl":          {method: "GET", query: "?singleWsdl", status: 200},
		"HEAD":                 {method: "HEAD", query: "?wsdl", status: 200},
		"JSON":                 {method: "POST", contentType: "application/json", status: 415},
		"no type":              {method: "POST", status: 415},
		"attachments":          {method: "POST", contentType: `multipart/related; type="text/xml"`, status: 415},
		"another coding":       {method: "POST", contentType: "text/xml", encoding: "br", status: 415},
		"two codings":          {method: "POST", contentType: "text/xml", encoding: "gzip, gzip", status: 415},
		"too large":            {method: "POST", contentType: "text/xml", body: bytes.Repeat([]byte(" "), 1<<20+1), status: 413},
		"nobody there, SOAP":   {method: "POST", contentType: "text/xml", body: createPost(t), status: 500},
		"nobody there, nearly": {method: "POST", contentType: "application/soap+xml", body: []byte("x"), status: 500},
	}
	for what, c := range cases {
		r, err := http.NewRequestWithContext(t.Context(), c.method, url+c.query, bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.contentType)
		if c.encoding != "" {
			r.Header.Set("Content-Encoding", c.encoding)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s: %s", what, resp.Status, body)
		}
		switch c.status {
		case 405:
			if got := resp.Header.Get("Allow"); got != "POST" {
				t.Errorf("%s: Allow %q", what, got)
			}
		case 415:
			if got := resp.Header.Get("Accept-Encoding"); c.encoding != "" && got != "gzip, deflate" {
				t.Errorf("%s: Accept-Encoding %q", what, got)
			}
			if got := resp.Header.Get("Accept-Post"); c.encoding == "" && got != "text/xml, application/soap+xml" {
				t.Errorf("%s: Accept-Post %q", what, got)
			}
		case 500:
			if !bytes.Contains(body, []byte("<faultcode>soap:Server</faultcode>")) && !bytes.Contains(body, []byte("<soap:Value>soap:Receiver</soap:Value>")) || !bytes.Contains(body, []byte("UNAVAILABLE")) || resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s: %s", what, body)
			}
		}
	}
}

func TestWSDLIsCachedByItsTag(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, os.DirFS("../examples/social"))
	url := edge(t, s, trusting) + "/v1/SocialService?wsdl"
	first := get(t, url, "")
	if second := get(t, url, first.Header.Get("ETag")); second.StatusCode != http.StatusNotModified {
		t.Errorf("%s with the tag %q", second.Status, first.Header.Get("ETag"))
	}
	if twelve := get(t, url+"&soap=1.2", first.Header.Get("ETag")); twelve.StatusCode != http.StatusOK {
		t.Errorf("%s for the other document", twelve.Status)
	}
}

func get(t *testing.T, url, tag string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp
}

// Two workers answer in turn, each with a view of its own.
func TestReadSeesTheWriteBeforeItOnAnyWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	serve(t, resourcetest.Reader(t, w.Bus, os.DirFS("../examples/social"), resource.FeedOptions{}), trusting)
	call := func(body string) string {
		t.Helper()
		resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}, "Authorization": {"Bearer " + token(t, "alice")}},
			`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService"><s:Body>`+body+`</s:Body></s:Envelope>`)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", body, answer)
		}
		return answer
	}
	for range 30 {
		id := uuids.FindString(call("<CreatePost><input><title>T</title></input></CreatePost>"))
		call("<GetPost><id>" + id + "</id></GetPost>")
		call("<DeletePost><input><id>" + id + "</id></input></DeletePost>")
		if answer := call("<ListPosts/>"); strings.Contains(answer, id) {
			t.Fatalf("the list still has the deleted post: %s", answer)
		}
	}
}

func TestPasswordsOverPlainHTTPAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, soap.Options{Address: "https://api.example.com"})
	resp, answer := w.post(t, http.Header{"Content-Type": {"text/xml"}}, string(createPost(t)))
	if resp.StatusCode != 500 || !strings.Contains(answer, "wsse:InvalidSecurity") || !strings.Contains(answer, "https only") {
		t.Errorf("%s: %s", resp.Status, answer)
	}
	if strings.Contains(answer, password) {
		t.Error("the answer shows the password")
	}
}
