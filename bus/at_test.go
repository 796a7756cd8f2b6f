package bus_test

import (
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestAMessageIsFoundBySequenceWhileItIsKept(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{History: 2})
	subject := b.Subjects().Record("User", "ada")
	after := uint64(0)
	for _, body := range []string{"1", "2", "3"} {
		after = mustAppend(t, b, bus.Entry{Subject: subject, Data: []byte(body), After: after})
	}
	for seq, want := range map[uint64]string{1: "", 2: "2", 3: "3", 4: ""} {
		m, err := b.At(t.Context(), seq)
		switch {
		case err != nil:
			t.Errorf("%d: %v", seq, err)
		case m == nil && want != "" || m != nil && string(m.Data) != want:
			t.Errorf("%d: got %+v, want %q", seq, m, want)
		case m != nil && (m.Seq != seq || m.Prev != seq-1 || m.Subject != subject):
			t.Errorf("%d: got %+v", seq, m)
		}
	}
}
