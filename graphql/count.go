package graphql

import (
	"context"
	"iter"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// builtin returns the function that every engine has for a root field that the
// adopter declared by hand. There is one: `count(target: Int = 10): Int!` on
// Subscription, something to try a connection with.
func builtin(name string, f *ast.FieldDefinition) (Function, bool) {
	target := f.Arguments.ForName("target")
	if name != "Subscription.count" || len(f.Arguments) != 1 || target == nil || target.Type.Name() != "Int" || f.Type.String() != "Int!" {
		return Function{}, false
	}
	return Function{Subscribe: count}, true
}

// count yields the numbers from 1 to the target, one a second.
func count(ctx context.Context, c Call) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		target, _ := c.Args["target"].(int64) // null counts to nothing
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := int64(1); n <= target && yield(n, nil) && n < target; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}
