package resource_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

const cards = `type Card @resource { id: ID! name: String! mail: EmailAddress kind: Kind! @default(value: A) } enum Kind { A B } type Old @resource { id: ID! x: Int }`

// deck is a bus with cards on it, whose worker has stopped.
func deck(t *testing.T, inputs ...string) *bus.Bus {
	t.Helper()
	b := bustest.New(t)
	t.Run("fill", func(t *testing.T) {
		s := resourcetest.On(t, b, sdl(cards), resource.FeedOptions{})
		for _, input := range inputs {
			put(t, s, "Card", input)
		}
	})
	return b
}

func sdl(text string) fstest.MapFS { return fstest.MapFS{"schema.graphql": {Data: []byte(text)}} }

func put(t *testing.T, s *resourcetest.Service, typ, input string) resource.Record {
	t.Helper()
	return submit(t, s, resource.Command{Type: typ, Verb: resource.Create, Who: admin, Input: json.RawMessage(input)})
}

func TestASchemaThatStoredRecordsViolateIsRefused(t *testing.T) {
	t.Parallel()
	b := deck(t, `{"name":"one"}`, `{"name":"two","kind":"B","mail":"x@example.org"}`, `{"name":"three","mail":"x@example.org"}`)
	tests := []struct {
		name, schema string
		want         []string // empty: admitted
	}{
		{"the same", cards, nil},
		{"a nullable field more", strings.Replace(cards, "name:", "more: Int name:", 1), nil},
		{"a field with a default more", strings.Replace(cards, "name:", "more: Int! @default(value: 1) name:", 1), nil},
		{"a field less", strings.Replace(cards, "mail: EmailAddress", "", 1), nil},
		{"a required field more", strings.Replace(cards, "name:", "more: Int! name:", 1), []string{"3 of 3", "Card.more: is required and absent"}},
		{"an enum value less", strings.Replace(cards, "A B", "A", 1), []string{"1 of 3", "Card.kind: must be one of A (WRONG_VALUE, 1): "}},
		{"a narrower constraint", strings.Replace(cards, "name: String!", "name: String! @constraint(maxLength: 3)", 1), []string{"1 of 3", "maxLength"}},
		{"another type", strings.Replace(cards, "name: String!", "name: Int!", 1), []string{"3 of 3", "Card.name: must be a whole number"}},
		{"no nulls any more", strings.Replace(cards, "EmailAddress", "EmailAddress!", 1), []string{"1 of 3", "Card.mail: must not be null"}},
		{"unique, and it is not", strings.Replace(cards, "EmailAddress", "EmailAddress @unique", 1), []string{"1 of 3", "Card.mail: is unique, and another record has the same value (DUPLICATE, 1)"}},
		{"a type without records less", `type Card @resource { id: ID! name: String! }`, nil},
		{"a type with records less", `type Old @resource { id: ID! x: Int }`, []string{"3 of 3", "Card: the schema has no resource of this name (TYPE_REMOVED, 3)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := model(t, test.schema)
			err := resource.Admit(t.Context(), b, m, resource.AdmitOptions{})
			if len(test.want) == 0 && err != nil || len(test.want) > 0 && !errors.Is(err, resource.ErrFlawed) {
				t.Errorf("got %v", err)
			}
			for _, words := range test.want {
				if err != nil && !strings.Contains(err.Error(), words) {
					t.Errorf("%q is not in\n%v", words, err)
				}
			}
			if err := resource.Admit(t.Context(), b, m, resource.AdmitOptions{Flawed: true}); err != nil {
				t.Errorf("asked to start all the same: %v", err)
			}
			found, err := resource.Inspect(t.Context(), b, m)
			if err != nil || (found.Flawed > 0) != (len(test.want) > 0) || found.Records != 3 {
				t.Errorf("inspection: %+v, %v", found, err)
			}
		})
	}
	if m, err := b.Last(t.Context(), b.Subjects().Schema()); m != nil || err != nil {
		t.Errorf("who may not write has noted %v, %v", m, err)
	}
}

func TestASchemaIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	b := deck(t, `{"name":"one"}`)
	m := model(t, cards)
	write := resource.AdmitOptions{Write: true}
	var seqs []uint64
	for range 3 {
		if err := resource.Admit(t.Context(), b, m, write); err != nil {
			t.Fatal(err)
		}
		last, err := b.Last(t.Context(), b.Subjects().Schema())
		if err != nil || last == nil {
			t.Fatal(last, err)
		}
		seqs = append(seqs, last.Seq)
	}
	if len(slices.Compact(seqs)) != 1 {
		t.Errorf("noted at %v", seqs)
	}
	// A record that does not fit, of which a look at the note cannot tell.
	_, err := b.Append(t.Context(), bus.Entry{Subject: b.Subjects().Record("Card", "x"), Header: bus.Header{"Tidings-Kind": {"CREATED"}}, Data: []byte(`{"id":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := resource.Admit(t.Context(), b, m, write); err != nil {
		t.Errorf("the records were looked through again: %v", err)
	}
	if err := resource.Admit(t.Context(), b, model(t, strings.Replace(cards, "A B", "A B C", 1)), write); !errors.Is(err, resource.ErrFlawed) {
		t.Errorf("under another schema: %v", err)
	}
}

func TestAnOlderRecordIsReadWithItsDefaults(t *testing.T) {
	t.Parallel()
	b := deck(t, `{"name":"one"}`)
	grown := strings.Replace(cards, "name:", `size: Int! @default(value: 7) words: [String!]! @default(value: ["a}"]) name:`, 1)
	s := resourcetest.On(t, b, sdl(grown), resource.FeedOptions{})
	id := only(t, s)
	want := fmt.Sprintf(`{"id":%q,"name":"one","mail":null,"kind":"A","size":7,"words":["a}"]}`, id)
	found, err := s.Client.Get(t.Context(), admin, "Card", []string{id})
	if err != nil || string(found[0].Raw) != want {
		t.Errorf("got  %s, %v\nwant %s", found[0].Raw, err, want)
	}
	gone := submit(t, s, resource.Command{Type: "Card", Verb: resource.Delete, Who: admin, Input: json.RawMessage(fmt.Sprintf(`{"id":%q}`, id))})
	if string(gone.Raw) != want {
		t.Errorf("deleted: got %s", gone.Raw)
	}
}

// only returns the id of the only card.
func only(t *testing.T, s *resourcetest.Service) (id string) {
	t.Helper()
	_, last, err := s.Bus.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = s.Bus.Latest(t.Context(), s.Bus.Subjects().Records("Card"), last, func(m bus.Message) error {
		_, id, _ = s.Bus.Subjects().ParseRecord(m.Subject)
		return nil
	})
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	return id
}

func TestTheValuesOfAFieldThatBecameUniqueAreReservedBySeveralWorkersAtOnce(t *testing.T) {
	t.Parallel()
	var inputs []string
	for i := range 450 {
		inputs = append(inputs, fmt.Sprintf(`{"name":"c%d","mail":"m%d@example.org"}`, i, i))
	}
	b := deck(t, append(inputs, `{"name":"no address"}`)...)
	unique := strings.Replace(cards, "EmailAddress", "EmailAddress @unique", 1)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := resource.Admit(t.Context(), b, model(t, unique), resource.AdmitOptions{Write: true}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, last, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reservations := 0
	count := func(m bus.Message) error { reservations++; return nil }
	if err := b.Latest(t.Context(), "tidings.log._unique.Card.mail.*", last, count); err != nil || reservations != 450 {
		t.Errorf("%d reservations, %v", reservations, err)
	}

	s := resourcetest.On(t, b, sdl(unique), resource.FeedOptions{})
	for _, i := range []int{0, 199, 200, 449} {
		_, err := s.Client.Submit(t.Context(), resource.Command{Type: "Card", Verb: resource.Create, Who: admin,
			Input: json.RawMessage(fmt.Sprintf(`{"name":"other","mail":"m%d@example.org"}`, i))})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("m%d: got %v", i, err)
		}
	}
	put(t, s, "Card", `{"name":"other","mail":"free@example.org"}`)
}

func TestDuplicatesThatAreAdmittedAllTheSameKeepTheirFirstHolder(t *testing.T) {
	t.Parallel()
	b := deck(t, `{"name":"one","mail":"x@example.org"}`, `{"name":"two","mail":"x@example.org"}`, `{"name":"three","mail":"y@example.org"}`)
	unique := strings.Replace(cards, "EmailAddress", "EmailAddress @unique", 1)
	for range 2 {
		if err := resource.Admit(t.Context(), b, model(t, unique), resource.AdmitOptions{Write: true, Flawed: true}); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := b.Last(t.Context(), b.Subjects().Schema()); m != nil || err != nil {
		t.Errorf("it is noted that the records fit: %v, %v", m, err)
	}
	s := resourcetest.On(t, b, sdl(unique), resource.FeedOptions{})
	for _, mail := range []string{"x", "y"} {
		_, err := s.Client.Submit(t.Context(), resource.Command{Type: "Card", Verb: resource.Create, Who: admin,
			Input: json.RawMessage(fmt.Sprintf(`{"name":"other","mail":"%s@example.org"}`, mail))})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: got %v", mail, err)
		}
	}
}
