package rawjson_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidings/internal/rawjson"
)

func TestFind(t *testing.T) {
	t.Parallel()
	doc := []byte(` { "id":"a", "n" : -1.5e3 , "list":[1,{"x":"]}"}], "s":"q\"\\", "z":null } `)
	spans := make([]rawjson.Extent, 5)
	if !rawjson.Find(doc, []string{"list", "id", "none", "z", "s"}, spans) {
		t.Fatal("not an object")
	}
	for i, want := range []string{`[1,{"x":"]}"}]`, `"a"`, ``, `null`, `"q\"\\"`} {
		if got := string(spans[i].Of(doc)); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	for _, bad := range []string{``, `[]`, `"`, `{`, `{"a"`, `{"a":`, `null`} {
		if rawjson.Find([]byte(bad), []string{"b"}, spans[:1]) {
			t.Errorf("%q is taken for an object", bad)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"id":"a","q":"\u00e9\n","n":1,"e":""}`)
	for name, want := range map[string]string{"id": "a", "q": "é\n", "n": "", "e": "", "none": ""} {
		if got := rawjson.String(doc, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	var got []string
	add := func(item []byte) bool { got = append(got, string(item)); return len(got) < 3 }
	if !rawjson.Elements([]byte(` [ 1 , "a,]" ,[2], 3 ] `), add) || !slices.Equal(got, []string{"1", `"a,]"`, "[2]"}) {
		t.Error(got)
	}
	for _, bad := range []string{``, `{}`, `[`, `[1`, `null`} {
		if rawjson.Elements([]byte(bad), func([]byte) bool { return true }) {
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
		err := rawjson.Members(doc, func(key, value []byte) {
			var plain string
			if json.Unmarshal([]byte(`"`+string(key)+`"`), &plain) == nil {
				got[plain] = string(value)
			}
		})
		rawjson.Find(doc, []string{"a", "b"}, make([]rawjson.Extent, 2))
		rawjson.Elements(doc, func([]byte) bool { return true })
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

// FuzzFind compares the scanner with encoding/json, for every valid object.
func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":"x\"}","c":{"a":[1,{"b":2}]},"d":null}`), "c")
	f.Add([]byte(` { "a" : [ ] , "b" : -1.5e3 } `), "b")
	f.Add([]byte(`{"a":"\\","b":true}`), "b")
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		var extent [1]rawjson.Extent
		ok := rawjson.Find(raw, []string{key}, extent[:])
		found := extent[0].Of(raw)
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil || members == nil || ambiguous(raw) {
			return
		}
		if !ok {
			t.Fatalf("%s is an object", raw)
		}
		if want := string(members[key]); string(found) != want {
			t.Errorf("%q of %s: %q, want %q", key, raw, found, want)
		}
	})
}

// FuzzParse compares the decoder of variables with encoding/json.
func FuzzParse(f *testing.F) {
	f.Add([]byte(` { "a" : [ 1.50 , -2e3, true , null, "x\u00e9\ud83d\ude00\ud83d" ] , "" : {} , "a": [[ ]] } `))
	f.Add([]byte(`"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := rawjson.Parse(raw)
		if ok != json.Valid(raw) {
			t.Fatalf("%q: %t", raw, ok)
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var want any
		if ok && (dec.Decode(&want) != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%q: %#v, want %#v", raw, got, want)
		}
	})
}

// ambiguous reports what records never have: a key twice, or with escapes, or
// one that is not UTF-8.
func ambiguous(raw []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	seen := map[string]bool{}
	for depth, isKey := 0, false; ; {
		before := dec.InputOffset()
		token, err := dec.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			isKey = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth != 1 {
			continue
		}
		if name, ok := token.(string); ok && isKey {
			text := bytes.TrimLeft(raw[before:dec.InputOffset()], ", \t\r\n")
			if seen[name] || string(text) != `"`+name+`"` {
				return true
			}
			seen[name] = true
		}
		isKey = !isKey
	}
}

// FuzzValid compares it with encoding/json.
func FuzzValid(f *testing.F) {
	for _, doc := range []string{
		`{"a":[1.50,-2e3,true,null,"x\u00e9\\"],"":{},"b":[[]]}`, ` [ ] `, `{"a":}`, `{"a"}`, `{"a":1,}`, `[1,]`, `[,1]`, `01`, `-`, `-0.`, `1e`, `1E+9`,
		`"\u12G4"`, `"\x"`, `"`, "\"\n\"", `tru`, `nul`, `{} {}`, `{"a":1 "b":2}`, `[1 2]`, `{1:2}`, "\"\xff\"", "", " ", `"\u00`, `"\`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, want := rawjson.Valid(raw), json.Valid(raw); got != want {
			t.Errorf("%q: %t", raw, got)
		}
	})
}

func TestValidStopsWhereEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{9_999, 10_000, 10_001} {
		for _, open := range []string{"[", `{"a":`} {
			shut, last := "]", ""
			if open != "[" {
				shut, last = "}", "1"
			}
			raw := []byte(strings.Repeat(open, depth) + last + strings.Repeat(shut, depth))
			if got, want := rawjson.Valid(raw), json.Valid(raw); got != want {
				t.Errorf("%d times %s: %t", depth, open, got)
			}
		}
	}
}

func BenchmarkValid(b *testing.B) {
	doc := []byte(`{"id":"018f2b6e-7c1e-7000-8000-000000000001","authorId":"user-0001","title":"A title of some length","excerpt":null,"body":"What it says in full: a paragraph of plain text.","kind":"NOTE","tags":[],"minutes":12,"createdAt":"2026-11-21T02:57:51.123456Z"}`)
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			rawjson.Valid(doc)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(doc)
		}
	})
}
