package bus_test

import (
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestBatchesWaitWhereOneServerMakesADirectoryForEach(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	for name, c := range map[string]struct {
		b    *bus.Bus
		want bool
	}{
		"embedded":                        {server, true},
		"embedded, each append is forced": {bustest.Open(t, bus.Options{Dir: t.TempDir(), SyncAlways: true}), false},
		"of a server nobody knows":        {bustest.Open(t, bus.Options{URL: server.URL(), Memory: true}), false},
	} {
		if got := c.b.BatchesWait(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
