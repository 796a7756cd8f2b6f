package bus_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"tidings/bus"
)

const someStored = "NATS/1.0\r\nTidings-Kind: UPDATED\r\nNats-Expected-Last-Subject-Sequence: 3\r\nNats-Stream: tidings-log\r\nNats-Subject: tidings.log.User.1\r\nNats-Sequence: 7\r\nNats-Time-Stamp: 2024-05-01T10:00:00.5Z\r\nNats-Last-Sequence: 3\r\n\r\n"

func TestStoredHeadersBecomeFields(t *testing.T) {
	t.Parallel()
	h, err := nats.DecodeHeadersMsg([]byte(someStored))
	if err != nil {
		t.Fatal(err)
	}
	m, err := bus.Stored("tidings-log", h, []byte("{}"))
	if err != nil || m.Seq != 7 || m.Prev != 3 || m.Subject != "tidings.log.User.1" || m.Time.UnixMilli() != 1714557600500 {
		t.Fatalf("%+v, %v", m, err)
	}
	if len(m.Header) != 1 || m.Header.Get("Tidings-Kind") != "UPDATED" {
		t.Fatalf("headers: %v", m.Header)
	}
}

// Whatever the headers are, the reader never panics, and what it accepts is
// whole.
func FuzzStoredHeaders(f *testing.F) {
	f.Add([]byte(someStored))
	f.Add([]byte("NATS/1.0\r\n\r\n"))
	f.Add([]byte("NATS/1.0 404 Message Not Found\r\n\r\n"))
	f.Add([]byte("NATS/1.0\r\nNats-Stream: tidings-log\r\nNats-Sequence: 18446744073709551616\r\nNats-Subject: x\r\nNats-Time-Stamp: 0001-01-01T00:00:00Z\r\n\r\n"))
	f.Add([]byte("NATS/1.0\r\nNats-Stream: other\r\nNats-Stream: tidings-log\r\nNats-Subject: a b\r\nNats-Sequence: -1\r\nNats-Time-Stamp: yesterday\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := nats.DecodeHeadersMsg(raw)
		if err != nil {
			return
		}
		m, err := bus.Stored("tidings-log", h, nil)
		if err != nil {
			return
		}
		if m.Seq == 0 || m.Subject == "" || m.Header.Get("Nats-Sequence") != "" {
			t.Fatalf("accepted %+v", m)
		}
	})
}
