package schema_test

import (
	"testing"

	"tidings/schema"
)

func TestAResourceSaysWhatBecomesOfSlowSubscribers(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]schema.Slow{``: schema.SlowClose, `(onSlow: CLOSE)`: schema.SlowClose, `(onSlow: LATEST)`: schema.SlowLatest, `(plural: "things")`: schema.SlowClose} {
		if got := load(t, `type Thing @resource`+args+` { id: ID! a: Int }`).Resource("Thing").OnSlow; got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}
