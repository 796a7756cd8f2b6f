package view_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"tidings/fault"
	"tidings/view"
)

func TestCursorOfAnotherOrderIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture()
	v := fresh(t, f.model)
	put(t, v, "Post", object{"id": "a", "title": "x"}, object{"id": "b", "title": "y"})
	put(t, v, "User", object{"id": "a"})
	page, err := v.List(t.Context(), view.Query{Type: "Post", First: 1, Order: []view.Order{{Field: f.title}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]view.Query{
		"by id":           {Type: "Post"},
		"other direction": {Type: "Post", Order: []view.Order{{Field: f.title, Desc: true}}},
		"other field":     {Type: "Post", Order: []view.Order{{Field: f.kind}}},
		"one more":        {Type: "Post", Order: []view.Order{{Field: f.title}, {Field: f.kind}}},
		"other type":      {Type: "User"},
	} {
		q.Before = page.Cursors[0]
		_, err := v.List(t.Context(), q)
		if got, ok := errors.AsType[*fault.Error](err); !ok || got.Field != "before" || !strings.Contains(got.Message, "another order") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a stranger sends as a cursor is refused as input or is a place.
func FuzzCursor(f *testing.F) {
	x := newFixture()
	v := open(f, x.model, "")
	put(f, v, "Post", object{"id": "a", "title": "x", "minutes": 5, "createdAt": "2026-11-20T07:25:22Z"}, object{"id": "b"}, object{"id": "c", "draft": true, "score": 1.5})
	q := view.Query{Type: "Post", Order: []view.Order{{Field: x.title}, {Field: x.minutes, Desc: true}, {Field: x.score}, {Field: x.draft}, {Field: x.created}}}
	page, err := v.List(f.Context(), q)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range page.Cursors {
		f.Add(c)
		plain, err := base64.RawURLEncoding.DecodeString(c)
		if err != nil {
			f.Fatal(err)
		}
		tag := string(plain[:11])
		for _, rest := range []string{`]`, `,null,null,null,null,null,null]`, `,1,1,1,1,1,1]`, `,"","","","","",""]`, `,"x",1e999,-0,2,"\u0000","b"]`, `,[],{},true,false,0,"a"]`, `,"x",1,1,1,"x","a","more"]`} {
			f.Add(base64.RawURLEncoding.EncodeToString([]byte(tag + rest)))
		}
	}
	for _, c := range []string{"", "a", "AA==", "bnVsbA", "W10", "WzFd", "W251bGxd", "e30", page.Cursors[0] + "=", page.Cursors[0] + "A"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		q := q
		for range 2 {
			q.After, q.Before = q.Before, cursor
			page, err := v.List(t.Context(), q)
			if err != nil && !fault.Is(err, fault.BadUserInput) {
				t.Fatalf("%q: %v", cursor, err)
			}
			if len(page.Records) > 3 {
				t.Fatalf("%q: %d records", cursor, len(page.Records))
			}
			q.Before = ""
		}
	})
}
