package realtime

import (
	"encoding/json"
	"net/url"
	"testing"
	"unicode/utf8"
)

func FuzzDecodeMessage(f *testing.F) {
	for _, seed := range []string{
		`{"type":"connection_init"}`,
		`{"type":"connection_init","payload":{"authToken":"x","resume":{"1":"c"}}}`,
		`{"type":"connection_init","payload":null}`,
		`{"type":"ping","payload":{"a":[1]}}`,
		`{"id":"1","type":"subscribe","payload":{"query":"{a}","variables":{"a":1},"operationName":null,"extensions":{"cursor":"x"}}}`,
		`{"id":"\ud83d\ude00","type":"complete"}`,
		`{"id":1,"type":"complete"}`,
		`{"id":"1","type":"start","payload":{"query":"{a}","extensions":{"cursor":"x"}}}`,
		`{"id":"1","type":"stop"}`, `{"type":"connection_terminate","payload":null}`,
		`[]`, ``, ` {`, `{"type":"subscribe","id":"1","payload":{"query":null}}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, old bool) {
		d := modern
		if old {
			d = legacy
		}
		m, err := d.decode(data)
		if err != nil {
			if text := reason(err.Error()); text == "" || len(text) > 123 || !utf8.ValidString(text) {
				t.Fatalf("%q is no reason for a close frame", text)
			}
			return
		}
		switch m.typ {
		case "subscribe":
			r, _ := m.op.request()
			if m.id == "" || len(m.id) > maxID || r.Variables != nil && !isObject(r.Variables) || r.Extensions != nil && !isObject(r.Extensions) {
				t.Fatalf("accepted %q as %+v", data, m)
			}
		case "complete":
			if m.id == "" {
				t.Fatalf("accepted %q", data)
			}
		case "connection_terminate":
		case "connection_init", "ping", "pong":
			if m.raw != nil && !isObject(m.raw) {
				t.Fatalf("accepted %q", data)
			}
		default:
			t.Fatalf("accepted the type %q", m.typ)
		}
	})
}

func FuzzDecodeGet(f *testing.F) {
	for _, seed := range []string{
		"query=%7Ba%7D", "query=%7Ba%7D&variables=%7B%22a%22%3A1%7D&operationName=x&extensions=%7B%22cursor%22%3A%22x%22%7D",
		"query=%7Ba%7D&variables=null", "query=%7Ba%7D&token=x", "variables=%7B", "query=&variables=+%7B%7D+", "%zz", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		p, err := decodeGet(q)
		if err != nil {
			return
		}
		r, _ := p.request()
		if r.Variables != nil && !isObject(r.Variables) || r.Extensions != nil && !isObject(r.Extensions) {
			t.Fatalf("accepted %q as %+v", raw, r)
		}
		for _, name := range tokenParameters {
			if q.Has(name) {
				t.Fatalf("accepted a token in %q", raw)
			}
		}
	})
}

func FuzzDecodeErrand(f *testing.F) {
	for _, seed := range []string{
		`{"do":"open","who":{},"ticket":true}`,
		`{"do":"stop","who":{"sub":"alice","roles":2},"id":"1"}`,
		`{"do":"start","who":{"sub":"alice"},"order":{"id":"1","who":{"sub":"alice","exp":"2024-05-01T11:00:00Z"},"client":"192.0.2.1","after":"c","request":{"query":"{a}","variables":{"a":1}},"wantCost":true}}`,
		`{"do":"start","order":{"client":""}}`, `{"do":"start","order":{"client":"x"}}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeErrand(data)
		if err != nil {
			return
		}
		if e.Do == doStart && (e.Order.ID == "" || len(e.Order.ID) > maxID) || e.Do == doStop && e.ID == "" {
			t.Fatalf("accepted %q as %+v", data, e)
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeErrand(again); err != nil {
			t.Fatalf("%q became %q: %v", data, again, err)
		}
	})
}

func FuzzFrameIsReadBack(f *testing.F) {
	f.Add("a", []byte("b"), "c")
	f.Add("", make([]byte, 126), "")
	f.Add("x", make([]byte, 70000), "}")
	f.Fuzz(func(t *testing.T, head string, body []byte, tail string) {
		frame := appendFrame(nil, item{opcode: opText, head: head, body: body, tail: tail})
		want := head + string(body) + tail
		if frame[0] != 0x81 || string(frame[len(frame)-len(want):]) != want {
			t.Fatalf("frame %x of %q", frame[:min(10, len(frame))], want)
		}
		header := map[bool]int{true: 2, false: 4}[len(want) < 126]
		if len(want) >= 1<<16 {
			header = 10
		}
		if len(frame) != header+len(want) {
			t.Fatalf("%d bytes for %d", len(frame), len(want))
		}
	})
}
