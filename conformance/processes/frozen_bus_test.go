//go:build conformance

package processes

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A NATS server that stands still closes nothing. Its clients notice within the
// time of the setting, and when it goes on each is there again, counts that, and
// its subscribers hear what follows.
func TestANATSServerThatStandsStillIsNoticedAndComesBack(t *testing.T) {
	t.Parallel()
	const silence = 4 * time.Second
	c := startCluster(t, "TIDINGS_NATS_SILENCE="+silence.String())
	a := c.apis[0]
	ada := token(t, c.data, "ada", "USER")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	socket, err := dialSocket(ctx, a.url, anybody, userChanges)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.close()
	counts(t, a, "tidings_bus_connected 1", "tidings_bus_reconnects_total 0")

	began := time.Now()
	c.nats.signal(t, syscall.SIGSTOP)
	counts(t, a, "tidings_bus_connected 0")
	t.Logf("noticed after %v of %v", time.Since(began), silence)
	c.nats.signal(t, syscall.SIGCONT)
	counts(t, a, "tidings_bus_connected 1", "tidings_bus_reconnects_total 1")
	poll(t, time.Minute, "a user is made", func() error {
		_, err := post(ctx, a.url, ada, createUser("Ada", "ada@example.org"))
		return err
	})
	expect(t, socket, "CREATED", "ada", "Ada")
}

// Who loses its rights loses its connections, and that is counted as what it is.
func TestConnectionsThatARevocationClosesAreCounted(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a := c.apis[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	what := call{Query: `subscription { userChanged { kind } }`}
	for _, dial := range []func(context.Context, string, string, call) (stream, error){dialSocket, dialEvents} {
		s, err := dial(ctx, a.url, token(t, c.data, "ada", "USER"), what)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
	}
	counts(t, a, `tidings_operations_live{transport="websocket"} 1`, `tidings_operations_live{transport="sse"} 1`,
		`tidings_connections_closed_total{reason="revoked",transport="websocket"} 0`, `tidings_connections_closed_total{reason="revoked",transport="sse"} 0`)
	resp, err := client.Post(c.apis[1].adminPort()+"/revoke", "application/json", strings.NewReader(`{"sub":"ada"}`)) // the other one
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%+v, %v", resp, err)
	}
	resp.Body.Close()
	counts(t, a, `tidings_connections_closed_total{reason="revoked",transport="websocket"} 1`, `tidings_connections_closed_total{reason="revoked",transport="sse"} 1`,
		`tidings_operations_live{transport="websocket"} 0`, `tidings_operations_live{transport="sse"} 0`)
}

// counts waits until the metrics of a process have these lines.
func counts(t testing.TB, a *api, want ...string) {
	t.Helper()
	poll(t, time.Minute, fmt.Sprintf("%s counts %s", a.name, want), func() error {
		status, text := fetch(t, a.adminPort()+"/metrics", anybody, "")
		if status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		for _, line := range want {
			if !strings.Contains(text, "\n"+line+"\n") {
				return fmt.Errorf("not %s", line)
			}
		}
		return nil
	})
}
