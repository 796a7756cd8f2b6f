//go:build conformance

package graphqljs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// callers are who a document can be run as.
var callers = map[string]auth.Principal{
	"nobody":  {},
	"ada":     {Subject: "ada", Roles: schema.User},
	"ben":     {Subject: "ben", Roles: schema.User},
	"admin":   {Subject: "root", Roles: schema.Admin},
	"partner": {Subject: "partner", Roles: schema.Service},
}

// request is one document to run on both sides.
type request struct {
	name string
	as   string

	Query         string          `json:"query"`
	Variables     json.RawMessage `json:"variables,omitempty"`
	OperationName string          `json:"operationName,omitempty"`
	Event         map[string]any  `json:"event,omitempty"` // what a subscription delivers
	Who           struct {
		Sub   string   `json:"sub"`
		Roles []string `json:"roles"`
	} `json:"who"`
}

// outcome is what one side made of a request.
type outcome struct {
	Executed bool `json:"executed"`
	Data     any  `json:"data"`
	Errors   []struct {
		Message    string `json:"message"`
		Path       []any  `json:"path"`
		Locations  []any  `json:"locations"`
		Code       string `json:"code"`
		Extensions struct {
			Code string `json:"code"`
		} `json:"extensions"`
	} `json:"errors"`
}

// rig is an engine over a running service with records that both sides have.
type rig struct {
	engine  *graphql.Engine
	client  *resource.Client
	model   *schema.Model
	records map[string][]json.RawMessage
	cursors map[string]map[string]string
	changes map[string]json.RawMessage // of each type, as polling tells them
	places  map[string]uint64          // by the cursors of changes
	now     string                     // the cursor after all changes
	lab     json.RawMessage
	values  map[string]json.RawMessage // of root fields
	names   []string                   // {{post1}} and the like, each before what it stands for
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := fstest.MapFS{}
	for _, path := range []string{"../../examples/social/schema.graphql", "testdata/lab/lab.graphql"} {
		dir[filepath.Base(path)] = &fstest.MapFile{Data: read(t, path)}
	}
	s := resourcetest.New(t, dir)
	r := &rig{model: s.Model, client: s.Client, lab: read(t, "testdata/lab/values.json")}
	var err error
	// What operations may cost is no matter of the reference's.
	dear := graphql.Limits{Roots: -1, Cost: graphql.Budgets{Anonymous: -1, User: -1, Service: -1}}
	r.engine, err = graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Functions: labFunctions(s.Model, r.lab), Limits: dear})
	if err != nil {
		t.Fatal(err)
	}
	start := s.Feed.Now()
	r.fill(t, s)
	r.readCursors(t)
	r.readChanges(t, s.Feed, start)
	return r
}

func labFunctions(m *schema.Model, lab json.RawMessage) map[string]graphql.Function {
	resolve := func(f func(c graphql.Call) (any, error)) graphql.Function {
		return graphql.Function{Resolve: func(_ context.Context, c graphql.Call) (any, error) { return f(c) }}
	}
	args := resolve(func(c graphql.Call) (any, error) { return print(c.Args) })
	values := resolve(func(graphql.Call) (any, error) { return lab, nil })
	functions := map[string]graphql.Function{
		"Query.echo": args, "Query.need": args, "Query.lab": values, "Query.labStrict": values,
		"Query.labs": resolve(func(graphql.Call) (any, error) { return []any{lab, nil, lab}, nil }),
	}
	if sub := m.Contract.Subscription; sub.Fields.ForName("count") != nil {
		functions["Subscription.count"] = graphql.Function{Subscribe: func(context.Context, graphql.Call) iter.Seq2[any, error] {
			return func(func(any, error) bool) {}
		}}
	}
	return functions
}

