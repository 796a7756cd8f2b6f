package resource_test

import (
	"encoding/json"
	"testing"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

// A command that comes once more is counted as such, and each time as carried out.
func TestCommandsThatComeAgainAreCounted(t *testing.T) {
	t.Parallel()
	m := proc.NewMetrics()
	s := resourcetest.On(t, bustest.Open(t, bus.Options{}), pads, resource.FeedOptions{})
	w := resource.NewWorker(s.Bus, s.Model, resource.WorkerOptions{Metrics: m})
	cmd := resource.Command{
		Type: "Pad", Verb: resource.Create, Input: json.RawMessage(`{"name":"a","code":"c1"}`),
		Who: auth.Principal{Subject: "root", Roles: schema.Admin}, ID: resource.NewCommandID(), Once: &resource.Once{First: true},
	}
	made, err := w.Carry(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd.Once = &resource.Once{}
		if again, err := w.Carry(t.Context(), cmd); err != nil || again.Seq != made.Seq {
			t.Fatalf("%+v %v, want that of %d", again, err, made.Seq)
		}
	}
	proctest.Scrape(t, m).Expect(t, proctest.Numbers{
		`tidings_commands_redelivered_total`: 2, `tidings_commands_total{code="OK",type="Pad",verb="create"}`: 3,
		`tidings_command_work_seconds_count{verb="create"}`: 3, `tidings_commands_running`: 0,
	})
}
