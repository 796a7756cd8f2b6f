//go:build conformance

package processes

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

func TestAHistoryIsHeldAgainstTheLog(t *testing.T) {
	t.Parallel()
	never := int64(math.MaxInt64)
	at := func(call, end int64, verb, name, told, was string) porcupine.Operation {
		return porcupine.Operation{Input: demand{verb, name}, Output: answer{told, was}, Call: call, Return: end}
	}
	var silent []porcupine.Operation // many were told nothing, as when all servers are away
	for i := range int64(40) {
		silent = append(silent, at(5+i, never, "delete", "", "unknown", ""), at(5+i, never, "update", fmt.Sprint("lost", i), "unknown", ""))
	}
	begin := []porcupine.Operation{at(0, 1, "create", "a", "ok", "a"), at(2, 3, "update", "b", "ok", "b")}
	for name, c := range map[string]struct {
		log  []string
		more []porcupine.Operation
		want porcupine.CheckResult
	}{
		"nobody was told of two deletions": {[]string{"a", "b", "", "c", "", "d"},
			[]porcupine.Operation{at(60, 70, "create", "c", "ok", "c"), at(80, 90, "create", "x", "exists", ""), at(100, 110, "create", "d", "ok", "d")}, porcupine.Ok},
		"a change that was told is not in the log": {[]string{"a"}, nil, porcupine.Illegal},
		"a change came before the one that it saw": {[]string{"b", "a"}, nil, porcupine.Illegal},
		"a refusal says what never was": {[]string{"a", "b", "c"},
			[]porcupine.Operation{at(60, 70, "update", "c", "ok", "c"), at(80, 90, "look", "", "absent", "")}, porcupine.Illegal},
		"a look sees what was before": {[]string{"a", "b", "c"},
			[]porcupine.Operation{at(60, 70, "update", "c", "ok", "c"), at(80, 90, "look", "", "ok", "b")}, porcupine.Illegal},
		"a deletion that was told is not in the log": {[]string{"a", "b"}, []porcupine.Operation{at(60, 70, "delete", "", "ok", "b")}, porcupine.Illegal},
		"a deletion that nobody was told of came before it was asked for": {[]string{"a", "", "d", "b"},
			[]porcupine.Operation{at(-2, -1, "look", "", "absent", ""), at(1, 2, "create", "d", "ok", "d")}, porcupine.Illegal},
		"a record came back by itself": {[]string{"a", "b", "", "b"}, []porcupine.Operation{at(80, 90, "look", "", "ok", "c")}, porcupine.Illegal},
	} {
		chain := chainOf(c.log)
		ops := settled(slices.Concat(begin, silent, c.more), chain)
		if got := porcupine.CheckOperationsTimeout(along(chain), ops, 20*time.Second); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
