package graphql_test

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"tidings/fault"
	"tidings/graphql"
)

func TestMembersOfARequestHaveExactNames(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"QUERY":"{ __typename }"}`,
		`{"query":"{ __typename }","Query":"mutation { deletePost(input: {id: \"x\"}) { id } }"}`,
		`{"query":"{ __typename }","\u0056ariables":{}}`,
		`{"query":"{ __typename }","operationname":"A"}`,
		`{"query":"{ __typename }","exten\u017fions":{}}`, // a long s, which folds to s
	} {
		if _, err := graphql.DecodeRequest([]byte(body)); !fault.Is(err, fault.BadRequest) || !strings.Contains(err.Error(), "write") {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{`{"query":"{ __typename }","id":1,"Cursor":2}`, `{"\u0071uery":"{ __typename }"}`, `{"query":"{a}","query":"{ __typename }"}`} {
		if r, err := graphql.DecodeRequest([]byte(body)); err != nil || r.Query != "{ __typename }" {
			t.Errorf("%s: %+v %v", body, r, err)
		}
	}
}

func TestWhatOnlyTheServiceSaysOfARequestIsNotReadFromOne(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{`{"query":"{a}",`, `{"query":"","query":"{a}",`} { // as usual, and read by encoding/json
		body := begin + `"sent":{"ID":"019","Since":1,"Again":true},"Position":"1","WantPosition":true,"WantCost":true,"IdempotencyKey":"k","Trusted":true,"Counted":true,"Moved":true}`
		if r, err := graphql.DecodeRequest([]byte(body)); err != nil || !reflect.DeepEqual(r, graphql.Request{Query: "{a}"}) {
			t.Errorf("%+v %v", r, err)
		}
	}
}

func TestABodyThatIsNotUTF8IsRefusedAndNotMended(t *testing.T) {
	t.Parallel()
	e := prepared(t, graphql.Options{})
	for _, body := range []string{
		"{\"query\":\"{ greeting(name: \\\"\xff\\\") }\"}",
		"{\"query\":\"{ __typename }\",\"variables\":{\"a\":\"\xc0\x80\"}}",
		"{\"query\":\"{ __typename }\",\"x\":\"\xed\xa0\x80\"}",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/graphql", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		e.ServeHTTP(w, r)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "not in UTF-8") {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestLocationsBeginWithOneAlsoAfterBlockStrings(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	for query, want := range map[string][2]int{
		"{\n  user(id: \"\"\"\n\n  \"\"\") { id } }":                                {2, 12},
		"{ greeting(name: \"\"\"a\r\nb\"\"\", loud: 7) }":                           {2, 13},
		"{ picky(n: \"\"\"a\n\nb\"\"\") }":                                          {1, 12},
		"{ picky(n: 1, kinds: [\"\"\"\n" + strings.Repeat("é\n", 50) + "\"\"\"]) }": {1, 22},
	} {
		r := decode(t, s.run(t, nobody, query, ""))
		if len(r.Errors) == 0 || len(r.Errors[0].Locations) == 0 {
			t.Errorf("%q: %+v", query, r)
			continue
		}
		if at := r.Errors[0].Locations[0]; at.Line != want[0] || at.Column != want[1] {
			t.Errorf("%q: %+v at %v, want %v", query, r.Errors[0].Message, at, want)
		}
	}
}
