package resource_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tidings/fault"
	"tidings/resource"
	"tidings/resource/resourcetest"
)

// world is what the records should be: the keys of each, by type and id.
type world map[string]map[string]map[string]string

// rule is one of the references of club.
type rule struct{ from, key, to, does string }

var clubRules = []rule{
	{"Member", "teamId", "Team", "CASCADE"}, {"Badge", "memberId", "Member", "RESTRICT"},
	{"Note", "memberId", "Member", "SET_NULL"}, {"Note", "aboutId", "Member", "SET_NULL"}, {"Note", "teamId", "Team", "KEEP"},
	{"Part", "ofId", "Part", "CASCADE"},
}

// allows reports whether what a record refers to by a key is there.
func (w world) allows(typ, key, id string) bool {
	for _, r := range clubRules {
		if r.from == typ && r.key == key && w[r.to][id] == nil {
			return false
		}
	}
	return true
}

// without is the world after a deletion; nil when it is not allowed.
func (w world) without(typ, id string) world {
	next := world{}
	for t, records := range w {
		next[t] = map[string]map[string]string{}
		for i, keys := range records {
			next[t][i] = maps.Clone(keys)
		}
	}
	gone := []string{typ + " " + id}
	for n := 0; n < len(gone); n++ {
		var t, i string
		_, _ = fmt.Sscan(gone[n], &t, &i)
		delete(next[t], i)
		for _, r := range clubRules {
			for other, keys := range next[r.from] {
				if r.to != t || keys[r.key] != i {
					continue
				}
				switch name := r.from + " " + other; {
				case r.does == "SET_NULL":
					delete(keys, r.key)
				case r.does == "CASCADE" && !slices.Contains(gone, name):
					gone = append(gone, name)
				}
			}
		}
	}
	for _, r := range clubRules {
		for _, keys := range next[r.from] {
			if r.does == "RESTRICT" && keys[r.key] != "" && next[r.to][keys[r.key]] == nil {
				return nil
			}
		}
	}
	return next
}

// Changes by chance, by one caller after the other, come to what a few lines say
// that they should.
func TestReferencesAreAsAModelSaysThatTheyAre(t *testing.T) {
	t.Parallel()
	s := resourcetest.New(t, club)
	w := world{"Team": {}, "Member": {}, "Badge": {}, "Note": {}, "Part": {}}
	types := slices.Sorted(maps.Keys(w))
	keysOf := map[string][]string{}
	for _, r := range clubRules {
		keysOf[r.from] = append(keysOf[r.from], r.key)
	}
	some := func(typ string) string {
		ids := slices.Sorted(maps.Keys(w[typ]))
		if len(ids) == 0 || rand.IntN(12) == 0 {
			return "nobody"
		}
		return ids[rand.IntN(len(ids))]
	}
	refused, created := map[fault.Code]int{}, [][2]string{}
	for range 600 {
		typ := types[rand.IntN(len(types))]
		if rand.IntN(4) == 0 {
			id := some(typ)
			next, known := w.without(typ, id), w[typ][id] != nil
			err := try(t, s, typ, resource.Delete, `{"id":%q}`, id)
			switch {
			case known && next == nil && fault.Is(err, fault.Conflict), !known && fault.Is(err, fault.NotFound):
				refused[fault.Of(err).Code]++
			case known && next != nil && err == nil:
				w = next
			default:
				t.Fatalf("delete %s %s, which is there %t and may go %t: %v", typ, id, known, next != nil, err)
			}
			continue
		}
		keys, allowed := map[string]string{}, true
		for _, key := range keysOf[typ] {
			if key != "teamId" && rand.IntN(3) == 0 {
				continue
			}
			to := map[string]string{"teamId": "Team", "memberId": "Member", "aboutId": "Member", "ofId": "Part"}[key]
			keys[key] = some(to)
			allowed = allowed && w.allows(typ, key, keys[key])
		}
		input := map[string]any{}
		for key, id := range keys {
			input[key] = id
		}
		if typ == "Team" {
			input["name"] = "t"
		}
		raw, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Client.Submit(t.Context(), resource.Command{Type: typ, Verb: resource.Create, Who: admin, Input: raw})
		switch {
		case allowed && err == nil:
			w[typ][idOf(t, r)] = keys
			created = append(created, [2]string{typ, idOf(t, r)})
		case !allowed && fault.Is(err, fault.BadUserInput):
			refused[fault.BadUserInput]++
		default:
			t.Fatalf("create %s %s, allowed %t: %v", typ, raw, allowed, err)
		}
	}
	for _, c := range created {
		typ, id := c[0], c[1]
		stored, keys := now(t, s.Bus, typ, id), w[typ][id]
		if (stored == nil) != (keys == nil) {
			t.Errorf("%s %s is %v, want %v", typ, id, stored, keys)
		}
		for _, key := range keysOf[typ] {
			if got, _ := stored[key].(string); got != keys[key] {
				t.Errorf("%s %s.%s is %q, want %q", typ, id, key, got, keys[key])
			}
		}
	}
	if len(refused) != 3 {
		t.Errorf("refused were %v", refused)
	}
}
