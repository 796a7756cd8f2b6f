package graphql

import "context"

// Price estimates what a request costs, as Execute does before it runs it.
func (e *Engine) Price(r Request) (int, *Response) {
	op, failed := e.Prepare(r)
	if failed != nil {
		return 0, failed
	}
	cost, err := e.price(op)
	if err != nil {
		return 0, e.refusal(context.Background(), err)
	}
	return cost, nil
}
