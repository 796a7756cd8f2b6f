package console_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tidings/console"
)

const (
	goodLook   = `{"from":"ABCDEFGH2345","nth":1,"questions":[{"order":"DELIVERED","first":50}]}`
	goodReport = `{"to":"ABCDEFGH2345","nth":1,"id":"BBBBBBBBBBBB","host":"pod-2","role":"api","version":"v1","started":"2026-01-01T00:00:00Z","at":"2026-01-01T00:00:01Z","bus":true,"open":[],"numbers":{"sockets":2},"log":{"leader":1},"late":[{"Upto":0.1,"Count":3}],"groups":[{"field":"f","document":"subscription { f }","members":2}],"answers":[{"question":{"order":"QUEUE","first":2},"total":7,"nodes":[{"process":"BBBBBBBBBBBB"}]}]}`
	goodOrder  = `{"by":"root","connection":"x-1","operation":"a"}`
)

func TestMessagesBeyondTheirBoundsAreRefused(t *testing.T) {
	t.Parallel()
	for text, decode := range map[string]func([]byte) error{goodLook: console.DecodeLook, goodReport: console.DecodeReport, goodOrder: console.DecodeOrder} {
		if err := decode([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, decode := range map[string]func([]byte) error{
		`{`: console.DecodeLook,
		strings.Replace(goodLook, "ABCDEFGH2345", "a.b", 1):                                                      console.DecodeLook,
		strings.Replace(goodLook, "50", "101", 1):                                                                console.DecodeLook,
		strings.Replace(goodLook, "50", "-1", 1):                                                                 console.DecodeLook,
		strings.Replace(goodLook, "DELIVERED", "BEST", 1):                                                        console.DecodeLook,
		`{"from":"ABCDEFGH2345","questions":[` + strings.Repeat(`{"order":"QUEUE"},`, 8) + `{"order":"QUEUE"}]}`: console.DecodeLook,
		strings.Replace(goodReport, "BBBBBBBBBBBB", "short", 1):                                                  console.DecodeReport,
		`[]`:                            console.DecodeReport,
		`{"by":"","connection":"x"}`:    console.DecodeOrder,
		`{"by":"root","connection":""}`: console.DecodeOrder,
	} {
		if decode([]byte(text)) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func FuzzLook(f *testing.F) {
	f.Add([]byte(goodLook))
	f.Add([]byte(`{"from":"ABCDEFGH2345","questions":[{"process":"BBBBBBBBBBBB","search":"x","order":"NEWEST"}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = console.DecodeLook(data) })
}

func FuzzOrder(f *testing.F) {
	f.Add([]byte(goodOrder))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = console.DecodeOrder(data) })
}

// Whatever another process says, what is shown of it is composed, and is JSON.
func FuzzReport(f *testing.F) {
	f.Add([]byte(goodReport))
	f.Add([]byte(strings.Replace(goodReport, `"nth":1`, `"nth":18446744073709551615`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := console.New(console.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Hear(data)
		c.Hear([]byte(strings.Replace(string(data), `"nth":1`, `"nth":2`, 1)))
		if got := c.Newest(); got != nil && (!json.Valid(got) || string(got) == "null") {
			t.Errorf("got %s", got)
		}
	})
}

// A console is open for days: of what processes have said, it keeps the last, and
// of the one before the numbers.
func TestOldReportsAreForgotten(t *testing.T) {
	t.Parallel()
	c, err := console.New(console.Options{})
	if err != nil {
		t.Fatal(err)
	}
	say := func(nth string) { c.Hear([]byte(strings.Replace(goodReport, `"nth":1`, `"nth":`+nth, 1))) }
	say("1")
	remembered := c.Remembers("BBBBBBBBBBBB")
	if !remembered() {
		t.Fatal("the last report is not kept")
	}
	say("2")
	say("3")
	say("4")
	if remembered() {
		t.Error("a report is kept after three others")
	}
}
