package rawjson_test

import (
	"testing"

	"tidings/internal/rawjson"
)

func TestAMemberInOtherLettersIsFound(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		`{"query":1,"x":{"QUERY":1}}`:     {},
		`{}`:                              {},
		`[{"QUERY":1}]`:                   {},
		`{"query":1,"Query":2,"QUERY":3}`: {"Query", "query"},
		`{"\u0051uery":1}`:                {"Query", "query"},
		`{"\u0071uery":1}`:                {},
		`{"qery":1,"":2}`:                 {},
	} {
		if member, meant := rawjson.Misspelt([]byte(raw), []string{"query", "id"}); member != want[0] || meant != want[1] {
			t.Errorf("%s: %q for %q", raw, member, meant)
		}
	}
}
