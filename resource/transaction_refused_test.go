package resource_test

import (
	"encoding/json"
	"testing"

	"tidings/bus"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// A transaction that cannot be made is answered, and no error of the bus. So that
// the bus holds it back like one while another worker may still carry it out, the
// answer says that it is a refusal.
func TestATransactionThatIsRefusedSaysSoToTheBus(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, warehouse)
	for name, c := range map[string]struct {
		change  resource.Change
		refused string
	}{
		"made":    {change("Page", resource.Create, `{"text":"x"}`), ""},
		"refused": {change("Page", resource.Update, `{"id":"nobody","text":"x"}`), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(map[string]any{"id": "t-" + name, "who": map[string]any{"roles": 0}, "changes": []resource.Change{c.change}})
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.Bus.Call(t.Context(), s.Bus.Subjects().Transaction(), nil, body)
			if err != nil || m.Header.Get(bus.HeaderRefused) != c.refused {
				t.Errorf("%s, %v: %q", m.Data, err, m.Header.Get(bus.HeaderRefused))
			}
		})
	}
}
