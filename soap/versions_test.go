package soap_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/fault"
	"tidings/graphql"
	"tidings/job"
	"tidings/resource/resourcetest"
	"tidings/soap"
)

const grownSDL = `
type Note @resource @auth(requires: [ANYONE]) {
  id: ID!
  before: Int
  text: String!
  kind: Kind! @default(value: A)
  more: String @default(value: "more")
  parts: [Part!]! @default(value: [{name: "p", size: 1}])
}
type Part { size: Int name: String! }
type Other @resource @auth(requires: [ANYONE]) { id: ID! x: Int }
enum Kind { A }
`

const youngSDL = `
type Note @resource @auth(requires: [ANYONE]) { id: ID! text: String! kind: Kind! @default(value: A) parts: [Part!]! @default(value: []) }
type Part { name: String! }
enum Kind { A }
`

// versions is a service whose v1 was locked before its schema grew.
func versions(t *testing.T, o soap.Options) (*world, soap.Options) {
	t.Helper()
	o.TrustTransport, o.Address = true, "http://localhost"
	o.Locks = append(o.Locks, lockOf(t, modelOf(t, youngSDL), "v1"))
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(grownSDL)}})
	serve(t, s, o)
	await(t, s)
	return &world{Service: s, url: edge(t, s, o)}, o
}

// dial posts the body's element of a version to a path, as alice.
func (w *world) dial(t *testing.T, path, version, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(
		`<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:`+version+`:SocialService"><s:Body>`+body+`</s:Body></s:Envelope>`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "text/xml")
	r.Header.Set("Authorization", "Bearer "+token(t, "alice"))
	return w.read(t, r)
}

func (w *world) get(t *testing.T, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.read(t, r)
}

