package bus_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"tidings/bus"
	"tidings/bus/bustest"
)

func TestReadReturnsTheMatchingHistoryInOrder(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	s := b.Subjects()
	var users, all []uint64
	for i := range 3 {
		var batch []bus.Entry
		for j := range 900 { // in all more than Read asks for at once
			batch = append(batch, bus.Entry{Subject: s.Record("User", fmt.Sprintf("%d-%d", i, j))})
			seq := uint64(901*i + j + 1)
			users, all = append(users, seq), append(all, seq)
		}
		mustAppend(t, b, batch...)
		all = append(all, mustAppend(t, b, bus.Entry{Subject: s.Record("Post", fmt.Sprint(i))}))
	}
	last := all[len(all)-1]
	tests := []struct {
		name, filter string
		after, upto  uint64
		want         []uint64
	}{
		{"all", s.Log(), 0, last, all},
		{"a type", s.Records("User"), 0, last, users},
		{"from the middle", s.Records("User"), 1500, last, users[1499:]},
		{"up to the middle", s.Records("User"), 0, 100, users[:100]},
		{"one subject", s.Record("Post", "1"), 0, last, []uint64{1802}},
		{"nothing matches", s.Record("Post", "none"), 0, last, nil},
		{"nothing after", s.Log(), last, last, nil},
	}
	for _, test := range tests {
		var got []uint64
		first, err := b.Read(t.Context(), test.filter, test.after, test.upto, func(m bus.Message) error {
			got = append(got, m.Seq)
			return nil
		})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %d messages, want %d (%v)", test.name, len(got), len(test.want), err)
		}
		if len(test.want) > 0 && first != test.want[0] || len(test.want) == 0 && first != 0 {
			t.Errorf("%s: the first was %d", test.name, first)
		}
	}
}

func TestReadShowsByPrevWhatHistoryTrimmed(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t, bus.Options{History: 3})
	subject := b.Subjects().Record("User", "1")
	var last uint64
	for range 5 {
		last = mustAppend(t, b, bus.Entry{Subject: subject, After: last})
	}
	var got []string
	_, err := b.Read(t.Context(), subject, 0, last, func(m bus.Message) error {
		got = append(got, fmt.Sprintf("%d after %d", m.Seq, m.Prev))
		return nil
	})
	if want := "[3 after 2 4 after 3 5 after 4]"; err != nil || fmt.Sprint(got) != want {
		t.Fatalf("got %v, %v, want %s", got, err, want)
	}
}

// An answer that is lost on its way must not look like trimmed history: here
// each third one is, then all of them, so that only the leader is left to ask.
func TestAnswersThatAreLostAreAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]int{"each third": 3, "all": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.Open(t, bus.Options{History: 2})
			s := b.Subjects()
			var hot uint64
			for i := range 20 { // 1, 3, 5 … are of the hot subject
				hot = mustAppend(t, b, bus.Entry{Subject: s.Record("Post", "hot"), After: hot})
				mustAppend(t, b, bus.Entry{Subject: s.Record("User", fmt.Sprint(i))})
			}
			n := 0
			bus.Lose(b, func(m *nats.Msg) bool {
				if m.Header.Get("Nats-Stream") == "" { // the end of a run
					return false
				}
				n++
				return n%every == 0
			})
			want := fmt.Sprint([]uint64{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 37, 38, 39, 40})
			var got []uint64
			if _, err := b.Read(t.Context(), s.Log(), 0, 40, func(m bus.Message) error { got = append(got, m.Seq); return nil }); err != nil || fmt.Sprint(got) != want {
				t.Errorf("read %v, %v, want %s", got, err, want)
			}
			got = nil
			if _, err := b.Read(t.Context(), s.Record("Post", "hot"), 0, 40, func(m bus.Message) error { got = append(got, m.Seq); return nil }); err != nil || fmt.Sprint(got) != "[37 39]" {
				t.Errorf("read of the hot subject %v, %v", got, err)
			}
		})
	}
}

func TestReadEndsWithTheErrorOfItsFunction(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	last := mustAppend(t, b, bus.Entry{Subject: b.Subjects().Record("User", "1")}, bus.Entry{Subject: b.Subjects().Record("User", "2")})
	boom := errors.New("boom")
	first, err := b.Read(t.Context(), b.Subjects().Log(), 0, last, func(bus.Message) error { return boom })
	if err != boom || first != 1 {
		t.Fatalf("got %d, %v", first, err)
	}
}