// print writes JSON as JSON.stringify does.
func print(args map[string]any) (string, error) {
	if args == nil {
		args = map[string]any{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(args)
	return strings.NewReplacer("\n", "", `\u2028`, "\u2028").Replace(b.String()), err
}

// fill creates five users, twelve posts and eight follows.
func (r *rig) fill(t *testing.T, s *resourcetest.Service) {
	t.Helper()
	r.records = map[string][]json.RawMessage{}
	names := []string{}
	create := func(typ, input string) resource.Record {
		t.Helper()
		rec, err := s.Client.Submit(t.Context(), resource.Command{Type: typ, Verb: resource.Create, Who: callers["admin"], Input: json.RawMessage(input)})
		if err != nil {
			t.Fatalf("create %s %s: %v", typ, input, err)
		}
		r.records[typ] = append(r.records[typ], rec.Raw)
		var id struct{ ID string }
		if err := json.Unmarshal(rec.Raw, &id); err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("{{%s%d}}", strings.ToLower(typ), len(r.records[typ])), id.ID)
		return rec
	}
	users := []string{"ada", "ben", "cleo", "dan", "eve"}
	for i, u := range users {
		create("User", fmt.Sprintf(`{"id":%q,"name":"Name %c","email":"%s@example.org","avatar":%s,"adminNotes":%s}`,
			u, "CABED"[i], u, pick(i%2 == 0, `"https://example.org/`+u+`.png"`), pick(i%3 == 0, `"notes \"é\" 😀"`)))
	}
	var last resource.Record
	for i := range 12 {
		last = create("Post", fmt.Sprintf(`{"authorId":%q,"title":"Title %d","excerpt":%s,"kind":%q,"tags":%s,"minutes":%s}`,
			[]string{"ada", "ben", "ada", "cleo", "ghost"}[i%5], i+1, pick(i%2 == 0, `"line\nbreak \u2028"`),
			[]string{"ARTICLE", "NOTE", "LINK"}[i%3], []string{`[]`, `["x"]`, `["x","y z"]`}[i%3], pick(i%4 == 1, fmt.Sprint(i+1))))
	}
	for _, pair := range []string{"ben ada", "cleo ada", "dan ada", "ada ben", "cleo ben", "ghost ada", "eve cleo", "ada eve"} {
		a, b, _ := strings.Cut(pair, " ")
		last = create("Follow", fmt.Sprintf(`{"followerId":%q,"followeeId":%q}`, a, b))
	}
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	r.names = names
}

func pick(use bool, value string) string {
	if use {
		return value
	}
	return "null"
}

// readCursors asks for the cursors of the lists in their own order: they are
// opaque, so that the reference cannot make them.
func (r *rig) readCursors(t *testing.T) {
	t.Helper()
	r.cursors = map[string]map[string]string{}
	for _, res := range r.model.Resources {
		typ, plural := res.Name, res.Plural
		resp := r.engine.Execute(t.Context(), auth.Principal{}, graphql.Request{Query: "{list:" + plural + "(first:100){edges{cursor node{id}}}}"})
		var got struct {
			Data struct {
				List struct {
					Edges []struct {
						Cursor string
						Node   struct{ ID string }
					}
				}
			}
		}
		if err := json.Unmarshal(resp.Body, &got); err != nil {
			t.Fatal(err)
		}
		r.cursors[typ] = map[string]string{}
		for _, e := range got.Data.List.Edges {
			r.cursors[typ][e.Node.ID] = e.Cursor
			r.names = append(r.names, "{{cursor-"+e.Node.ID+"}}", e.Cursor)
		}
	}
}

// readChanges asks for the changes that made the records: their cursors and
// times are nothing that the reference could make.
func (r *rig) readChanges(t *testing.T, feed *resource.Feed, start resource.Position) {
	t.Helper()
	r.changes, r.now = map[string]json.RawMessage{}, feed.Now().String()
	r.places = map[string]uint64{start.String(): start.Seq, r.now: feed.Now().Seq}
	for _, res := range r.model.Resources {
		typ := res.Name
		resp := r.engine.Execute(t.Context(), auth.Principal{}, graphql.Request{Query: fmt.Sprintf(
			"{page:%sChanges(after:%q,first:100){nodes{kind id at cursor}}}", strings.ToLower(typ), start)})
		var got struct {
			Data struct {
				Page struct{ Nodes json.RawMessage }
			}
		}
		var nodes []struct{ ID, Cursor string }
		if err := errors.Join(json.Unmarshal(resp.Body, &got), json.Unmarshal(got.Data.Page.Nodes, &nodes)); err != nil {
			t.Fatal(err)
		}
		if len(nodes) != len(r.records[typ]) {
			t.Fatalf("%d changes made %d records of %s", len(nodes), len(r.records[typ]), typ)
		}
		r.changes[typ] = r.authors(t, typ, got.Data.Page.Nodes)
		for i, node := range nodes {
			place, err := resource.ParsePosition(node.Cursor)
			if err != nil {
				t.Fatal(err)
			}
			r.places[node.Cursor] = place.Seq
			r.names = append(r.names, fmt.Sprintf("{{changed-%s%d}}", strings.ToLower(typ), i+1), node.Cursor)
		}
	}
}

// authors adds to the changes who made them, and by which command.
func (r *rig) authors(t *testing.T, typ string, nodes json.RawMessage) json.RawMessage {
	t.Helper()
	var changes []map[string]any
	if err := json.Unmarshal(nodes, &changes); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		resp := r.engine.Execute(t.Context(), callers["admin"], graphql.Request{Query: fmt.Sprintf(
			"{page:%sHistory(id:%q){nodes{actor command}}}", strings.ToLower(typ), c["id"])})
		var got struct {
			Data struct {
				Page struct{ Nodes []map[string]any }
			}
		}
		if err := json.Unmarshal(resp.Body, &got); err != nil || len(got.Data.Page.Nodes) != 1 {
			t.Fatalf("%s: %v", resp.Body, err)
		}
		maps.Copy(c, got.Data.Page.Nodes[0])
	}
	all, err := json.Marshal(changes)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// documents reads a txtar file: one document a section, with comments in its
// first lines that say "# as NAME", "# variables JSON", "# operation NAME".
func (r *rig) documents(t *testing.T, path string) []request {
	t.Helper()
	var list []request
	names := strings.NewReplacer(r.names...)
	for _, f := range txtar.Parse(read(t, path)).Files {
		req := request{name: f.Name, as: "nobody", Query: names.Replace(string(f.Data))}
		for line := range strings.Lines(req.Query) {
			word, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " ")
			switch word {
			case "as":
				req.as = rest
			case "variables":
				req.Variables = json.RawMessage(rest)
			case "operation":
				req.OperationName = rest
			}
		}
		list = append(list, req)
	}
	return list
}