func (w *world) read(t *testing.T, r *http.Request) string {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestAnOldVersionKeepsItsShapeBesideTheNewest(t *testing.T) {
	t.Parallel()
	w, _ := versions(t, soap.Options{Version: "v2"})
	created := w.dial(t, "/v1/SocialService", "v1", `<CreateNote><input><text>old</text><parts><item><name>a</name></item></parts></input></CreateNote>`)
	id, _, _ := strings.Cut(created[strings.Index(created, "<tns:id>")+8:], "</tns:id>")
	const before = `<tns:text>old</tns:text><tns:kind>A</tns:kind><tns:parts><tns:item><tns:name>a</tns:name></tns:item></tns:parts>`
	if want := `<tns:id>` + id + `</tns:id>` + before + `</tns:result>`; !strings.Contains(created, want) {
		t.Errorf("v1 answers %s, want %s", created, want)
	}
	const after = `<tns:before xsi:nil="true"/><tns:text>old</tns:text><tns:kind>A</tns:kind><tns:more>more</tns:more>` +
		`<tns:parts><tns:item><tns:size xsi:nil="true"/><tns:name>a</tns:name></tns:item></tns:parts>`
	for path, version := range map[string]string{"/v2/SocialService": "v2", "/SocialService": "v1"} { // v2 is not locked yet
		after := map[string]string{"v1": before, "v2": after}[version]
		if got := w.dial(t, path, version, `<GetNote><id>`+id+`</id></GetNote>`); !strings.Contains(got, after) {
			t.Errorf("%s: %s answers %s, want %s", path, version, got, after)
		}
	}
	for _, c := range []struct{ path, version, body, want string }{
		{"/v1/SocialService", "v2", `<GetNote><id>1</id></GetNote>`, `of the namespace &quot;urn:tidings:v2:SocialService&quot;`},
		{"/SocialService", "v2", `<GetNote><id>1</id></GetNote>`, `<faultcode>soap:Client</faultcode>`},
		{"/v1/SocialService", "v1", `<GetOther><id>1</id></GetOther>`, `<faultcode>soap:Client</faultcode>`},
		{"/v1/SocialService", "v1", `<CreateNote><input><text>x</text><more>x</more></input></CreateNote>`, `there is no element more here`},
		{"/v1/SocialService", "v1", `<CreateNotes><inputs><item><text>many</text></item></inputs></CreateNotes>`, `<tns:text>many</tns:text><tns:kind>A</tns:kind><tns:parts><tns:item><tns:name>p</tns:name></tns:item></tns:parts></tns:note>`},
		{"/v2/SocialService", "v2", `<CreateNotes><inputs><item><text>many</text></item></inputs></CreateNotes>`, `<tns:more>more</tns:more>`},
		{"/v1/SocialService", "v1", `<GetServiceInfo/>`, `<tns:version>v1</tns:version>`},
		{"/SocialService", "v1", `<GetServiceInfo/>`, `<tns:version>v1</tns:version>`},
		{"/v1/SocialService", "v1", `<PullNoteChanges/>`, `urn:tidings:v1:SocialService`},
	} {
		if got := w.dial(t, c.path, c.version, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s: %s, want %s", c.path, c.version, c.body, got, c.want)
		}
	}
	if w.get(t, "/SocialService?wsdl") != w.get(t, "/v1/SocialService?wsdl") || w.get(t, "/v1/SocialService?wsdl") == w.get(t, "/v2/SocialService?wsdl") {
		t.Error("the path without a version is not that of the newest that is locked")
	}
	if wsdl := w.get(t, "/v1/SocialService?wsdl"); strings.Contains(wsdl, "Other") || !strings.Contains(wsdl, `location="http://localhost/v1/SocialService"`) {
		t.Errorf("the WSDL of v1 is not that of its lock:\n%s", wsdl)
	}
}

func TestWorkIsSubmittedAndToldInTheShapeOfItsVersion(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(grownSDL)}})
	jobs, err := job.Open(t.Context(), s.Bus, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := soap.Options{TrustTransport: true, Address: "http://localhost", Version: "v2", Jobs: jobs, Locks: []*soap.Lock{lockOf(t, modelOf(t, youngSDL), "v1")}}
	serve(t, s, o)
	await(t, s)
	w := &world{Service: s, url: edge(t, s, o)}
	for version, want := range map[string]string{
		"v1": `<tns:text>v1</tns:text><tns:kind>A</tns:kind><tns:parts><tns:item><tns:name>p</tns:name></tns:item></tns:parts></tns:note>`,
		"v2": `<tns:text>v2</tns:text><tns:kind>A</tns:kind><tns:more>more</tns:more>`,
	} {
		path := "/" + version + "/SocialService"
		id := element(t, w.dial(t, path, version, `<SubmitCreateNotes><inputs><item><text>`+version+`</text></item></inputs></SubmitCreateNotes>`), "jobId")
		eventually(t, "the job is over", func() bool {
			return strings.Contains(w.dial(t, path, version, `<GetJob><jobId>`+id+`</jobId></GetJob>`), "DONE")
		})
		if got := w.dial(t, path, version, `<GetJobResult><jobId>`+id+`</jobId></GetJobResult>`); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestALockedVersionIsServedWithoutTheSchemasOwn(t *testing.T) {
	t.Parallel()
	w, o := versions(t, soap.Options{})
	if got := w.dial(t, "/SocialService", "v1", `<CreateNote><input><text>old</text></input></CreateNote>`); !strings.Contains(got, `<tns:parts><tns:item><tns:name>p</tns:name></tns:item></tns:parts></tns:result>`) {
		t.Errorf("the newest version is not the locked one: %s", got)
	}
	g, err := soap.NewGateway(w.Bus, w.Model, o)
	if err != nil {
		t.Fatal(err)
	}
	if !g.Serves("/v1/SocialService") || !g.Serves("/SocialService") || g.Serves("/v2/SocialService") || g.Serves("/") {
		t.Errorf("it serves %v", g.Paths())
	}
}

func TestAServiceThatBreaksItsLockDoesNotStart(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(strings.Replace(youngSDL, "text: String!", "text: String", 1))}})
	lock := lockOf(t, modelOf(t, youngSDL), "v1")
	engine, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for what, o := range map[string]soap.Options{
		"result.text may be null now": {Locks: []*soap.Lock{lock}},
		"--service SocialService":     {Locks: []*soap.Lock{lock}, Service: "Other"},
	} {
		o.Address = "http://localhost"
		if _, err := soap.NewGateway(s.Bus, s.Model, o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("the gateway: %v, want %s", err, what)
		}
		if _, err := soap.NewService(s.Bus, s.Model, engine, nil, nil, o); err == nil || !strings.Contains(err.Error(), what) || fault.Is(err, fault.BadRequest) {
			t.Errorf("the service: %v, want %s", err, what)
		}
	}
}

func TestVersionsComeInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	m := modelOf(t, youngSDL)
	dir := fstest.MapFS{}
	for _, version := range []string{"v10", "v2", "v1"} {
		l := lockOf(t, m, version)
		dir[l.File()] = &fstest.MapFile{Data: l.Text()}
	}
	locks, err := soap.ReadLocks(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := resourcetest.New(t, fstest.MapFS{"s.graphql": {Data: []byte(youngSDL)}})
	g, err := soap.NewGateway(s.Bus, s.Model, soap.Options{Address: "http://localhost", Locks: locks, Version: "v11"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(g.Paths(), " "), "/v1/SocialService /v2/SocialService /v10/SocialService /v11/SocialService /SocialService"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestThePathWithoutAVersionIsTheNewestThatIsLocked(t *testing.T) {
	t.Parallel()
	w, o := versions(t, soap.Options{})
	o.Locks = append(o.Locks, lockOf(t, w.Model, "v2"))
	for made, want := range map[string]string{"": "/v2/SocialService", "v2": "/v2/SocialService", "v3": "/v2/SocialService"} {
		o.Version = made
		g, err := soap.NewGateway(w.Bus, w.Model, o)
		if err != nil {
			t.Fatal(err)
		}
		if g.Path() != want {
			t.Errorf("the schema makes %q: the newest is %s, want %s", made, g.Path(), want)
		}
	}
}
