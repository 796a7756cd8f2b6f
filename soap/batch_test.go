package soap_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/soap"
)

// call sends a body, with header blocks before it, as somebody.
func (w *world) call(t testing.TB, who, header, body string) (status int, answer string) {
	t.Helper()
	h := http.Header{"Content-Type": {"text/xml"}}
	if who != "" {
		h.Set("Authorization", "Bearer "+token(t, who))
	}
	if header != "" {
		header = "<s:Header>" + header + "</s:Header>"
	}
	resp, answer := w.post(t, h, `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:tidings:v1:SocialService" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">`+
		header+`<s:Body>`+body+`</s:Body></s:Envelope>`)
	return resp.StatusCode, answer
}

func batch(operation, allOrNone string, items ...string) string {
	if allOrNone != "" {
		allOrNone = "<allOrNone>" + allOrNone + "</allOrNone>"
	}
	return "<" + operation + "><inputs><item>" + strings.Join(items, "</item><item>") + "</item></inputs>" + allOrNone + "</" + operation + ">"
}

// result is an item of an answer.
type result struct {
	index, success, ref, id, code, path, text string
}

func oneChild(text, name string) string {
	if _, rest, ok := strings.Cut(text, "<tns:"+name+">"); ok {
		value, _, _ := strings.Cut(rest, "<")
		return value
	}
	return ""
}

func results(t testing.TB, status int, answer string) (list []result) {
	t.Helper()
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, answer)
	}
	parts := strings.Split(answer, "<tns:item><tns:index>")
	for _, part := range parts[1:] {
		part = "<tns:index>" + part
		r := result{index: oneChild(part, "index"), success: oneChild(part, "success"), ref: oneChild(part, "clientRef"), text: part}
		if _, failure, ok := strings.Cut(part, "<tns:error>"); ok {
			r.code, r.path = oneChild(failure, "code"), oneChild(failure, "path")
			part, _, _ = strings.Cut(part, "<tns:error>")
		}
		r.id = oneChild(part, "id")
		list = append(list, r)
	}
	for i, r := range list {
		if r.index != fmt.Sprint(i) {
			t.Errorf("item %d says that it is item %s", i, r.index)
		}
	}
	return list
}

func (r result) is(success, code, path string) bool {
	return r.success == success && r.code == code && r.path == path && (r.id != "") == (success == "true")
}

func TestABatchHasAResultForEachItemInTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	list := w.results(t, "alice", batch("CreatePosts", "",
		`<title>a</title><clientRef>row 1 &amp; &lt;</clientRef>`,
		`<title></title><clientRef>row 2</clientRef>`,
		`<nome>x</nome><clientRef>row 3</clientRef>`,
		`<title>d</title><minutes>many</minutes>`,
		`<title>e</title><authorId>bob</authorId>`,
		`<kind>NOTE</kind>`,
		`<title>g</title>`))
	for i, want := range []struct{ success, code, path string }{
		{"true", "", ""}, {"false", "BAD_USER_INPUT", "title"}, {"false", "BAD_USER_INPUT", "nome"}, {"false", "BAD_USER_INPUT", "minutes"},
		{"false", "FORBIDDEN", "authorId"}, {"false", "BAD_USER_INPUT", "title"}, {"true", "", ""},
	} {
		if !list[i].is(want.success, want.code, want.path) {
			t.Errorf("item %d: %s", i, list[i].text)
		}
	}
	if list[0].ref != "row 1 &amp; &lt;" || list[1].ref != "row 2" || list[2].ref != "row 3" || !strings.Contains(list[3].text, `<tns:clientRef xsi:nil="true"/>`) {
		t.Errorf("the references: %q %q %q %s", list[0].ref, list[1].ref, list[2].ref, list[3].text)
	}
	changed := w.results(t, "alice", batch("UpdatePosts", "false",
		`<id>`+list[0].id+`</id><title>A</title>`, `<id>nobody</id><title>B</title>`, `<id>`+list[6].id+`</id><fieldsToNull><item>minutes</item></fieldsToNull>`))
	if !changed[0].is("true", "", "") || !strings.Contains(changed[0].text, "<tns:title>A</tns:title>") || !changed[1].is("false", "NOT_FOUND", "") || !changed[2].is("true", "", "") {
		t.Errorf("changed: %+v", changed)
	}
	gone := w.results(t, "alice", batch("DeletePosts", "", `<id>`+list[0].id+`</id>`, `<id>`+list[6].id+`</id>`))
	if !gone[0].is("true", "", "") || !gone[1].is("true", "", "") {
		t.Errorf("deleted: %+v", gone)
	}
}