// run runs a request through the engine.
func (r *rig) run(t *testing.T, req request) (o outcome, body []byte) {
	t.Helper()
	resp := r.engine.Execute(t.Context(), callers[req.as], graphql.Request{Query: req.Query, Variables: req.Variables, OperationName: req.OperationName})
	o = decode(t, resp.Body)
	if o.Executed == resp.Failed {
		t.Errorf("%s: Failed is %t for %s", req.name, resp.Failed, resp.Body)
	}
	return o, resp.Body
}

// decode reads a response of ours.
func decode(t *testing.T, body []byte) (o outcome) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	_, o.Executed = members["data"]
	for i := range o.Errors {
		o.Errors[i].Code = o.Errors[i].Extensions.Code
	}
	return o
}

// reference is what graphql-js says.
type reference struct {
	Results            []outcome
	Printed            *struct{ Ours, Contract string }
	IntrospectionQuery string
}

// ask runs requests through the reference. The introspection, if any, is an
// answer of ours for it to build a schema from.
func (r *rig) ask(t *testing.T, requests []request, introspection json.RawMessage) reference {
	t.Helper()
	if requests == nil {
		requests = []request{}
	}
	for i := range requests {
		who := callers[requests[i].as]
		requests[i].Who.Sub = who.Subject
		requests[i].Who.Roles = []string{}
		for role, name := range map[schema.Roles]string{schema.User: "USER", schema.Admin: "ADMIN", schema.Service: "SERVICE"} {
			if who.Roles.Has(role) {
				requests[i].Who.Roles = append(requests[i].Who.Roles, name)
			}
		}
	}
	input, err := json.Marshal(map[string]any{
		"sdl": r.model.SDL, "records": r.records, "cursors": r.cursors, "lab": r.lab,
		"changes": r.changes, "places": r.places, "now": r.now, "values": r.values,
		"requests": requests, "introspection": introspection,
	})
	if err != nil {
		t.Fatal(err)
	}
	install(t)
	cmd := exec.CommandContext(t.Context(), "node", "reference.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var ref reference
	if err := json.Unmarshal(out, &ref); err != nil {
		t.Fatal(err)
	}
	return ref
}

// install runs npm once for a fresh tree.
func install(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/graphql/package.json"); err == nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
