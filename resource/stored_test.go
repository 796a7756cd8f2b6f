package resource_test

import (
	"testing"

	"tidings/bus"
	"tidings/resource"
)

// A message of the log is a record's change, something else of the service, or
// malformed for one of the known reasons, whatever stands in it.
func FuzzReadEvent(f *testing.F) {
	for _, seed := range [][3]string{
		{"tidings.log.Pad.a", "CREATED", `{"id":"a"}`}, {"tidings.log.Pad.a", "DELETED", `{"id":"a"}`},
		{"tidings.log.Pad.=YS5i", "UPDATED", ` {"id":"a.b","x":{}}`}, {"tidings.log.Pad.=", "CREATED", `{}`},
		{"tidings.log._schema", "", `{}`}, {"tidings.log._unique.Pad.code.x", "", `{"id":"a"}`}, {"tidings.log._ref.Pad.a", "", `{}`},
		{"tidings.log.Pad.a.b", "CREATED", `{"id":"a"}`}, {"tidings.log.Pad", "", ``}, {"other.log.Pad.a", "CREATED", `{"id":"a"}`},
		{"tidings.log.Pad.a", "created", `[`}, {"tidings.log.Pad.a", "CREATED", "\xff{"}, {"tidings.log.Pad.a", "CREATED", `{"id":"\u0061"}`},
	} {
		f.Add(seed[0], seed[1], []byte(seed[2]))
	}
	s := bus.Subjects{Prefix: "tidings"}
	f.Fuzz(func(t *testing.T, subject, kind string, data []byte) {
		e, ok, err := resource.ReadEvent(s, bus.Message{Subject: subject, Header: bus.Header{"Tidings-Kind": {kind}}, Data: data, Seq: 1})
		if bad, malformed := err.(resource.Malformed); err != nil && (!malformed || bad.Error() == "" || ok) {
			t.Errorf("%q: %v, %t", subject, err, ok)
		}
		if ok && (s.Record(e.Type, e.ID) != subject || e.Kind != resource.Kind(kind)) {
			t.Errorf("%q is %+v", subject, e)
		}
	})
}