// results sends a body and takes the answer apart.
func (w *world) results(t testing.TB, who, body string) []result {
	t.Helper()
	status, answer := w.call(t, who, "", body)
	return results(t, status, answer)
}

// What is wrong with the call as a whole is a fault.
func TestABatchAsAWholeIsRefusedByAFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	for body, want := range map[string]string{
		batch("CreatePosts", "", make([]string, 201)...): "at most 200 items",
		`<CreatePosts/>`: "<tns:path>inputs</tns:path>",
		`<CreatePosts><inputs><post><title>a</title></post></inputs></CreatePosts>`: "the items of a batch are called item",
		`<CreatePosts><inputs>a</inputs></CreatePosts>`:                             "the list holds text",
		`<CreatePosts><inputs/><allOrNone>maybe</allOrNone></CreatePosts>`:          "<tns:path>allOrNone</tns:path>",
		`<CreatePosts><inputs/><inputs/></CreatePosts>`:                             "given twice",
	} {
		if status, answer := w.call(t, "alice", "", body); status != 500 || !strings.Contains(answer, want) || !strings.Contains(answer, "BAD_USER_INPUT") {
			t.Errorf("%.80s: %d %s", body, status, answer)
		}
	}
	if list := w.results(t, "alice", `<CreatePosts><inputs/></CreatePosts>`); len(list) != 0 {
		t.Errorf("no items come to %v", list)
	}
	items := make([]string, 100) // of 12 each, beyond what anonymous callers may spend on one operation
	for i := range items {
		items[i] = "<title>a</title>"
	}
	if status, answer := w.call(t, "", "", batch("CreatePosts", "", items...)); status != 500 || !strings.Contains(answer, "COST_LIMIT_EXCEEDED") {
		t.Errorf("too dear: %d %s", status, answer)
	}
}

func TestABatchOfAllOrNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	posts := func() int {
		_, answer := w.call(t, "alice", "", "<ListPosts/>")
		return strings.Count(answer, "<tns:item>")
	}
	for what, bad := range map[string]struct{ item, code, path string }{
		"cannot be read":    {`<nome/>`, "BAD_USER_INPUT", "nome"},
		"is no value":       {`<title>a</title><minutes>0</minutes>`, "BAD_USER_INPUT", "minutes"},
		"is not allowed":    {`<title>a</title><authorId>bob</authorId>`, "FORBIDDEN", "authorId"},
		"breaks constraint": {`<title></title>`, "BAD_USER_INPUT", "title"},
	} {
		list := w.results(t, "alice", batch("CreatePosts", "true", `<title>a</title>`, bad.item, `<title>c</title>`))
		if !list[0].is("false", "NOT_DONE", "") || !list[1].is("false", bad.code, bad.path) || !list[2].is("false", "NOT_DONE", "") || !strings.Contains(list[0].text, "item 1 ") {
			t.Errorf("%s: %+v", what, list)
		}
		if n := posts(); n != 0 {
			t.Errorf("%s: there are %d posts", what, n)
		}
	}
	list := w.results(t, "alice", batch("CreatePosts", "1", `<title>a</title>`, `<title>b</title><clientRef>r</clientRef>`))
	if !list[0].is("true", "", "") || !list[1].is("true", "", "") || list[1].ref != "r" || posts() != 2 {
		t.Errorf("%+v, and there are %d", list, posts())
	}
}

var seats = fstest.MapFS{"s.graphql": {Data: []byte(`
type Seat @resource @auth(requires: ANYONE) {
  id: ID!
  place: String @unique
  n: Int
}
type Herd @resource @auth(requires: ANYONE) {
  id: ID!
  error: String
  clientRef: String
}
type Error @resource @auth(requires: ANYONE) {
  id: ID!
  index: Int
}
type Letter @resource @auth(requires: [ADMIN], on: [READ]) @auth(requires: [ANYONE], on: [CREATE]) {
  id: ID!
  text: String!
}`)}}

