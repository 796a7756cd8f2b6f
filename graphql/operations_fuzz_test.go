package graphql_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"tidings/fault"
	"tidings/graphql"
)

func FuzzDecodeManifest(f *testing.F) {
	for _, seed := range []string{
		`{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"a","name":"A","type":"query","body":"query A { a }"}]}`,
		`{"0123456789abcdef0123456789abcdef":"query B { b }"}`,
		`{"operations":"{ a }"}`, `{"operations":null}`, `{"a":null}`, `{}`, `[]`, `null`, `{"":"x"}`, `{"operations":[null]}`, `{"version":1e999}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		documents, err := graphql.DecodeManifest(content)
		if err != nil && (documents != nil || err.Error() == "" || len(err.Error()) > 500) {
			t.Fatalf("%v with %v", documents, err)
		}
		for id := range documents {
			if id == "" {
				t.Fatal("an empty id")
			}
		}
		dir := fstest.MapFS{"m.json": {Data: content}, "m.graphql": {Data: content}}
		if o, err := graphql.ReadOperations(dir); err == nil && o.Len() < len(documents) && len(documents) < 2 {
			t.Fatalf("%d of %d", o.Len(), len(documents))
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{`"8e03978e-40d5-43dd-bc93-6894a57f9324"`, `8e03978e`, `"a\"b\\c"`, `"a`, `""`, ``, `"a"x`, "\x00", `"\x"`, ` k `, strings.Repeat("k", 256)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := graphql.ParseKey(value)
		if err != nil {
			if !fault.Is(err, fault.BadRequest) {
				t.Fatal(err)
			}
			return
		}
		if key == "" || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Fatalf("accepted %q as %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := graphql.ParseKey(quoted); err != nil || again != key {
			t.Fatalf("%q is read as %q, %v", quoted, again, err)
		}
	})
}

func FuzzDecodeEntry(f *testing.F) {
	for _, seed := range []string{
		`{"request":"r","command":"c","since":7,"until":"2024-05-01T10:00:00Z"}` + "\n",
		`{"request":"r","command":"c","since":7,"done":true,"position":"x-1"}` + "\n" + `{"data":{"a":"<"}}`,
		`{"request":"r","done":true}`, `{}`, ``, "\n", `{"request":"r","command":"c"}` + "\n{}", `{"request":"r","command":"c","done":true}` + "\nx",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := graphql.DecodeEntry(raw)
		if err != nil {
			return
		}
		twice, err := graphql.DecodeEntry(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q became %q, then %q, %v", raw, once, twice, err)
		}
	})
}

func FuzzReadExtensions(f *testing.F) {
	for _, seed := range []string{
		`{"persistedQuery":{"version":1,"sha256Hash":"` + hash("x") + `"},"position":"abc-1","idempotencyKey":"k","cursor":"c"}`,
		`{"position":true}`, `{"position":false}`, `{"position":{}}`, `{"position":"\ud800"}`, `{"idempotencyKey":""}`, `{"persistedQuery":null}`, `{"persistedQuery":{}}`, `null`, `[]`, ``, ` {} `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, hash, err := graphql.ReadExtensions(json.RawMessage(raw))
		if err != nil {
			if !fault.Is(err, fault.BadRequest) {
				t.Fatal(err)
			}
			return
		}
		if r.Position != "" && !r.WantPosition || len(r.IdempotencyKey) > 255 {
			t.Fatalf("%q was read as %+v, %q", raw, r, hash)
		}
	})
}
