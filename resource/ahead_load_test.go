package resource_test

import (
	"fmt"
	"testing"

	"tidings/bus/bustest"
	"tidings/resource"
)

// Of a record that never came a tombstone may tell. It was never there, so that it
// is imported as what is new.
func TestARecordWhosePlaceWasTakenIsImported(t *testing.T) {
	t.Parallel()
	for _, on := range []resource.OnConflict{resource.ConflictFail, resource.ConflictSkip, resource.ConflictReplace} {
		b, m := bustest.New(t), social(t)
		w := resource.NewWorker(b, m, resource.WorkerOptions{})
		reserveFor(t, b, "a@example.com", "ghost")
		if _, err := w.Carry(t.Context(), createUserWith("bea", "a@example.com")); err != nil {
			t.Fatal(err)
		}
		item, _, err := resource.Fit(m, resource.Given{Type: "User", ID: "ghost",
			Record: fmt.Appendf(nil, `{"id":"ghost","name":"n","email":"g@example.com","createdAt":"2026-01-01T00:00:00Z"}`)})
		if err != nil {
			t.Fatal(err)
		}
		results, err := resource.NewLoader(b, m, resource.LoadOptions{OnConflict: on}).Load(t.Context(), []resource.Loadable{item})
		if err != nil || results[0].Err != nil || results[0].Loaded != resource.LoadedNew {
			t.Errorf("%s: %+v, %v", on, results, err)
		}
	}
}

// A trial import writes nothing, whatever it meets.
func TestATrialImportStandsInForNobody(t *testing.T) {
	t.Parallel()
	b, m := bustest.New(t), social(t)
	reserveFor(t, b, "a@example.com", "ghost")
	item, _, err := resource.Fit(m, resource.Given{Type: "User", ID: "bea",
		Record: fmt.Appendf(nil, `{"id":"bea","name":"n","email":"a@example.com","createdAt":"2026-01-01T00:00:00Z"}`)})
	if err != nil {
		t.Fatal(err)
	}
	last := end(t, b)
	results, err := resource.NewLoader(b, m, resource.LoadOptions{Dry: true}).Load(t.Context(), []resource.Loadable{item})
	if err != nil || results[0].Loaded != resource.LoadedNew || end(t, b) != last {
		t.Errorf("%+v, %v; the log went from %d to %d", results, err, last, end(t, b))
	}
}
