package resource_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"tidings/fault"
	"tidings/resource"
	"tidings/schema"
)

func TestAVersionIsToldToThoseWhoMayReadIt(t *testing.T) {
	t.Parallel()
	m, err := schema.Load(fstest.MapFS{"s.graphql": {Data: []byte(`
type Draft @resource @auth(requires: [USER, ADMIN]) {
  id: ID!
  by: ID @owner
  version: Int! @version @auth(requires: [OWNER])
}
type Letter @resource @auth(requires: [USER], on: [UPDATE]) {
  id: ID!
  text: String
  version: Int! @version
}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typ, stored string
		told        bool
	}{
		{"Draft", `{"id":"x","by":"alice","version":3}`, true},
		{"Draft", `{"id":"x","by":"bob","version":3}`, false},
		{"Draft", `{"id":"x","by":"alice"}`, true}, // stored before versions were counted
		{"Letter", `{"id":"x","version":3}`, false},
	} {
		cmd := resource.Command{Type: c.typ, Verb: resource.Update, Who: alice, Input: json.RawMessage(`{"id":"x","expectedVersion":2}`)}
		_, err := resource.Decide(m, cmd, []byte(c.stored), time.Now(), "new")
		if f := fault.Of(err); f == nil || f.Code != fault.Conflict || (f.CurrentVersion != nil) != c.told {
			t.Errorf("%s %s: %+v", c.typ, c.stored, f)
		}
	}
	cmd := resource.Command{Type: "Draft", Verb: resource.Update, Who: alice, Input: json.RawMessage(`{"id":"x","expectedVersion":0}`)}
	d, err := resource.Decide(m, cmd, []byte(`{"id":"x","by":"alice"}`), time.Now(), "new")
	if err != nil || string(d.Raw) != `{"id":"x","by":"alice","version":1}` {
		t.Errorf("the first counted change is %s, %v", d.Raw, err)
	}
}
