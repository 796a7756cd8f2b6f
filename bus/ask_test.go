package bus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
)

// responder answers like a service in another language: without our headers.
func responder(t *testing.T, b *bus.Bus, subject string, answer func(*nats.Msg) *nats.Msg) {
	t.Helper()
	sub, err := bus.Conn(b).Subscribe(subject, func(m *nats.Msg) {
		if err := m.RespondMsg(answer(m)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() }) // the connection may be closed already
}

func saying(body string) func(*nats.Msg) *nats.Msg {
	return func(*nats.Msg) *nats.Msg { return &nats.Msg{Data: []byte(body)} }
}

func TestAskBringsWhatTheServiceAnswers(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	responder(t, b, "telemetry.*.status", func(m *nats.Msg) *nats.Msg {
		return &nats.Msg{Data: fmt.Appendf(nil, "%s %s %s", m.Subject, m.Header.Get("K"), m.Data), Header: nats.Header{"A": {m.Header.Get(bus.HeaderTimeout)}}}
	})
	m, err := b.Ask(t.Context(), "telemetry.{{ args.id }}.status", "telemetry.7.status", bus.Header{"K": {"v"}}, []byte("{}"))
	if err != nil || string(m.Data) != "telemetry.7.status v {}" || m.Header.Get("A") == "" {
		t.Fatalf("%+v, %v", m, err)
	}
}

func TestAnErrorOfAServiceBecomesAFaultOfTheClosedSet(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	secret := "the password of the database is hunter2"
	for i, c := range []struct {
		answer  nats.Msg
		code    fault.Code
		message string
	}{
		{nats.Msg{Data: []byte(`{"error":{"code":"NOT_FOUND","message":"no such device"}}`)}, fault.NotFound, "no such device"},
		{nats.Msg{Data: []byte(" {\n\"error\" : {\"code\":\"BAD_USER_INPUT\",\"message\":\"too\\r\\nhot\",\"field\":\"limit\"} }\n")}, fault.BadUserInput, "too hot"},
		{nats.Msg{Data: []byte(`{"error":{"code":"CONFLICT"}}`)}, fault.Conflict, "the service refused it"},
		{nats.Msg{Data: []byte(`{"error":{"code":"CONFLICT","message":"` + strings.Repeat("ü", 1000) + `"}}`)}, fault.Conflict, strings.Repeat("ü", 250) + "…"},
		{nats.Msg{Data: []byte(`{"error":{"code":"E_DATABASE","message":"` + secret + `"}}`)}, fault.Internal, "internal error"},
		{nats.Msg{Data: []byte(`{"error":{"code":"INTERNAL","message":"` + secret + `"}}`)}, fault.Internal, "internal error"},
		{nats.Msg{Data: []byte(`{"error":{"code":7,"message":"` + secret + `"}}`)}, fault.Internal, "internal error"},
		{nats.Msg{Data: []byte(`{"error":{"message":"` + secret + `"}}`)}, fault.Internal, "internal error"},
		{nats.Msg{Header: nats.Header{"Nats-Service-Error-Code": {"FORBIDDEN"}, "Nats-Service-Error": {"not yours"}}}, fault.Forbidden, "not yours"},
		{nats.Msg{Header: nats.Header{"Nats-Service-Error-Code": {"500"}, "Nats-Service-Error": {secret}}, Data: []byte("{}")}, fault.Internal, "internal error"},
		{nats.Msg{Header: nats.Header{"Nats-Service-Error-Code": {"INTERNAL"}, "Nats-Service-Error": {secret}}}, fault.Internal, "internal error"},
		{nats.Msg{Header: nats.Header{"Nats-Service-Error-Code": {"500"}}, Data: []byte(`{"error":{"code":"TIMEOUT","message":"slow"}}`)}, fault.Timeout, "slow"},
	} {
		subject := fmt.Sprint("svc.", i)
		responder(t, b, subject, func(*nats.Msg) *nats.Msg { return &c.answer })
		_, err := b.Ask(t.Context(), "svc", subject, nil, nil)
		if f := fault.Of(err); err == nil || f.Code != c.code || f.Message != c.message {
			t.Errorf("%s %v: %v", c.answer.Data, c.answer.Header, err)
		}
		if c.code == fault.Internal && c.answer.Data != nil && !strings.Contains(err.Error(), "foreign") && !strings.Contains(err.Error(), "the service answered") {
			t.Errorf("the log does not learn what %s said: %v", c.answer.Data, err)
		}
	}
}

func TestDataThatSpeaksOfErrorsIsData(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for i, answer := range []string{
		`{"error":{"code":"NOT_FOUND","message":"x"},"id":"7"}`, `{"error":"broken"}`, `{"error":null}`, `{"errors":[]}`,
		`[{"error":{"code":"NOT_FOUND"}}]`, `"error"`, `null`, ``, `{"error":{"code":"NOT_FOUND"}`, `{"Error":{"code":"NOT_FOUND"}}`,
	} {
		subject := fmt.Sprint("svc.", i)
		responder(t, b, subject, saying(answer))
		if m, err := b.Ask(t.Context(), "svc", subject, nil, nil); err != nil || string(m.Data) != answer {
			t.Errorf("%s: %q, %v", answer, m.Data, err)
		}
	}
}

// Ten thousand devices that are silent have one breaker, and another service
// goes on.
func TestTheBreakerOfAskIsThatOfTheTemplate(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	responder(t, b, "telemetry.here", saying("{}"))
	responder(t, b, "devices.here", saying("{}"))
	silent, err := bus.Conn(b).SubscribeSync("devices.silent.*")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(subject string) error {
		_, err := b.Ask(t.Context(), "devices.{{ args.id }}", subject, nil, nil)
		return err
	}
	for i := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := b.Ask(ctx, "devices.{{ args.id }}", fmt.Sprintf("devices.silent.%d", i), nil, nil)
		if cancel(); !fault.Is(err, fault.Timeout) {
			t.Fatal(err)
		}
	}
	if err := ask("devices.here"); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("behind an open breaker: %v", err)
	}
	if _, err := b.Ask(t.Context(), "telemetry.here", "telemetry.here", nil, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "the service answers again", func() bool { return ask("devices.here") == nil })
	if n, _, err := silent.Pending(); err != nil || n > 10 {
		t.Errorf("%d, %v", n, err)
	}
}

