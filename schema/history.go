package schema

import (
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// history reads how many changes of each record of a type are kept.
func (c *compiler) history(def *ast.Definition) int {
	arg := given(def.Directives.ForName("resource"), "history")
	if arg == nil || arg.Value.Kind != ast.IntValue { // what is no Int is reported with the directive's arguments
		return 0
	}
	n, err := strconv.ParseInt(arg.Value.Raw, 10, 32)
	if err != nil || n < 1 {
		c.at(arg.Value.Position, "write at least 1: the last change of a record is its state", "%s cannot keep %s changes of each record", def.Name, arg.Value.Raw)
		return 0
	}
	return int(n)
}
