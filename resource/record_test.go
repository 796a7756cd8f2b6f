package resource_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tidings/resource"
)

// An object is taken apart as encoding/json takes it apart, and what that
// refuses is refused.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"b":[{"c":null}],"a":2}`, ` { "a" : "x\n" , "b" : true } `, `null`, `[]`, `{"a"}`, `{"a":1}x`,
		`{"a":01}`, "{\"\\u0061\":1,\"a\":2}", "{\"\xff\":1}", "{\"é\":\"\xff\"}", ``, `{"a":1,}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(raw, &want)
		got, err := resource.MembersOf(raw)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, want %v", raw, err, wantErr)
		}
		if err != nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %s, want %s", raw, got, want)
		}
		for name, value := range want {
			if string(got[name]) != string(value) {
				t.Fatalf("%q: %s is %s, want %s", raw, name, got[name], value)
			}
		}
	})
}

// A text is quoted as encoding/json quotes it, but for what HTML would need.
func FuzzQuoted(f *testing.F) {
	for _, seed := range []string{"", "plain", `a"b\c`, "<&>", "ä\u2028\u2029", "\xff\x00\x7f\n", strings.Repeat("x", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := resource.EncodeValue(s)
		if got := resource.Quoted(s); err != nil || string(got) != string(want) {
			t.Fatalf("%q: %s, want %s, %v", s, got, want, err)
		}
	})
}
