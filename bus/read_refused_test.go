package bus_test

import (
	"testing"

	"tidings/bus"
	"tidings/fault"
)

// A server that cannot reach the others of its cluster refuses to read; that is
// no failure of ours, and another attempt may help.
func TestAReadThatTheServerRefusesForTheMomentIsUnavailable(t *testing.T) {
	t.Parallel()
	if err := bus.Unavailable(503, 10008, "JetStream system temporarily unavailable"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
	if err := bus.Unavailable(400, 10003, "bad request"); fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
}