func seatWorld(t testing.TB, o soap.Options) *world {
	t.Helper()
	s := resourcetest.New(t, seats)
	serve(t, s, o)
	await(t, s)
	return &world{Service: s, url: edge(t, s, o)}
}

func TestABatchMayTakeWhatItGivesBackOnlyTogether(t *testing.T) {
	t.Parallel()
	w := seatWorld(t, trusting)
	list := w.results(t, "", batch("CreateSeats", "", `<place>1</place>`, `<place>2</place>`))
	swap := []string{`<id>` + list[0].id + `</id><place>2</place>`, `<id>` + list[1].id + `</id><place>1</place>`}
	alone := w.results(t, "alice", batch("UpdateSeats", "", swap...))
	if !alone[0].is("false", "CONFLICT", "place") || !alone[1].is("false", "CONFLICT", "place") {
		t.Errorf("each for itself: %+v", alone)
	}
	together := w.results(t, "alice", batch("UpdateSeats", "true", swap...))
	if !together[0].is("true", "", "") || !together[1].is("true", "", "") {
		t.Errorf("together: %+v", together)
	}
	twice := w.results(t, "alice", batch("CreateSeats", "true", `<place>3</place>`, `<place>3</place>`))
	if !twice[0].is("false", "NOT_DONE", "") || !twice[1].is("false", "CONFLICT", "place") {
		t.Errorf("one place twice: %+v", twice)
	}
}

// Items of one record are carried out one after the other, in their order, whoever
// else is between them.
func TestItemsOfOneRecordKeepTheirOrder(t *testing.T) {
	t.Parallel()
	w := seatWorld(t, trusting)
	list := w.results(t, "alice", batch("CreateSeats", "", `<n>0</n>`, `<n>0</n>`, `<n>0</n>`))
	var items []string
	for n := range 150 {
		items = append(items, fmt.Sprintf(`<id>%s</id><n>%d</n>`, list[n%3].id, n))
	}
	for i, r := range w.results(t, "alice", batch("UpdateSeats", "", items...)) {
		if !r.is("true", "", "") || oneChild(r.text, "n") != fmt.Sprint(i) {
			t.Errorf("item %d: %s", i, r.text)
		}
	}
	for i, r := range list {
		if _, answer := w.call(t, "alice", "", "<GetSeat><id>"+r.id+"</id></GetSeat>"); oneChild(answer, "n") != fmt.Sprint(147+i) {
			t.Errorf("seat %d ends as %s", i, oneChild(answer, "n"))
		}
	}
}

func TestABatchOfTwoHundredIsOneCall(t *testing.T) {
	t.Parallel()
	w := seatWorld(t, trusting)
	var items []string
	for n := range 200 {
		items = append(items, fmt.Sprintf(`<place>p%d</place>`, n))
	}
	for _, together := range []string{"false", "true"} {
		made := w.results(t, "alice", batch("CreateSeats", together, items...))
		ids := make([]string, len(made))
		for i, r := range made {
			if !r.is("true", "", "") || oneChild(r.text, "place") != fmt.Sprintf("p%d", i) {
				t.Fatalf("item %d: %s", i, r.text)
			}
			ids[i] = "<id>" + r.id + "</id>"
		}
		for i, r := range w.results(t, "alice", batch("DeleteSeats", together, ids...)) {
			if !r.is("true", "", "") {
				t.Fatalf("item %d: %s", i, r.text)
			}
		}
	}
}

func TestNamesThatBatchesWouldTakeTwice(t *testing.T) {
	t.Parallel()
	w := seatWorld(t, trusting)
	if r := w.results(t, "alice", batch("CreateHerds", "", `<error>e</error><clientRef>mine</clientRef>`))[0]; r.success != "true" || !strings.Contains(r.text, "<tns:herd>") {
		t.Errorf("%+v", r)
	}
	if r := w.results(t, "alice", batch("CreateErrors", "", ""))[0]; r.success != "true" || !strings.Contains(r.text, "<tns:record>") {
		t.Errorf("%+v", r)
	}
}

