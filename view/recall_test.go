package view_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"tidings/view"
)

// Whoever reads after Apply returned sees what was applied, by id, in a page
// and in a relation, however often it was read before. What a reader has seen
// never goes back.
func TestNoReadIsOlderThanThePosition(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int{"remembering": 0, "remembering nothing": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noReadIsOlder(t, memory)
		})
	}
}

func noReadIsOlder(t *testing.T, memory int) {
	f := newFixture()
	v := freshWith(t, f.model, view.Options{Memory: memory})
	const hot, rounds = 20, 400
	var applied atomic.Int64 // every post has at least these minutes
	write := func(round int64) {
		var records []object
		for i := range hot {
			records = append(records, object{"id": numbered(i), "authorId": "u", "minutes": round})
		}
		put(t, v, "Post", records...)
		applied.Store(round)
	}
	write(1)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for r := range 4 {
		wg.Go(func() {
			seen := make([]int64, hot)
			for i := r; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				least := applied.Load()
				for _, doc := range readPosts(t, v, f, i%hot, i%4) {
					var p struct {
						ID      string
						Minutes int64
					}
					var n int
					if err := json.Unmarshal(doc, &p); err != nil {
						t.Errorf("%q: %v", doc, err)
						return
					}
					_, _ = fmt.Sscanf(p.ID, "p%d", &n)
					if p.Minutes < least || p.Minutes < seen[n] {
						t.Errorf("post %d is of round %d; round %d was applied before, and %d was seen", n, p.Minutes, least, seen[n])
						return
					}
					seen[n] = p.Minutes
				}
			}
		})
	}
	for round := range rounds {
		write(int64(round + 2))
	}
	close(done)
	wg.Wait()
}

// readPosts reads posts in one of the ways there are.
func readPosts(t *testing.T, v records, f fixture, n, way int) [][]byte {
	var docs [][]byte
	var err error
	switch way {
	case 0:
		docs, err = v.Get(t.Context(), "Post", []string{numbered(n)})
	case 1:
		docs, err = v.Get(t.Context(), "Post", []string{numbered(n), numbered(0), numbered(n)})
	case 2:
		var page view.Page
		page, err = v.List(t.Context(), view.Query{Type: "Post", First: 10})
		docs = page.Records
	default:
		var lists [][][]byte
		lists, err = v.Related(t.Context(), view.Related{Relation: f.posts, Parents: []string{"u"}, Limit: 10})
		if err == nil {
			docs = lists[0]
		}
	}
	if err != nil || len(docs) == 0 {
		t.Errorf("%d records: %v", len(docs), err)
	}
	return docs
}

func TestARecordThatWasReadIsRemembered(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := open(t, f.model, "")
	read := func(want string) {
		t.Helper()
		docs, err := v.Get(t.Context(), "Post", []string{"a"})
		if err != nil || string(docs[0]) != want {
			t.Errorf("%s, %v; want %s", docs[0], err, want)
		}
	}
	remembered := func(want bool) {
		t.Helper()
		if got := view.Remembered(v, "Post", "a"); got != want {
			t.Errorf("remembered: %t, want %t", got, want)
		}
	}
	put(t, v, "Post", object{"id": "a", "title": "1"})
	remembered(false)
	read(`{"id":"a","title":"1"}`)
	remembered(true)
	put(t, v, "Post", object{"id": "b"}, object{"id": "a", "title": "2"}, object{"id": "a", "title": "3"})
	remembered(true) // who was read will be read again
	read(`{"id":"a","title":"3"}`)
	if err := v.Apply(t.Context(), v.Position()+1, []view.Change{{Seq: v.Position() + 1, Type: "Post", ID: "a"}}); err != nil {
		t.Fatal(err)
	}
	remembered(false)
	read("")
}

// A transaction that fails leaves everything as it was, and the next one counts.
func TestAFailedApplyMisleadsNobody(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := open(t, f.model, "")
	put(t, v, "Post", object{"id": "a", "title": "1"})
	title := func(want string) {
		t.Helper()
		for range 2 {
			docs, err := v.Get(t.Context(), "Post", []string{"a"})
			page, listErr := v.List(t.Context(), view.Query{Type: "Post"})
			if err != nil || listErr != nil || string(docs[0]) != want || string(page.Records[0]) != want {
				t.Errorf("%s and %s, %v, %v; want %s", docs[0], page.Records[0], err, listErr, want)
			}
		}
	}
	title(`{"id":"a","title":"1"}`)
	at := v.Position() + 1
	if err := v.Apply(t.Context(), at, []view.Change{{Seq: at, Type: "Post", ID: "a", Raw: []byte(`{"id":"a","title":"x"}`)}, {Seq: at, Type: "Post", ID: "b", Raw: []byte(`[`)}}); err == nil {
		t.Fatal("what is no record was applied")
	}
	title(`{"id":"a","title":"1"}`)
	put(t, v, "Post", object{"id": "a", "title": "2"})
	title(`{"id":"a","title":"2"}`)
}

// A relation through another resource changes with either of the two.
func TestRememberedListsKnowAllTheirTables(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	followers := func(want ...string) {
		t.Helper()
		for range 2 {
			lists, err := v.Related(t.Context(), view.Related{Relation: f.followers, Parents: []string{"u"}, Limit: 10})
			if got := ids(t, lists[0]); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, %v; want %v", got, err, want)
			}
		}
	}
	put(t, v, "User", object{"id": "u"}, object{"id": "a"})
	followers()
	put(t, v, "Follow", object{"id": "1", "followerId": "a", "followeeId": "u"}, object{"id": "2", "followerId": "b", "followeeId": "u"})
	followers("a")
	put(t, v, "User", object{"id": "b"})
	followers("b", "a")
	at := v.Position() + 1
	if err := v.Apply(t.Context(), at, []view.Change{{Seq: at, Type: "Follow", ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	followers("b")
}
