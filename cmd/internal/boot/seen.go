package boot

import (
	"context"

	"tidings/auth"
	"tidings/graphql"
	"tidings/resource"
)

// What operators see of the edition in service, and what they may do.

// Feed is that of the edition in service.
func (r *Rooms) Feed() *resource.Feed { return r.current().Feed }

// Groups are the largest groups of equal subscriptions.
func (r *Rooms) Groups(most int) []graphql.LiveGroup {
	e, done := r.Use()
	defer done()
	return e.Engine.Groups(most)
}

// Text is the document of a request, as far as it is known here: see graphql.Engine.Text.
func (r *Rooms) Text(request graphql.Request) string {
	e, done := r.Use()
	defer done()
	return e.Engine.Text(request)
}

// Revoke takes tokens back, in all processes: see revoke.List.
func (r *Rooms) Revoke(ctx context.Context, what auth.Revocation) error {
	return r.revoked.Revoke(ctx, what)
}