// Callers choose such a subject: what they make up shuts nobody out.
func TestASubjectThatNobodyHearsIsNoFailureOfItsTemplate(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	responder(t, b, "devices.here", saying("{}"))
	for i := range 30 {
		if _, err := b.Ask(t.Context(), "devices.{{ args.id }}", fmt.Sprintf("devices.%d", i), nil, nil); !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
	}
	if _, err := b.Ask(t.Context(), "devices.{{ args.id }}", "devices.here", nil, nil); err != nil {
		t.Errorf("after names that were made up: %v", err)
	}
}

func TestForeignSubjectsAreLookedAt(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for subject, code := range map[string]fault.Code{
		"": fault.BadUserInput, "a..b": fault.BadUserInput, ".a": fault.BadUserInput, "a.": fault.BadUserInput,
		"a b": fault.BadUserInput, "a.b\r\nPUB c 0": fault.BadUserInput, "a.\x00": fault.BadUserInput, "a.\xff": fault.BadUserInput,
		"a.*": fault.BadUserInput, "a.>": fault.BadUserInput, strings.Repeat("x", 5000): fault.BadUserInput,
		"tidings.log.User.1": fault.Forbidden, "tidings": fault.Forbidden, "$JS.API.STREAM.DELETE.x": fault.Forbidden, "_INBOX.x": fault.Forbidden,
	} {
		if _, err := b.Ask(t.Context(), "x", subject, nil, nil); !fault.Is(err, code) {
			t.Errorf("ask %.50q: %v", subject, err)
		}
		if err := b.Tell(t.Context(), "", subject, nil, nil); !fault.Is(err, code) {
			t.Errorf("tell %.50q: %v", subject, err)
		}
	}
	for _, subject := range []string{"*", ">", "*.log.>", "tidings.>", "a.>.b"} {
		if err := b.Hear(t.Context(), subject, nil, nil, nil); err == nil {
			t.Errorf("hear %q", subject)
		}
		if err := b.Tail(t.Context(), bus.Tail{Stream: "S", Subject: subject}, nil); err == nil {
			t.Errorf("tail %q", subject)
		}
	}
}

func TestAQuestionThatIsTooLargeIsNotAsked(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if _, err := b.Ask(t.Context(), "x", "x", nil, make([]byte, 2<<20)); !fault.Is(err, fault.PayloadTooLarge) {
		t.Error(err)
	}
	for _, stream := range []string{"", "S"} {
		if err := b.Tell(t.Context(), stream, "x", nil, make([]byte, 2<<20)); !fault.Is(err, fault.PayloadTooLarge) {
			t.Error(err)
		}
	}
}

func TestAServiceThatIsSilentIsATimeout(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	asked := make(chan struct{}, 1)
	sub, err := bus.Conn(b).Subscribe("silent", func(*nats.Msg) { asked <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	ctx, cancel := context.WithTimeout(t.Context(), 50_000_000)
	defer cancel()
	if _, err := b.Ask(ctx, "silent", "silent", nil, nil); !fault.Is(err, fault.Timeout) {
		t.Fatal(err)
	}
	<-asked
}

// Whatever a service answers is data as it came, or a fault that may be shown.
func FuzzErrorObject(f *testing.F) {
	for _, s := range []string{`{"error":{"code":"NOT_FOUND","message":"x","field":"a.b"}}`, `{"error":{}}`, `{"error":null}`, `{ "error" : 7}`, `{"error":{"code":"X"}}`, `{}`, "", "{\"error\":{\"code\":\"CONFLICT\",\"message\":\"\xff\\u0000\"}}"} {
		f.Add([]byte(s), "", "")
	}
	f.Add([]byte("{}"), "404", "not here")
	f.Add([]byte(`{"code":"NOT_FOUND"}`), "NOT_FOUND", "")
	f.Fuzz(func(t *testing.T, data []byte, code, text string) {
		got := bus.ForeignFault(&nats.Msg{Data: data, Header: nats.Header{"Nats-Service-Error-Code": {code}, "Nats-Service-Error": {text}}})
		if got == nil {
			if code != "" || text != "" {
				t.Fatal("the headers say that it failed")
			}
			var object map[string]json.RawMessage
			if json.Unmarshal(data, &object) == nil && len(object) == 1 && strings.HasPrefix(string(object["error"]), "{") && strings.HasPrefix(strings.TrimSpace(string(data)), `{"error"`) {
				t.Fatalf("%s is taken for data", data)
			}
			return
		}
		if !got.Code.Known() || got.Message == "" || !utf8.ValidString(got.Message) || len(got.Message) > 510 || len(got.Field) > 210 || strings.ContainsAny(got.Message, "\r\n") {
			t.Fatalf("%+v", got)
		}
		if got.Code == fault.Internal && got.Message != "internal error" {
			t.Fatalf("shown to strangers: %+v", got)
		}
	})
}
