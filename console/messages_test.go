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
		strings.Replace(goodReport, `"sockets":2`, `"sockets":1e300`, 1):                                         console.DecodeReport,
		strings.Replace(goodReport, `"leader":1`, `"last":-1e19`, 1):                                             console.DecodeReport,
		strings.Replace(goodReport, `"Upto":0.1`, `"Upto":-1`, 1):                                                console.DecodeReport,
		strings.Replace(goodReport, `"Count":3`, `"Count":9000000000000000`, 1):                                  console.DecodeReport,
		strings.Replace(goodReport, `"members":2`, `"members":2147483648`, 1):                                    console.DecodeReport,
		strings.Replace(goodReport, `"members":2`, `"members":-1`, 1):                                            console.DecodeReport,
		strings.Replace(goodReport, `"total":7`, `"total":2147483648`, 1):                                        console.DecodeReport,
		strings.Replace(goodReport, `"at":"2026`, `"at":"9999`, 1):                                               console.DecodeReport,
		strings.Replace(goodReport, `"started":"2026`, `"started":"0000`, 1):                                     console.DecodeReport,
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
	f.Add([]byte(strings.Replace(goodReport, `"sockets":2`, `"deliveries":1e308,"commands":-1e308,"id":5`, 1)))
	f.Add([]byte(strings.Replace(goodReport, `"Count":3`, `"Count":18446744073709551615`, 1)))
	f.Add([]byte(strings.Replace(goodReport, `"members":2`, `"members":9223372036854775807`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := console.New(console.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Hear(data)
		c.Hear([]byte(strings.NewReplacer(`"nth":1`, `"nth":2`, `00:00:01Z`, `00:00:01.000000001Z`).Replace(string(data))))
		got := c.Newest()
		if got == nil {
			return // it was refused
		}
		var o struct {
			Processes []struct{ ID string }
			Groups    []struct{ Members, Processes int32 }
		}
		if err := json.Unmarshal(got, &o); err != nil {
			t.Errorf("got %s: %v", got, err)
		}
	})
}

// What two reports of one moment say grew by is no rate, and what a newer version
// tells beside what is known takes the place of nothing.
func TestNumbersOfAReportDoNotSpoilTheOverview(t *testing.T) {
	t.Parallel()
	c, err := console.New(console.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(goodReport, `"sockets":2`, `"sockets":2,"deliveries":1,"host":7,"id":8,"newer":9`, 1)
	c.Hear([]byte(text))
	c.Hear([]byte(strings.NewReplacer(`"nth":1`, `"nth":2`, `00:01Z`, `00:01.000000001Z`, `"deliveries":1`, `"deliveries":1e18`).Replace(text)))
	var o struct {
		Processes []struct {
			ID, Host   string
			Sockets    float64
			Deliveries *float64
			Newer      *float64
		}
	}
	if err := json.Unmarshal(c.Newest(), &o); err != nil || len(o.Processes) != 1 {
		t.Fatalf("%s: %v", c.Newest(), err)
	}
	if p := o.Processes[0]; p.ID != "BBBBBBBBBBBB" || p.Host != "pod-2" || p.Sockets != 2 || p.Deliveries != nil || p.Newer != nil {
		t.Errorf("got %+v", p)
	}
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
