package boot

import (
	"context"
	"iter"
	"time"

	"tidings/graphql"
	"tidings/schema"
)

// functions are the Go functions of the service itself, for the hand-written
// root fields that name them: `count(target: Int = 10): Int!` on Subscription
// counts to target, one number a second. It is there to try a connection.
func functions(m *schema.Model) map[string]graphql.Function {
	if m.Contract.Subscription == nil || m.Contract.Subscription.Fields.ForName("count") == nil || m.Root("Subscription", "count") != nil {
		return nil
	}
	return map[string]graphql.Function{"Subscription.count": {Subscribe: count}}
}

func count(ctx context.Context, call graphql.Call) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		target, _ := call.Args["target"].(int64)
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
