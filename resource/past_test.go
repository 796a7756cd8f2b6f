package resource_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

var errEnough = errors.New("enough")

// pieces reads a past so many events at a time.
func pieces(t *testing.T, p *resource.Past, size int) (seqs []uint64, err error) {
	t.Helper()
	for {
		left := size
		_, err := p.Read(t.Context(), func(e resource.Event) error {
			if left == 0 {
				return errEnough
			}
			left--
			seqs = append(seqs, e.Seq)
			return nil
		})
		if !errors.Is(err, errEnough) {
			return seqs, err
		}
	}
}

func TestAPastThatIsReadInPiecesIsTheSame(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, socialDir)
	before := s.Feed.Now().Seq
	for i := range 10 {
		submit(t, s, createUser(fmt.Sprint("user", i)))
	}
	var last uint64
	for i := range 30 {
		last = submit(t, s, resource.Command{Type: "User", Verb: resource.Update, Who: admin,
			Input: json.RawMessage(fmt.Sprintf(`{"id":"user%d","name":"n%d"}`, i%7, i))}).Seq
	}
	if err := s.Client.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	whole, err := pieces(t, s.Feed.Past("User", "", before, nil), 1000)
	if err != nil || len(whole) != 40 {
		t.Fatalf("%d events, %v", len(whole), err)
	}
	for size := 1; size < 12; size += 3 {
		if got, err := pieces(t, s.Feed.Past("User", "", before, nil), size); err != nil || !slices.Equal(got, whole) {
			t.Errorf("%d at a time: %v, %v", size, got, err)
		}
		if got, reached, err := s.Feed.RecentOf("User", whole[4], last, size); err != nil || !slices.Equal(seqsOf(got), whole[5:5+size]) || reached != whole[4+size] {
			t.Errorf("the %d most recent: %v up to %d, %v", size, seqsOf(got), reached, err)
		}
	}
	if got, reached, err := s.Feed.RecentOf("Post", before, last, 5); err != nil || len(got) != 0 || reached != last {
		t.Errorf("of another type: %v up to %d, %v", got, reached, err)
	}
}

func seqsOf(events []resource.Event) (seqs []uint64) {
	for _, e := range events {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// What is gone from an early piece shows in a late one.
func TestAHoleInAnotherPieceIsFound(t *testing.T) {
	t.Parallel()
	const history = 4
	s := resourcetest.On(t, bustest.Open(t, bus.Options{History: history}), socialDir, resource.FeedOptions{Ring: 2})
	before := s.Feed.Now().Seq
	submit(t, s, createUser("hot"))
	for i := range 10 {
		submit(t, s, createUser(fmt.Sprint("user", i)))
	}
	var last uint64
	for i := range history {
		last = submit(t, s, resource.Command{Type: "User", Verb: resource.Update, Who: admin,
			Input: json.RawMessage(fmt.Sprintf(`{"id":"hot","name":"n%d"}`, i))}).Seq
	}
	if err := s.Client.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 3, 100} {
		if seqs, err := pieces(t, s.Feed.Past("User", "", before, nil), size); !fault.Is(err, fault.CursorExpired) {
			t.Errorf("%d at a time: %d events, %v", size, len(seqs), err)
		}
	}
	if _, _, err := s.Feed.RecentOf("User", before, last, 5); !errors.Is(err, resource.ErrBehind) {
		t.Errorf("got %v", err)
	}
}
