package realtime_test

import (
	"testing"
	"time"

	"tidings/realtime"
)

// Who has not said who they are takes no place of those who have, and the oldest of
// them makes room for the next.
func TestTheOldestStrangerMakesRoom(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxConnections: 2, MaxStrangers: 3, InitTimeout: time.Hour})
	oldest := dial(t, f.url)
	others := []*client{dial(t, f.url), dial(t, f.url), dial(t, f.url)}
	eventually(t, "one of four is put out", func() bool { return f.hub.Stats().Sockets == 3 })
	if _, _, err := oldest.ws.ReadMessage(); err == nil {
		t.Fatal("the oldest one is told something")
	}
	for _, c := range others[:2] {
		c.send(`{"type":"connection_init"}`)
		c.expect(`{"type":"connection_ack"}`)
	}
	dial(t, f.url).expectClose(1013) // full is full, for whoever comes
	others[2].send(`{"type":"connection_init"}`)
	others[2].expectClose(1013)
	others[0].ws.Close()
	eventually(t, "there is a place", func() bool { return f.hub.Stats().Sockets == 1 })
	connect(t, f.url, "")
}

func TestStrangersAreNoCrowdWhereNothingBoundsTheOthers(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxStrangers: 3})
	dial(t, f.url)
	if err := f.hub.Crowded(); err != nil {
		t.Error(err)
	}
	connect(t, f.url, "")
}
