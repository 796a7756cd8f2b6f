package docs_test

import (
	"testing"

	"tidings/conformance/docs"
)

func TestAnswersAreComparedWithWhatThePageLeavesOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{`{"a": 1, "b": ["x"]}`, `{"b":["x"],"a":1}`, true},
		{`{"a": "…"}`, `{"a":[1,2]}`, true},
		{`{"a": "018f…"}`, `{"a":"018f2b6e"}`, true},
		{`{"a": "018f…"}`, `{"a":"019f2b6e"}`, false},
		{`{"a": "x…y…z"}`, `{"a":"x1y2y3z"}`, true},
		{`{"a": 1}`, `{"a":1,"b":2}`, false},
		{`{"a": null}`, `{"a":0}`, false},
		{`[1, 2]`, `[1]`, false},
		{`{"a": "1"}`, `{"a":1}`, false},
	} {
		if err := docs.SameJSON(c.want, c.got); (err == nil) != c.same {
			t.Errorf("%s, %s: %v", c.want, c.got, err)
		}
	}
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"a\nb\n", "a\nx\nb\n", true},
		{"b\na\n", "a\nx\nb\n", false},
		{"it took … ms\n", "it took 12 ms\n", true},
		{"it took … ms\n", "it took 12 s\n", false},
	} {
		if err := docs.SameLines(c.want, c.got); (err == nil) != c.same {
			t.Errorf("%q, %q: %v", c.want, c.got, err)
		}
	}
}
