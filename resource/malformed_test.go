package resource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats.go"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/internal/proc"
	"tidings/internal/proc/proctest"
	"tidings/resource"
	"tidings/resource/resourcetest"
	"tidings/schema"
)

var pads = fstest.MapFS{"schema.graphql": {Data: []byte(`
type Pad @resource @auth(requires: [ANYONE], on: [READ, CREATE, UPDATE, DELETE]) {
  id: ID!
  name: String
  code: String @unique
}
`)}}

// stranger writes into the log whatever it likes.
type stranger struct {
	t  *testing.T
	nc *nats.Conn
}

func newStranger(t *testing.T, b *bus.Bus) stranger {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return stranger{t, nc}
}

// write stores a message and returns its sequence.
func (s stranger) write(subject string, header nats.Header, data string) uint64 {
	s.t.Helper()
	resp, err := s.nc.RequestMsg(&nats.Msg{Subject: subject, Header: header, Data: []byte(data)}, 20*time.Second)
	if err != nil {
		s.t.Fatalf("%.100s: %v", subject, err)
	}
	var ack struct {
		Seq   uint64
		Error *struct{ Description string }
	}
	if err := json.Unmarshal(resp.Data, &ack); err != nil || ack.Error != nil {
		s.t.Fatalf("%.100s: %s, %v", subject, resp.Data, err)
	}
	return ack.Seq
}

