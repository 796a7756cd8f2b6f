package schema_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/schema"
)

func TestSocialModel(t *testing.T) {
	t.Parallel()
	model := loadSocial(t)
	var names []string
	for _, resource := range model.Resources {
		names = append(names, resource.Name+" "+resource.Singular+" "+resource.Plural)
	}
	if want := []string{"Follow follow follows", "Post post posts", "User user users"}; !slices.Equal(names, want) {
		t.Fatalf("resources are %v, want %v", names, want)
	}
	user, post, follow := model.Resource("User"), model.Resource("Post"), model.Resource("Follow")

	if user.Owner != user.Field("id") || post.Owner != post.Field("authorId") {
		t.Error("the owner fields are wrong")
	}
	if got := user.Auth[schema.Create].Roles; got != schema.User|schema.Service|schema.Admin {
		t.Errorf("who may create a user: %b", got)
	}
	email := user.Field("email")
	if !email.Unique || !email.Indexed || email.Auth[schema.Read] == nil || email.Auth[schema.Delete] != nil {
		t.Errorf("email is %+v", email)
	}
	if f := user.Field("createdAt"); !f.OnCreate || f.OnUpdate {
		t.Error("a time of creation must be set once")
	}
	if f := post.Field("updatedAt"); !f.OnCreate || !f.OnUpdate {
		t.Error("a time of change must be set at creation, too")
	}
	if got := string(post.Field("kind").Default) + string(post.Field("tags").Default); got != `"ARTICLE"[]` {
		t.Errorf("defaults are %s", got)
	}

	posts, followers, author := user.Field("posts").Relation, user.Field("followers").Relation, post.Field("author").Relation
	if posts.Target != post || !posts.Many || posts.Field != "authorId" || posts.Through != nil || posts.Limit != 20 {
		t.Errorf("posts is %+v", posts)
	}
	if followers.Target != user || followers.Through != follow || followers.Field != "followeeId" || followers.TargetField != "followerId" {
		t.Errorf("followers is %+v", followers)
	}
	if author.Target != user || author.Many || author.Field != "authorId" {
		t.Errorf("author is %+v", author)
	}
	for _, field := range []*schema.Field{user.Field("id"), post.Field("authorId"), follow.Field("followeeId"), follow.Field("followerId")} {
		if !field.Indexed {
			t.Errorf("%s is followed by a relation but not indexed", field.Name)
		}
	}
}

func TestRootSaysWhatAGeneratedFieldDoes(t *testing.T) {
	t.Parallel()
	model := load(t, "type City @resource { id: ID! name: String }\ntype Query { now: DateTime! }")
	for field, kind := range map[string]schema.RootKind{
		"Query.city": schema.RootGet, "Query.cities": schema.RootList, "Mutation.createCity": schema.RootCreate,
		"Mutation.updateCity": schema.RootUpdate, "Mutation.deleteCity": schema.RootDelete, "Subscription.cityChanged": schema.RootChanged,
	} {
		typ, name, _ := strings.Cut(field, ".")
		if root := model.Root(typ, name); root == nil || root.Kind != kind || root.Resource != model.Resource("City") || root.Name != name {
			t.Errorf("Root(%s) = %+v", field, root)
		}
		if model.Contract.Types[typ].Fields.ForName(name) == nil {
			t.Errorf("the contract has no %s", field)
		}
	}
	if model.Root("Query", "now") != nil {
		t.Error("a field that was written by hand has a root")
	}
}

func TestAuthUnitesAndDeniesByDefault(t *testing.T) {
	t.Parallel()
	model := load(t, `
		type A @resource @auth(requires: USER, on: READ) @auth(requires: [SERVICE], on: [READ, UPDATE]) {
			id: ID!
			all: Int @auth(requires: [ADMIN])
			one: Int @auth(requires: [USER], on: [UPDATE])
			any: Int @auth(requires: [USER], on: null)
		}`)
	a := model.Resource("A")
	want := [4]schema.Rule{{Roles: schema.User | schema.Service}, {Roles: schema.Admin | schema.Service}, {Roles: schema.Service}, {Roles: schema.Admin | schema.Service}}
	if a.Auth != want {
		t.Errorf("rules are %v, want %v", a.Auth, want)
	}
	all, one := a.Field("all").Auth, a.Field("one").Auth
	if all[schema.Read] == nil || all[schema.Create] == nil || all[schema.Update] == nil || all[schema.Delete] != nil {
		t.Errorf("a field's rule without actions covers %v", all)
	}
	if rules := a.Field("any").Auth; rules[schema.Read] == nil || rules[schema.Create] == nil {
		t.Errorf("a field's rule with null for its actions covers %v", rules)
	}
	if one[schema.Read] != nil || one[schema.Update] == nil {
		t.Errorf("a field's rule for UPDATE covers %v", one)
	}
}

