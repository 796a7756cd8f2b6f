//go:build conformance

package processes

import (
	"context"
	"fmt"
	"testing"
)

// newcomers creates users, each with an address that nobody else wants and an
// idempotency key, and sends each again with its key until it is acknowledged.
type newcomers struct {
	writer
	created int
}

func (n *newcomers) write(ctx context.Context) error {
	n.created++
	id := fmt.Sprintf("%s-%d", n.name, n.created)
	c := claim(id, id, id+"@example.org")
	c.Extensions = map[string]any{"idempotencyKey": id}
	n.ledger.attempt(id)
	return n.insist(context.WithoutCancel(ctx), func() error { // to the end: a conflict is a fault
		_, err := mutate(context.Background(), n.apis[0], n.token, c, id)
		if err == nil {
			n.ledger.ack(id, id)
		}
		return err
	})
}

// A single process reserves the address of a new user ahead of the record. When it is
// killed between the two, the same mutation, sent again, is not told that somebody
// else has the address.
func TestNoNewcomerMeetsItsOwnReservationWhileTheSingleProcessIsKilled(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := startAPI(t, "api", data, nil)
	admin := token(t, data, "root", "ADMIN")
	l := newLedger()
	var list []func(context.Context) error
	for i := range 8 {
		n := &newcomers{writer: writer{name: fmt.Sprintf("n%d", i), token: admin, apis: []*api{a}, ledger: l}}
		list = append(list, func(ctx context.Context) error { return paced(ctx, n.write) })
	}
	w := launch(t, l, list...)
	for range 4 {
		w.progress(t, 60)
		a.kill(t)
		a.restart(t)
	}
	w.progress(t, 60)
	w.end(t)
	t.Logf("%d created; failures: %v", l.count(), l.failures)
	want := map[string]string{}
	for id := range l.attempts {
		want[id] = id
	}
	checkState(t, a, admin, "users", "name", want)
}
