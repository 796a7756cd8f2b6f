package docs_test

import (
	"regexp"
	"slices"
	"testing"

	"tidings/fault"
)

// codes are the rows of docs/errors.md.
var codes = regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|")

func TestThePageOfErrorsHasEveryCodeOnce(t *testing.T) {
	t.Parallel()
	var documented []fault.Code
	for _, m := range codes.FindAllStringSubmatch(text(t, "docs/errors.md"), -1) {
		documented = append(documented, fault.Code(m[1]))
	}
	want := fault.Codes()
	slices.Sort(documented)
	slices.Sort(want)
	if !slices.Equal(documented, want) {
		t.Errorf("docs/errors.md has\n%v, there are\n%v", documented, want)
	}
}
