package raw_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"tidings/internal/raw"
)

func TestFind(t *testing.T) {
	t.Parallel()
	doc := []byte(` { "id":"a", "n" : -1.5e3 , "list":[1,{"x":"]}"}], "s":"q\"\\", "z":null } `)
	spans := make([][]byte, 5)
	if !raw.Find(doc, []string{"list", "id", "none", "z", "s"}, spans) {
		t.Fatal("not an object")
	}
	for i, want := range []string{`[1,{"x":"]}"}]`, `"a"`, ``, `null`, `"q\"\\"`} {
		if string(spans[i]) != want {
			t.Errorf("%d: %s, want %s", i, spans[i], want)
		}
	}
	for _, bad := range []string{``, `[]`, `"`, `{`, `{"a"`, `{"a":`, `null`} {
		if raw.Find([]byte(bad), []string{"b"}, spans[:1]) {
			t.Errorf("%q is taken for an object", bad)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"id":"a","q":"\u00e9\n","n":1,"e":""}`)
	for name, want := range map[string]string{"id": "a", "q": "é\n", "n": "", "e": "", "none": ""} {
		if got := raw.String(doc, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	var got []string
	add := func(item []byte) bool { got = append(got, string(item)); return len(got) < 3 }
	if !raw.Elements([]byte(` [ 1 , "a,]" ,[2], 3 ] `), add) || !slices.Equal(got, []string{"1", `"a,]"`, "[2]"}) {
		t.Error(got)
	}
	for _, bad := range []string{``, `{}`, `[`, `[1`, `null`} {
		if raw.Elements([]byte(bad), func([]byte) bool { return true }) {
			t.Errorf("%q is taken for an array", bad)
		}
	}
}

// What encoding/json reads is found as it reads it; everything else ends.
func FuzzMembers(f *testing.F) {
	for _, doc := range []string{`{}`, `{"a":1}`, ` { "a" : [1,{"b":"]}"}] , "c\"":"\\" } `, `{"a":"x","a":null}`, `{"a":`, `{"a":1,}`, `[]`, `{"a":"\`, `{"a":[}`, ``} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got := map[string]string{}
		err := raw.Members(doc, func(key, value []byte) {
			var plain string
			if json.Unmarshal([]byte(`"`+string(key)+`"`), &plain) == nil {
				got[plain] = string(value)
			}
		})
		raw.Find(doc, []string{"a", "b"}, make([][]byte, 2))
		raw.Elements(doc, func([]byte) bool { return true })
		var parsed map[string]json.RawMessage
		if json.Unmarshal(doc, &parsed) != nil || parsed == nil {
			return
		}
		want := map[string]string{}
		for k, v := range parsed {
			want[k] = string(v)
		}
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%q: %q, want %q, %v", doc, got, want, err)
		}
	})
}
