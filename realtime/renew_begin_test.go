package realtime_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"tidings/auth"
	"tidings/graphql"
	"tidings/realtime"
	"tidings/schema"
)

// planning is an engine that takes its time over an operation, and notes for
// whom it begins then.
type planning struct {
	*scripted
	begun chan auth.Principal
}

func (e planning) Kind(ctx context.Context, r graphql.Request) (string, error) {
	e.blocked <- struct{}{}
	<-e.release
	return e.scripted.Kind(ctx, r)
}

func (e planning) Subscribe(ctx context.Context, who auth.Principal, r graphql.Request, after string, s graphql.Sink) (func(), *graphql.Response) {
	e.begun <- who
	return e.scripted.Subscribe(ctx, who, r, after, s)
}

// What a new token does not grant any more is not granted either to an operation
// that was about to begin when it came.
func TestAnOperationBeginsWithTheTokenThatCameWhileItWasPlanned(t *testing.T) {
	t.Parallel()
	e := planning{newScripted(), make(chan auth.Principal, 1)}
	hub := newHub(t, e, realtime.Options{})
	srv := httptest.NewServer(hub.Wrap(http.NotFoundHandler()))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = hub.Close() })
	c := as(t, "eve")
	c.header.Set("Authorization", "Bearer "+tokenWith(t, "eve", schema.Admin))
	c.reserve(srv.URL)
	c.open(srv.URL)
	asked := &caller{t: t, token: c.token, header: c.header.Clone()}
	posted := make(chan *http.Response, 1)
	go func() { posted <- asked.post(srv.URL, "1", "subscription ticks") }()
	within(t, e.blocked) // the request is looked at
	e.release <- struct{}{}
	within(t, e.blocked) // the operation is
	c.header.Set("Authorization", "Bearer "+tokenWith(t, "eve", schema.User))
	c.expect(204, c.renew(srv.URL))
	close(e.release)
	if who := within(t, e.begun); who.Roles != schema.User {
		t.Errorf("it began as %v", auth.RoleNames(who.Roles))
	}
	c.expect(202, within(t, posted))
}
