package resource_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"tidings/resource"
	"tidings/resource/resourcetest"
)

// A new record's id tells its age also within a transaction that is to happen once.
func TestWhatOneTransactionCreatesSortsByPlace(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	var changes []resource.Change
	for i := range 30 {
		changes = append(changes, resource.Change{Type: "Post", Verb: resource.Create, Input: json.RawMessage(fmt.Sprintf(`{"title":"%d"}`, i))})
	}
	records, err := s.Client.Transact(t.Context(), resource.Transaction{Who: admin, Changes: changes, ID: uuid.Must(uuid.NewV7()).String(), Once: &resource.Once{First: true}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range records {
		ids = append(ids, idOf(t, r))
	}
	if !slices.IsSorted(ids) {
		t.Errorf("not in the order of the changes: %q", ids)
	}
}