func TestAnItemThatMayNotBeReadIsCarriedOut(t *testing.T) {
	t.Parallel()
	w := seatWorld(t, trusting)
	for _, together := range []string{"false", "true"} {
		status, answer := w.call(t, "", "", batch("CreateLetters", together, `<text>a</text>`, `<text>b</text>`))
		list := results(t, status, answer)
		if list[0].success != "true" || list[1].success != "true" || list[0].code != "" ||
			!strings.Contains(answer, `<tns:code>FORBIDDEN</tns:code><tns:message>the Letter was created, but you may not read it</tns:message><tns:path>item[1]</tns:path>`) {
			t.Errorf("%s", answer)
		}
	}
}

// An answer has room in a message of the bus; what has none is left out.
func TestRecordsThatHaveNoRoomAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	var ids []string
	body := strings.Repeat("&lt;", 15_000)
	for range 2 {
		for _, r := range w.results(t, "alice", batch("CreatePosts", "", slicesOf(12, `<title>a</title><body>`+body+`</body>`)...)) {
			ids = append(ids, `<id>`+r.id+`</id>`)
		}
	}
	status, answer := w.call(t, "alice", "", batch("DeletePosts", "", ids...))
	list := results(t, status, answer)
	kept := 0
	for _, r := range list {
		if r.success != "true" {
			t.Errorf("%.200s", r.text)
		}
		if r.id != "" {
			kept++
		}
	}
	if kept == 0 || kept == len(list) || len(list) != 24 {
		t.Errorf("%d of %d records are there, in %d bytes", kept, len(list), len(answer))
	}
}

func slicesOf(n int, item string) (list []string) {
	for range n {
		list = append(list, item)
	}
	return list
}

const key = `<RequestOptions s:mustUnderstand="1"><idempotencyKey>%s</idempotencyKey></RequestOptions>`

func TestACallWithAKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, trusting)
	other := resourcetest.Reader(t, w.Bus, os.DirFS("../examples/social"), resource.FeedOptions{})
	serve(t, other, trusting) // two workers answer in turn
	message := func(id string) string {
		return `<a:MessageID xmlns:a="http://www.w3.org/2005/08/addressing">urn:uuid:` + id + `</a:MessageID><a:Action xmlns:a="http://www.w3.org/2005/08/addressing">%s</a:Action>`
	}
	for name, header := range map[string]string{"key": fmt.Sprintf(key, "k-1"), "message": message("m-1")} {
		for operation, body := range map[string]string{
			"CreatePost":      `<CreatePost><input><title>one</title></input></CreatePost>`,
			"CreatePosts":     batch("CreatePosts", "", `<title>a</title>`, `<title></title>`, `<title>c</title>`),
			"CreatePosts all": batch("CreatePosts", "true", `<title>a</title>`, `<title>b</title>`),
		} {
			header := header
			operation, suffix, _ := strings.Cut(operation, " ")
			header = strings.ReplaceAll(strings.ReplaceAll(header, "k-1", "k-"+operation+suffix), "m-1", "m-"+operation+suffix)
			header = strings.ReplaceAll(header, "%s", operation)
			status, once := w.call(t, "alice", header, body)
			if status != 200 {
				t.Fatalf("%s, %s: %s", name, operation, once)
			}
			for range 4 {
				if _, again := w.call(t, "alice", header, body); again != once {
					t.Errorf("%s, %s: first %s\nagain %s", name, operation, once, again)
				}
			}
			status, answer := w.call(t, "alice", header, strings.Replace(body, "<title>", "<title>other ", 1))
			if status != 500 || !strings.Contains(answer, "CONFLICT") || !strings.Contains(answer, map[string]string{"key": "idempotency key was", "message": "wsa:MessageID was"}[name]) {
				t.Errorf("%s, %s, another body: %s", name, operation, answer)
			}
			if status, answer := w.call(t, "bob", header, body); status != 200 || answer == once {
				t.Errorf("%s, %s, another caller: %s", name, operation, answer)
			}
		}
	}
	if status, answer := w.call(t, "alice", `<RequestOptions><key>k</key></RequestOptions>`, `<ListPosts/>`); status != 200 {
		t.Errorf("a query looks at no key: %s", answer)
	}
	if status, answer := w.call(t, "alice", `<RequestOptions><key>k</key></RequestOptions>`, `<CreatePost><input><title>a</title></input></CreatePost>`); status != 500 || !strings.Contains(answer, "no element key") {
		t.Errorf("%s", answer)
	}
}
