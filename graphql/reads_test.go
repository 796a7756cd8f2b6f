package graphql_test

import (
	"strings"
	"testing"
	"time"

	"tidings/fault"
	"tidings/graphql"
)

func TestALevelIsOneReadHoweverManyParents(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	reads := graphql.CountReads(s.engine)
	body := s.run(t, admin, `{ posts { nodes { author { posts { author { id } } followers { id posts { id } } } } } }`, "")
	if r := decode(t, body); len(r.Errors) > 0 {
		t.Fatal(body)
	}
	// The page; authors and the authors below them; posts, followers and their posts.
	got := [3]int64{reads.List.Load(), reads.Get.Load(), reads.Related.Load()}
	if want := [3]int64{1, 2, 3}; got != want {
		t.Errorf("%v reads of lists, records and relations, want %v", got, want)
	}
	if n := reads.Count.Load(); n != 0 {
		t.Errorf("%d counts that nobody selected", n)
	}
}

func TestOnlyACountReadsNoPage(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	reads := graphql.CountReads(s.engine)
	wantData(t, s.run(t, nobody, `{ users { totalCount __typename } }`, ""), `{"users":{"totalCount":3,"__typename":"UserConnection"}}`)
	if reads.List.Load() != 0 || reads.Count.Load() != 1 {
		t.Errorf("%d pages and %d counts", reads.List.Load(), reads.Count.Load())
	}
}

func TestNothingIsReadForParentsThatRefuse(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{})
	reads := graphql.CountReads(s.engine)
	wantData(t, s.run(t, nobody, `{ user(id: "nope") { posts { id } followers { id } } }`, ""), `{"user":null}`, fault.NotFound)
	if n := reads.Related.Load(); n != 0 {
		t.Errorf("%d reads of relations of nobody", n)
	}
}

func TestWhatTakesTooLongIsToldSo(t *testing.T) {
	t.Parallel()
	s := newService(t, graphql.Options{Timeout: time.Millisecond})
	graphql.Slow(s.engine)
	body := s.run(t, nobody, `{ user(id: "ada") { id } __typename }`, "")
	wantData(t, body, `{"user":null,"__typename":"Query"}`, fault.Timeout)
	if want := `"code":"TIMEOUT","extensions":{"code":"TIMEOUT","requestId":"`; !strings.Contains(body, want) {
		t.Errorf("%s is not in %s", want, body)
	}
}
