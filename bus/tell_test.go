package bus_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// makeStream creates a stream of an adopter's.
func makeStream(t testing.TB, b *bus.Bus, c jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(bus.Conn(b))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateStream(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func alarms() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "ALARMS", Subjects: []string{"alarms.>"}, Storage: jetstream.MemoryStorage}
}

func TestTellReachesThoseWhoListen(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	got := make(chan *nats.Msg, 1)
	if _, err := bus.Conn(b).ChanSubscribe("telemetry.7.command", got); err != nil {
		t.Fatal(err)
	}
	if err := b.Tell(t.Context(), "", "telemetry.7.command", bus.Header{"K": {"v"}}, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if m := <-got; string(m.Data) != "{}" || m.Header.Get("K") != "v" {
		t.Errorf("%+v", m)
	}
	if err := b.Tell(t.Context(), "", "telemetry.8.command", nil, nil); err != nil {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestTellWithoutAServerIsUnavailable(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Listen: "127.0.0.1:0"})
	b := bustest.Open(t, bus.Options{URL: server.URL(), Memory: true})
	closeBus(t, server)
	until(t, "the loss of the connection is noticed", func() bool { return b.Ready() != nil })
	for _, stream := range []string{"", "ALARMS"} {
		if err := b.Tell(t.Context(), stream, "alarms.x", nil, nil); !fault.Is(err, fault.Unavailable) {
			t.Errorf("stream %q: %v", stream, err)
		}
	}
}

func TestWhatIsToldToAStreamIsStoredThereOrNowhere(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := makeStream(t, b, alarms())
	once := bus.Header{"Nats-Msg-Id": {"1"}}
	for range 2 {
		if err := b.Tell(t.Context(), "ALARMS", "alarms.x", once, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	makeStream(t, b, jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other.>"}, Storage: jetstream.MemoryStorage, MaxMsgSize: 100})
	for _, c := range []struct {
		stream, subject string
		size            int
		code            fault.Code
		says            string
	}{
		{"NONE", "alarms.x", 0, fault.Unavailable, "no stream NONE: create it"},
		{"NONE", "nobody.x", 0, fault.Unavailable, "no stream NONE: create it"},
		{"OTHER", "alarms.x", 0, fault.Unavailable, "OTHER does not take what is published on alarms.x: add"},
		{"ALARMS", "nobody.x", 0, fault.Unavailable, "ALARMS does not take what is published on nobody.x: add"},
		{"OTHER", "other.x", 200, fault.PayloadTooLarge, "OTHER"},
	} {
		err := b.Tell(t.Context(), c.stream, c.subject, nil, make([]byte, c.size))
		if !fault.Is(err, c.code) || !strings.Contains(fault.Of(err).Message, c.says) {
			t.Errorf("%s on %s: %v", c.stream, c.subject, err)
		}
	}
	if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != 1 {
		t.Errorf("stored %d messages, want 1: %v", info.State.Msgs, err)
	}
}

func TestAnAnswerThatIsNoAcknowledgementIsNoSuccess(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for subject, says := range map[string]string{"svc.a": `{"ok":true}`, "svc.b": "hello", "svc.c": `{"stream":"OTHER","seq":1}`, "svc.d": ""} {
		responder(t, b, subject, saying(says))
		if err := b.Tell(t.Context(), "ALARMS", subject, nil, nil); !fault.Is(err, fault.Internal) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