func TestRulesAllow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule, caller schema.Roles
		owns, want   bool
	}{
		{schema.Anyone, 0, false, true},
		{schema.Owner, schema.User, true, true},
		{schema.Owner, schema.User, false, false},
		{schema.Owner | schema.Admin, schema.Admin, false, true},
		{schema.Owner, schema.Owner, false, false}, // a token cannot claim it
		{schema.User, schema.Anyone, false, false},
		{0, schema.Admin | schema.Service, true, false},
	} {
		if got := (schema.Rule{Roles: test.rule}).Allows(test.caller, test.owns); got != test.want {
			t.Errorf("%b allows %b (owns %t): %t", test.rule, test.caller, test.owns, got)
		}
	}
}

func TestFunctionRuleIsTheAuthOfARootFieldWrittenByHand(t *testing.T) {
	t.Parallel()
	model := load(t, "type Query { open: Int closed: Int @auth(requires: [ADMIN]) @auth(requires: [SERVICE]) }")
	if rule := model.FunctionRule("Query", "open"); rule != nil {
		t.Errorf("a field without @auth has the rule %v", rule)
	}
	if rule := model.FunctionRule("Query", "closed"); rule == nil || rule.Roles != schema.Admin|schema.Service {
		t.Errorf("got the rule %v", rule)
	}
}

func TestFingerprintChangesWithWhatIsStoredAndIndexedAlone(t *testing.T) {
	t.Parallel()
	const before = "type A @resource { id: ID! name: String b: ID }"
	base := load(t, before).Fingerprint
	for _, same := range []string{
		"\"\"\"Described.\"\"\" type A @resource @auth(requires: [ANYONE]) { id: ID! name: String @constraint(maxLength: 3) b: ID }",
		"type Query { now: Int }" + before,
	} {
		if load(t, same).Fingerprint != base {
			t.Errorf("the view would be rebuilt for nothing by %s", same)
		}
	}
	for _, other := range []string{
		"type A @resource { id: ID! name: String @index b: ID }",
		"type A @resource { id: ID! name: String @unique b: ID }",
		"type A @resource { id: ID! name: [String] b: ID }",
		"type A @resource { id: ID! name: String @default(value: \"x\") b: ID }",
		"type A @resource { id: ID! name: EmailAddress b: ID }",
		"type A @resource { id: ID! name: String b: ID @owner }",
		"type A @resource { id: ID! name: String b: ID a: A @belongsTo(field: \"b\") }",
		"type B @resource { id: ID! name: String b: ID }",
	} {
		if load(t, other).Fingerprint == base {
			t.Errorf("the view would not be rebuilt for %s", other)
		}
	}
}

func TestLoadIsStable(t *testing.T) {
	t.Parallel()
	one, two := loadSocial(t), loadSocial(t)
	if one.SDL != two.SDL || one.Fingerprint != two.Fingerprint {
		t.Error("two loads of one schema differ")
	}
}

func TestPluralsAndSingulars(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"User": "user users", "City": "city cities", "Day": "day days", "Box": "box boxes", "Status": "status statuses",
		"Branch": "branch branches", "Dish": "dish dishes", "APIKey": "apiKey apiKeys", "X": "x xes", "OrderLine": "orderLine orderLines",
	} {
		model, err := schema.Load(fstest.MapFS{"a.graphql": {Data: []byte("type " + name + " @resource { id: ID! a: Int }")}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := model.Resource(name); r.Singular+" "+r.Plural != want {
			t.Errorf("%s is %s, %s; want %s", name, r.Singular, r.Plural, want)
		}
	}
	if got := load(t, `type Person @resource(plural: "people") { id: ID! a: Int }`).Resource("Person").Plural; got != "people" {
		t.Errorf("@resource(plural:) is ignored: %s", got)
	}
}
