package schema_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"tidings/schema"
)

// lists has a list of its own beside the generated ones.
const lists = `
type Shelf @resource { id: ID! name: String books(limit: Int = 15): [Book!]! @hasMany(field: "shelfId") }
type Book @resource { id: ID! shelfId: ID! @index }
`

func TestTheContractSaysTheGreatestPageThatIsAllowed(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{"a.graphql": {Data: []byte(lists)}}
	for most, want := range map[int][]string{
		0:  {"Pages hold 20 records", "at most 100;", "from the beginning, 1 to 100.", "from the end, 1 to 100.", "so many changes, 1 to 100; 20 unless"},
		30: {"Pages hold 20 records", "at most 30;", "from the beginning, 1 to 30.", "from the end, 1 to 30.", "so many changes, 1 to 30; 20 unless"},
		15: {"Pages hold 15 records", "at most 15;", "so many changes, 1 to 15; 15 unless"},
		-1: {"Pages hold 20 records unless `first` or `last`\n  says else; without", "from the beginning, at least 1.", "so many changes, at least 1; 20 unless"},
	} {
		m, err := schema.LoadWith(dir, schema.Options{MaxPage: most})
		if err != nil {
			t.Errorf("%d: %v", most, err)
			continue
		}
		for _, text := range want {
			if !strings.Contains(m.SDL, text) {
				t.Errorf("%d: the contract does not say %q", most, text)
			}
		}
		if most != 0 && strings.Contains(m.SDL, "100") {
			t.Errorf("%d: the contract says 100", most)
		}
	}
}

func TestAListThatShowsMoreByDefaultThanIsAllowedIsRefused(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{"a.graphql": {Data: []byte(lists)}}
	_, err := schema.LoadWith(dir, schema.Options{MaxPage: 14})
	if err == nil || !strings.Contains(err.Error(), "a.graphql:2:") || !strings.Contains(err.Error(), "choose a default from 1 to 14") {
		t.Error(err)
	}
	long := fstest.MapFS{"a.graphql": {Data: []byte(strings.Replace(lists, "15", "150", 1))}}
	if _, err := schema.Load(long); err == nil {
		t.Error("150 are shown although 100 is the most")
	}
	for _, most := range []int{150, -1} {
		if _, err := schema.LoadWith(long, schema.Options{MaxPage: most}); err != nil {
			t.Error(err)
		}
	}
}
