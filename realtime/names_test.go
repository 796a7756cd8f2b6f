package realtime_test

import (
	"net/http"
	"strings"
	"testing"

	"tidings/realtime"
)

func TestMembersOfAnOperationHaveExactNames(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	c := connect(t, f.url, "")
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"query who","Query":"subscription x"}}`)
	if text := c.expectClose(4400); !strings.Contains(text, `write "query"`) {
		t.Errorf("closed with %q", text)
	}
}

func TestAnOperationForAStreamIsInUTF8(t *testing.T) {
	t.Parallel()
	f := serve(t, realtime.Options{})
	r, err := http.NewRequestWithContext(t.Context(), "POST", f.url, strings.NewReader("{\"query\":\"query \xff\"}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", resp.StatusCode)
	}
}
