package view_test

import (
	"os"
	"slices"
	"testing"

	"tidings/schema"
	"tidings/view"
)

// The example schema as the service loads it, every field that its contract
// lets callers filter and order by included.
func TestExampleSchema(t *testing.T) {
	t.Parallel()
	model, err := schema.Load(os.DirFS("../examples/social"))
	if err != nil {
		t.Fatal(err)
	}
	v := fresh(t, model)
	put(t, v, "User", object{"id": "ann", "name": "Ann", "email": "ann@example.org"}, object{"id": "bob", "name": "Bob"})
	put(t, v, "Post",
		object{"id": "1", "authorId": "ann", "title": "One", "kind": "NOTE", "tags": []string{"a"}, "createdAt": "2026-11-20T07:25:22.5Z"},
		object{"id": "2", "authorId": "ann", "title": "Two", "kind": "LINK", "createdAt": "2026-11-20T07:25:22Z"})
	put(t, v, "Follow", object{"id": "1", "followerId": "bob", "followeeId": "ann"})

	user, post := model.Resource("User"), model.Resource("Post")
	for field, want := range map[string][]string{"posts": {"2", "1"}, "followers": {"bob"}} {
		lists, err := v.Related(t.Context(), view.Related{Relation: user.Field(field).Relation, Parents: []string{"ann", "bob"}, Limit: 20})
		if err != nil || !slices.Equal(ids(t, lists[0]), want) || len(lists[1]) != 0 {
			t.Errorf("%s: %q, %v", field, lists, err)
		}
	}
	page, err := v.List(t.Context(), view.Query{Type: "Post", Owner: "ann", Order: []view.Order{{Field: post.Field("createdAt")}}})
	if err != nil || !slices.Equal(ids(t, page.Records), []string{"2", "1"}) {
		t.Errorf("by time: %q, %v", page.Records, err)
	}
	for _, r := range model.Resources {
		for _, f := range r.Fields {
			if !f.Indexed {
				continue
			}
			q := view.Query{Type: r.Name, Filter: &view.Filter{Field: f, Op: "ne"}, Order: []view.Order{{Field: f}}}
			if _, err := v.List(t.Context(), q); err != nil {
				t.Errorf("%s.%s: %v", r.Name, f.Name, err)
			}
		}
	}
}
