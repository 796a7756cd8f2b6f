package resource_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/nats-io/nats.go"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

func check(t *testing.T, s *resourcetest.Service) resource.LogCheck {
	t.Helper()
	found, err := resource.CheckLog(t.Context(), s.Bus, s.Model, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestACheckNamesWhatIsWrongAndARepairMendsWhatNeedsNoChoice(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	s := resourcetest.On(t, b, pads, resource.FeedOptions{})
	create := func(code string) (string, error) {
		r, err := s.Client.Submit(t.Context(), resource.Command{Type: "Pad", Verb: resource.Create, Input: json.RawMessage(`{"name":"n","code":"` + code + `"}`), Who: auth.Principal{Subject: "root"}})
		var v struct{ ID string }
		_ = json.Unmarshal(r.Raw, &v) // empty with an error
		return v.ID, err
	}
	var ids []string
	for i := range 5 {
		id, err := create(fmt.Sprint("c", i))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if found := check(t, s); found.Flaws() != 0 || found.Records.Records != 5 {
		t.Fatalf("%+v", found)
	}

	out := newStranger(t, b)
	kind := func(k string) nats.Header { return nats.Header{"Tidings-Kind": {k}} }
	unique := map[string]string{} // of the codes
	_, err := b.Read(t.Context(), "tidings.log._unique.Pad.code.*", 0, 1000, func(m bus.Message) error {
		unique[fmt.Sprint("c", len(unique))] = m.Subject
		return nil
	})
	if err != nil || len(unique) != 5 {
		t.Fatal(unique, err)
	}
	out.write(b.Subjects().Record("Pad", ids[0]), kind("DELETED"), `{"id":"`+ids[0]+`"}`)                      // a reservation without its record
	out.write(unique["c1"], nil, `{}`)                                                                         // a record without its reservation
	out.write(unique["c2"], nil, `{"id":"`+ids[1]+`"}`)                                                        // that of another one
	out.write(b.Subjects().Record("Pad", "strange"), kind("CREATED"), `{"id":"strange","name":7,"code":"c9"}`) // does not fit, and is not reserved
	garbage := out.write(b.Subjects().Record("Pad", ids[3]), nil, `garbage`)
	out.write("tidings.log.a.b.c", nil, ``)
	out.write("tidings.log._unique.Pad", nil, `{}`)
	out.write(b.Subjects().Reference("Pad", ids[3]), nil, `{}`)
	out.write(b.Subjects().Checked(), nil, ``) // by bus.Confirm
	out.write(unique["c4"], nil, `garbage`)    // the one before it counts

	found := check(t, s)
	if found.OrphanCount != 1 || found.Orphans[0].ID != ids[0] || found.UnreservedCount != 3 || found.MalformedCount != 4 || found.Records.Flawed != 1 || found.Records.Records != 5 {
		t.Errorf("%+v", found)
	}
	if m := found.Malformed[0]; m.Seq != garbage || m.Reason != resource.MalformedKind || !m.Last {
		t.Errorf("%+v", m)
	}
	mended, err := resource.RepairLog(t.Context(), b, s.Model, found, nil)
	if err != nil || mended != 4 {
		t.Errorf("%d, %v", mended, err)
	}
	found = check(t, s)
	if found.OrphanCount+found.UnreservedCount != 0 || found.MalformedCount != 4 {
		t.Errorf("after the repair: %+v", found)
	}
	for _, code := range []string{"c1", "c2", "c3", "c4", "c9"} {
		if _, err := create(code); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s is taken twice: %v", code, err)
		}
	}
	if _, err := create("c0"); err != nil {
		t.Errorf("c0 is not free: %v", err)
	}
}

func TestACheckNamesReferencesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, fstest.MapFS{"schema.graphql": {Data: []byte(`
type Pen @resource @auth(requires: [ANYONE], on: [READ, CREATE, UPDATE, DELETE]) { id: ID! name: String v: Int! @version }
type Cap @resource @auth(requires: [ANYONE], on: [READ, CREATE, UPDATE, DELETE]) {
  id: ID!
  penId: ID @index
  pen: Pen @belongsTo(field: "penId", onDelete: SET_NULL)
}`)}})
	l := resource.NewLoader(s.Bus, s.Model, resource.LoadOptions{OnConflict: resource.ConflictReplace})
	load := func(g resource.Given) {
		t.Helper()
		item, _, err := resource.Fit(s.Model, g)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := l.Load(t.Context(), []resource.Loadable{item}); err != nil || r[0].Err != nil {
			t.Fatal(r, err)
		}
	}
	load(resource.Given{Type: "Cap", ID: "a", Record: []byte(`{"id":"a","penId":"p"}`)}) // before what it refers to, as in a file
	load(resource.Given{Type: "Cap", ID: "b", Record: []byte(`{"id":"b","penId":"none"}`)})
	load(resource.Given{Type: "Cap", ID: "c", Record: []byte(`{"id":"c","penId":null}`)})
	load(resource.Given{Type: "Pen", ID: "p", Record: []byte(`{"id":"p","name":"n","v":7}`)})
	found := check(t, s)
	if found.DanglingCount != 1 || found.Dangling[0].ID != "b" || found.Flaws() != 1 {
		t.Errorf("%+v", found)
	}
	// So does a look at what a schema that is to come would find; it refuses nothing.
	inspected, err := resource.Inspect(t.Context(), s.Bus, s.Model)
	if err != nil || inspected.DanglingCount != 1 || inspected.Dangling[0] != found.Dangling[0] || inspected.Flawed != 0 || inspected.Err() != nil {
		t.Errorf("%+v, %v", inspected, err)
	}
	// Versions are those that are told, of deletions too.
	version := func() string {
		t.Helper()
		m, err := s.Bus.Last(t.Context(), s.Bus.Subjects().Record("Pen", "p"))
		if err != nil {
			t.Fatal(err)
		}
		return string(m.Data)
	}
	if got := version(); got != `{"id":"p","name":"n","v":7}` {
		t.Error(got)
	}
	load(resource.Given{Type: "Pen", ID: "p", Deleted: true, Record: []byte(`{"id":"p","v":9}`)})
	if got := version(); got != `{"id":"p","v":9}` {
		t.Error(got)
	}
}
