package realtime

import (
	"context"
	"fmt"
	"net/http"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
)

// distinct is the one operation of a stream in distinct connections mode, and
// the sink of its results.
type distinct struct{ *stream }

var _ interface {
	graphql.Sink
	graphql.Pacer
	graphql.Starter
} = distinct{}

// start begins the operation and returns what ends it.
func (d distinct) start(ctx context.Context, r *http.Request, who auth.Principal, p operationPayload) (stop func()) {
	d.hub.stats.operations.Add(1)
	ended := func() { d.hub.stats.operations.Add(-1) }
	req, cursor := p.request()
	if err := req.ReadHeader(r.Header); err != nil {
		d.End(errorList(fault.Of(err), ""))
		return ended
	}
	kind, err := d.hub.engine.Kind(auth.NewContext(ctx, who), req)
	switch {
	case fault.Is(err, fault.RateLimited):
		d.End(errorList(fault.Of(err), ""))
	case err == nil && kind == "subscription":
		stop, failed := d.hub.engine.Subscribe(ctx, who, req, lastEventID(r, cursor), d)
		if failed == nil {
			return func() { stop(); ended() }
		}
		d.Next(failed.Body, "")
		d.End(nil)
	case err == nil && kind == "mutation" && r.Method == http.MethodGet:
		d.End(errorList(fault.New(fault.BadRequest, "a GET does not mutate; use POST"), ""))
	default:
		d.execute(func() graphql.Response { return d.hub.engine.Execute(ctx, who, req) }, d)
	}
	return ended
}

// Start tells the client where the operation begins: an event without data sets
// the id that it will come back with, and is dispatched to nobody.
func (d distinct) Start(cursor string) {
	d.push(item{head: "id: " + cursor + "\n\n"}) // the first: it fits
}

// Next implements graphql.Sink.
func (d distinct) Next(payload []byte, cursor string) bool {
	head := "event: next\ndata: "
	if cursor != "" {
		head = "event: next\nid: " + cursor + "\ndata: "
	}
	if !d.push(item{head: head, body: dataLines(payload), tail: "\n\n"}) {
		return false
	}
	d.hub.stats.delivered.Add(1)
	return true
}

// End implements graphql.Sink.
func (d distinct) End(errors []byte) {
	if errors != nil {
		d.Next(fmt.Appendf(nil, `{"errors":%s}`, errors), "")
	}
	// Without a data field EventSource would never dispatch the event.
	d.finish(item{head: "event: complete\ndata:\n\n"})
}

// Ready implements graphql.Pacer.
func (d distinct) Ready(ctx context.Context) error { return d.ready(ctx) }
