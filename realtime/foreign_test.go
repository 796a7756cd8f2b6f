package realtime_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/service"
)

const alarmsSDL = `
type Query { one: Int @busRequest(subject: "one") }
type Subscription { alarms: Alarm @busSubscribe(subject: "alarms.*", stream: "ALARMS") }
type Alarm { n: Int! }
`

// What a service of the adopter's has stored is followed from process to
// process, over both transports by turns, with no gap and nothing twice.
func TestAStreamOfAnAdopterIsFollowedOverBothTransports(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "ALARMS", Subjects: []string{"alarms.*"}, Storage: nats.MemoryStorage}); err != nil {
		t.Fatal(err)
	}
	var urls []string
	for range 2 {
		s := resourcetest.Reader(t, b, fstest.MapFS{"schema.graphql": {Data: []byte(alarmsSDL)}}, resource.FeedOptions{})
		services, err := service.New(b, s.Model)
		if err != nil {
			t.Fatal(err)
		}
		e, err := graphql.New(s.Model, s.Client, s.Feed, graphql.Options{Services: services})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		hub := newHub(t, e, realtime.Options{})
		srv := httptest.NewServer(hub.Wrap(e))
		t.Cleanup(srv.Close)
		t.Cleanup(func() { _ = hub.Close() })
		urls = append(urls, srv.URL)
	}
	id, _, _, err := b.StreamState(t.Context(), "ALARMS")
	if err != nil {
		t.Fatal(err)
	}
	cursor := resource.Position{Log: id}.String()
	var got, want []int
	for turn := range 8 {
		for range 5 {
			want = append(want, len(want)+1)
			if _, err := js.Publish("alarms.a", fmt.Appendf(nil, `{"n":%d}`, len(want))); err != nil {
				t.Fatal(err)
			}
		}
		follow := followBySocket
		if turn%2 == 1 {
			follow = followByStream
		}
		var numbers []int
		numbers, cursor = follow(t, urls[turn/2%2], cursor, 4) // one of five is missed each time
		got = append(got, numbers...)
	}
	numbers, _ := followByStream(t, urls[0], cursor, len(want)-len(got))
	if got = append(got, numbers...); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

type alarm struct {
	Data       struct{ Alarms struct{ N int } }
	Extensions struct{ Cursor string }
}

const alarmsQuery = `subscription { alarms { n } }`

func followBySocket(t *testing.T, url, cursor string, count int) (numbers []int, last string) {
	t.Helper()
	c := connect(t, url, "")
	defer c.ws.Close()
	payload, _ := json.Marshal(map[string]any{"query": alarmsQuery, "extensions": map[string]string{"cursor": cursor}})
	c.send(`{"id":"1","type":"subscribe","payload":` + string(payload) + `}`)
	for len(numbers) < count {
		data, err := c.read()
		var m struct {
			Type    string
			Payload alarm
		}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil || m.Type != "next" {
			t.Fatalf("%s, %v", data, err)
		}
		numbers, last = append(numbers, m.Payload.Data.Alarms.N), m.Payload.Extensions.Cursor
	}
	return numbers, last
}

func followByStream(t *testing.T, url, cursor string, count int) (numbers []int, last string) {
	t.Helper()
	e := post(t, url, alarmsQuery, http.Header{"Last-Event-Id": {cursor}})
	defer e.resp.Body.Close()
	for len(numbers) < count {
		ev, err := e.next()
		var a alarm
		if err == nil {
			err = json.Unmarshal([]byte(ev.data), &a)
		}
		if err != nil || ev.id != a.Extensions.Cursor {
			t.Fatalf("%+v, %v", ev, err)
		}
		numbers, last = append(numbers, a.Data.Alarms.N), ev.id
	}
	return numbers, last
}
