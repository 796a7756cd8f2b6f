package view_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"tidings/schema"
	"tidings/view"
)

// fixture is a small model: people write posts and follow each other, and two
// resources have names that SQL keeps for itself.
type fixture struct {
	model                          *schema.Model
	user, post, follow, order      *schema.Resource
	posts, followers               *schema.Relation
	title, minutes, score, draft   *schema.Field
	created, kind, author, content *schema.Field
}

func field(name string, kind schema.Kind, indexed bool) *schema.Field {
	return &schema.Field{Name: name, Kind: kind, Indexed: indexed, Type: ast.NamedType(name, nil)}
}

func newFixture() fixture {
	id := func() *schema.Field { return field("id", schema.KindID, true) }
	f := fixture{
		title: field("title", schema.KindString, true), minutes: field("minutes", schema.KindInt, true),
		score: field("score", schema.KindFloat, true), draft: field("draft", schema.KindBoolean, true),
		created: field("createdAt", schema.KindDateTime, true), kind: field("kind", schema.KindEnum, true),
		author: field("authorId", schema.KindID, false), content: field("content", schema.KindString, false),
	}
	f.user = &schema.Resource{Name: "User"}
	f.user.Fields = []*schema.Field{id(), field("name", schema.KindString, true)}
	f.user.Owner = f.user.Fields[0]
	f.post = &schema.Resource{Name: "Post", Owner: f.author}
	f.post.Fields = []*schema.Field{id(), f.author, f.title, f.minutes, f.score, f.draft, f.created, f.kind, f.content}
	follower, followee := field("followerId", schema.KindID, false), field("followeeId", schema.KindID, false)
	f.follow = &schema.Resource{Name: "Follow", Owner: follower, Fields: []*schema.Field{id(), follower, followee}}
	f.order = &schema.Resource{Name: "Order", Fields: []*schema.Field{
		id(), field("group", schema.KindString, true), field("Group", schema.KindString, true), field("rowid", schema.KindInt, true),
		field("doc", schema.KindString, true), field("seq", schema.KindInt, true), field("select", schema.KindBoolean, true),
	}}
	f.posts = &schema.Relation{Target: f.post, Many: true, Field: "authorId", Limit: 20}
	f.followers = &schema.Relation{Target: f.user, Many: true, Field: "followeeId", Through: f.follow, TargetField: "followerId", Limit: 20}
	f.user.Fields = append(f.user.Fields,
		&schema.Field{Name: "posts", Kind: schema.KindObject, Relation: f.posts},
		&schema.Field{Name: "followers", Kind: schema.KindObject, Relation: f.followers})
	f.model = &schema.Model{
		Resources: []*schema.Resource{f.follow, f.order, f.post, f.user,
			{Name: "group", Fields: []*schema.Field{id()}}, {Name: "Group", Fields: []*schema.Field{id()}},
			{Name: "meta", Fields: []*schema.Field{id()}}, {Name: "sqlite_master", Fields: []*schema.Field{id()}}},
		Fingerprint: "f1",
	}
	return f
}

func open(t testing.TB, m *schema.Model, dir string) *view.View {
	t.Helper()
	return openWith(t, m, view.Options{Dir: dir})
}

func openWith(t testing.TB, m *schema.Model, o view.Options) *view.View {
	t.Helper()
	v, err := view.Open(t.Context(), m, "log1", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// object is a record before it is JSON.
type object map[string]any

func (o object) raw() []byte {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return raw
}

// put applies records of one type, each with the next sequence.
func put(t testing.TB, v records, typ string, records ...object) {
	t.Helper()
	seq := v.Position()
	changes := make([]view.Change, 0, len(records))
	for _, r := range records {
		seq++
		changes = append(changes, view.Change{Seq: seq, Type: typ, ID: r["id"].(string), Raw: r.raw()})
	}
	if err := v.Apply(t.Context(), seq, changes); err != nil {
		t.Fatal(err)
	}
}

// ids reads the ids out of raw records; "-" for none.
func ids(t testing.TB, docs [][]byte) []string {
	t.Helper()
	out := make([]string, len(docs))
	for i, d := range docs {
		if out[i] = "-"; d == nil {
			continue
		}
		var r struct{ ID string }
		if err := json.Unmarshal(d, &r); err != nil {
			t.Fatal(err)
		}
		out[i] = r.ID
	}
	return out
}

func numbered(n int) string { return fmt.Sprintf("p%06d", n) }
