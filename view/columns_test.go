package view

import (
	"encoding/json"
	"maps"
	"math"
	"testing"

	"tidings/internal/rawjson"
	"tidings/schema"
)

// The scanner finds in a valid object what encoding/json finds, and ends on
// anything else.
func FuzzColumns(f *testing.F) {
	for _, doc := range []string{
		`{}`, `{"a":1}`, ` { "a" : [1,{"b":"]}"}] , "c\"":"\\" } `, `{"a":"x","a":null}`, `{"a":{"a":{"a":"}"}}}`,
		`{"a":"\ud83d\ude00\u00e4","é":-1.5e3,"t":true}`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[]`, `"`, `{"a":"\`, `{"a":[}`, `null`, ``, `{"a":,}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got := map[string]string{}
		err := rawjson.Members(doc, func(key, value []byte) {
			for _, kind := range []schema.Kind{schema.KindString, schema.KindInt, schema.KindFloat, schema.KindBoolean, schema.KindDateTime} {
				if f, ok := columnValue(kind, value).(float64); ok && (math.IsNaN(f) || math.IsInf(f, 1)) {
					t.Fatalf("%q became %v", value, f)
				}
			}
			var plain string
			if json.Unmarshal([]byte(`"`+string(key)+`"`), &plain) == nil {
				got[plain] = string(value)
			}
		})
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