func scrape(t *testing.T, m *proc.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Route().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever stands in the log, it is named once, and everybody goes on.
func TestMessagesThatAreNoRecordsAreNamedOnceAndPassedOver(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	said, m := &proctest.Log{}, proc.NewMetrics()
	log := slog.New(slog.NewTextHandler(said, nil))
	s := resourcetest.On(t, b, pads, resource.FeedOptions{Metrics: m, Logger: log})
	w := resource.NewWorker(b, s.Model, resource.WorkerOptions{Metrics: m, Logger: log})
	seen := make(events, 1000)
	if _, err := s.Feed.Join(resource.FromNow, seen); err != nil {
		t.Fatal(err)
	}
	carry := func(verb resource.Verb, input string) (resource.Record, error) {
		return w.Carry(t.Context(), resource.Command{Type: "Pad", Verb: verb, Input: json.RawMessage(input), Who: auth.Principal{Subject: "root", Roles: schema.Admin}, ID: resource.NewCommandID()})
	}
	made, err := carry(resource.Create, `{"name":"before","code":"c1"}`)
	if err != nil {
		t.Fatal(err)
	}
	id := struct{ ID string }{}
	if err := json.Unmarshal(made.Raw, &id); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.WaitFor(t.Context(), made.Seq); err != nil {
		t.Fatal(err)
	}
	cursor := s.Client.Position()

	out := newStranger(t, b)
	kind := nats.Header{"Tidings-Kind": {"UPDATED"}}
	record := b.Subjects().Record("Pad", id.ID)
	bombs := nats.Header{"Tidings-Kind": {"UPDATED"}}
	for i := range 2000 {
		bombs[fmt.Sprintf("X-%d", i)] = []string{strings.Repeat("x", 20)}
	}
	var seqs []uint64
	reasons := map[string]int{}
	bad := func(reason, subject string, header nats.Header, data string) {
		t.Helper()
		seqs = append(seqs, out.write(subject, header, data))
		reasons[reason]++
	}
	bad("kind", record, nil, `{"id":"`+id.ID+`","name":"no headers"}`)
	bad("kind", record, nats.Header{"Tidings-Kind": {"updated"}}, `{"id":"`+id.ID+`"}`)
	bad("json", record, kind, `{"id":"`+id.ID+`"`)
	bad("json", record, kind, ``)
	bad("json", record, kind, `null`)
	bad("json", record, kind, `["`+id.ID+`"]`)
	bad("json", record, kind, strings.Repeat("garbage ", 1<<20/8-1000))
	bad("json", record, kind, "\xff\xfe{\x00")
	bad("id", record, kind, `{"id":"other"}`)
	bad("id", record, kind, `{"name":"none"}`)
	bad("json", record, bombs, `x`)
	bad("id", b.Subjects().Record("Pad", "never"), nats.Header{"Tidings-Kind": {"CREATED"}}, `{"id":"x"}`)
	bad("subject", "tidings.log.Pad.a.b", kind, `{"id":"a.b"}`)
	bad("subject", "tidings.log.Pad", kind, `{"id":""}`)
	bad("subject", "tidings.log.Pad.=YWJj", kind, `{"id":"abc"}`) // abc needs no encoding
	bad("subject", "tidings.log.Pad.=***", kind, `{"id":"***"}`)
	bad("subject", "tidings.log.Päd.x", kind, `{"id":"x"}`)
	bad("subject", "tidings.log.x."+strings.Repeat("y.", 100)+"z", kind, `{}`)
	out.write("tidings.log.Gone.x", nats.Header{"Tidings-Kind": {"CREATED"}}, `{"id":"x"}`)
	out.write("tidings.log.Gone.y", nats.Header{"Tidings-Kind": {"CREATED"}}, `{"id":"y"}`)

	// Somebody decides on top of it.
	if r, err := carry(resource.Update, `{"id":"`+id.ID+`","name":"after"}`); err != nil || !strings.Contains(string(r.Raw), `"code":"c1"`) {
		t.Fatalf("%s, %v", r.Raw, err)
	}
	if r, err := carry(resource.Create, `{"name":"new","code":"c1"}`); err == nil {
		t.Errorf("a unique value is taken twice: %s", r.Raw)
	}
	if _, err := carry(resource.Update, `{"id":"never"}`); err == nil {
		t.Error("what never was is changed")
	}
	last, err := carry(resource.Create, `{"name":"new","code":"c2"}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client.WaitFor(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}

	// What a subscriber sees: the changes, and that nothing was lost.
	var got []resource.Event
	for len(got) < 3 {
		got = append(got, <-seen)
	}
	for i, e := range got {
		if e.Lost || i == 1 && (!strings.Contains(string(e.Raw), "after") || !strings.Contains(string(e.Before), "before")) {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	var replayed []resource.Event
	if _, err := s.Feed.Replay(t.Context(), "Pad", "", cursor.Seq, func(e resource.Event) error {
		replayed = append(replayed, e)
		return nil
	}); err != nil || len(replayed) != 2 {
		t.Errorf("a replay: %+v, %v", replayed, err)
	}

	text := said.String()
	for _, seq := range seqs {
		if n := strings.Count(text, fmt.Sprintf(" seq=%d ", seq)); n < 1 || n > 2 { // the worker may say it too
			t.Errorf("message %d is named %d times", seq, n)
		}
	}
	if strings.Contains(text, "garbage") || strings.Contains(text, "no headers") {
		t.Error("the log tells data")
	}
	if n := strings.Count(text, "type that the schema does not have"); n != 1 {
		t.Errorf("the type is named %d times", n)
	}
	numbers := scrape(t, m)
	reasons["type"] = 2
	for reason, n := range reasons {
		if want := fmt.Sprintf(`tidings_log_left_out_total{reader="feed",reason="%s"} %d`, reason, n); !strings.Contains(numbers, want) {
			t.Errorf("%s is not in\n%s", want, numbers)
		}
	}
	for _, want := range []string{`tidings_commands_total{code="OK",type="Pad",verb="create"} 2`, `tidings_commands_total{code="CONFLICT",type="Pad",verb="create"} 1`} {
		if !strings.Contains(numbers, want) {
			t.Errorf("%s is not in the metrics", want)
		}
	}

	// A view that is built anew, in either way, says the same.
	for _, fill := range []uint64{1, 1 << 40} {
		again := resourcetest.Reader(t, b, pads, resource.FeedOptions{FillAfter: fill})
		raws, err := again.View.Get(context.Background(), "Pad", []string{id.ID, "never", "other"})
		if err != nil || !strings.Contains(string(raws[0]), "after") || raws[1] != nil || raws[2] != nil {
			t.Errorf("%s, %v", raws, err)
		}
	}
}

type events chan resource.Event

func (c events) Offer(e resource.Event) { c <- e }

// A malformed message is the last of a record, and nobody has written since.
func TestARecordIsWhatItsNewestSoundMessageSays(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	s := resourcetest.On(t, b, pads, resource.FeedOptions{})
	made, err := s.Client.Submit(t.Context(), resource.Command{Type: "Pad", Verb: resource.Create, Input: json.RawMessage(`{"name":"sound","code":"c1"}`), Who: auth.Principal{Subject: "root"}})
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ ID string }
	if err := json.Unmarshal(made.Raw, &v); err != nil {
		t.Fatal(err)
	}
	out := newStranger(t, b)
	out.write(b.Subjects().Record("Pad", v.ID), nil, "x")
	for _, fill := range []uint64{1, 1 << 40} {
		again := resourcetest.Reader(t, b, pads, resource.FeedOptions{FillAfter: fill})
		raws, err := again.View.Get(t.Context(), "Pad", []string{v.ID})
		if err != nil || !strings.Contains(string(raws[0]), "sound") {
			t.Errorf("filled after %d: %s, %v", fill, raws, err)
		}
	}
	found, err := resource.Inspect(t.Context(), b, s.Model)
	if err != nil || found.Records != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	// Its unique value is still its own, though the reservation is garbage, too.
	err = b.Latest(t.Context(), "tidings.log._unique.>", made.Seq, func(m bus.Message) error {
		out.write(m.Subject, nil, "garbage")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	create := func() error {
		_, err := s.Client.Submit(t.Context(), resource.Command{Type: "Pad", Verb: resource.Create, Input: json.RawMessage(`{"code":"c1"}`), Who: auth.Principal{Subject: "root"}})
		return err
	}
	if err := create(); err == nil || !strings.Contains(err.Error(), "has this code") {
		t.Errorf("a unique value is taken twice: %v", err)
	}
	if _, err := s.Client.Submit(t.Context(), resource.Command{Type: "Pad", Verb: resource.Delete, Input: json.RawMessage(`{"id":"` + v.ID + `"}`), Who: auth.Principal{Subject: "root"}}); err != nil {
		t.Error(err)
	}
	if err := create(); err != nil {
		t.Errorf("a unique value that was given back is not free: %v", err)
	}
}
