package realtime_test

import (
	"net/http"
	"testing"
	"time"

	"tidings/auth"
	"tidings/realtime"
	"tidings/schema"
)

func TestACallerHasAsManyConnectionsAsItMay(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{MaxPerCaller: 2})
	token, err := auth.Sign(secret, auth.Principal{Subject: "ada", Roles: schema.User}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ada := `{"authToken":"` + token + `"}`
	first := connect(t, f.url, ada)
	connect(t, f.url, ada)
	third := dial(t, f.url)
	third.send(`{"type":"connection_init","payload":` + ada + `}`)
	if text := third.expectClose(1013); text == "" {
		t.Error("the client is not told why")
	}
	connect(t, f.url, "") // an anonymous one is another caller
	connect(t, f.url, "")
	dialled := dial(t, f.url)
	dialled.send(`{"type":"connection_init"}`)
	dialled.expectClose(1013)
	if status := stream(t, f.url, ""); status != http.StatusTooManyRequests {
		t.Errorf("an event stream beside them: %d", status)
	}
	if status := stream(t, f.url, token); status != http.StatusTooManyRequests {
		t.Errorf("an event stream of ada: %d", status)
	}
	first.ws.Close()
	eventually(t, "the place is free again", func() bool { return f.hub.Stats().Sockets == 3 })
	connect(t, f.url, ada)
}

// stream asks for an event stream and returns the status.
func stream(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"?query={x}", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestACallerWhoHasUsedUpItsRateIsToldSo(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"limited { x }"}}`)
	c.expect(`{"id":"1","type":"error","payload":[{"message":"too many requests","extensions":{"code":"RATE_LIMITED","retryAfter":7}}]}`)
}
