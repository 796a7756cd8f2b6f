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
	outlet
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
	kind, err := d.hub.kind(ctx, who, req)
	switch {
	case fault.Is(err, fault.RateLimited):
		d.End(errorList(fault.Of(err), ""))
	case err == nil && kind == "subscription":
		sub := &subscription{hub: d.hub, ctx: ctx, who: who, request: req, out: d}
		d.keep(sub)
		if failed := sub.begin(lastEventID(r, cursor)); failed != nil {
			d.Next(failed.Body, "")
			d.End(nil)
		}
		return func() { sub.end(); ended() }
	case err == nil && kind == "mutation" && r.Method == http.MethodGet:
		d.End(errorList(fault.New(fault.BadRequest, "a GET does not mutate; use POST"), ""))
	default:
		d.execute(func() graphql.Response { return d.hub.execute(ctx, who, req) }, d)
	}
	return ended
}

// Next implements graphql.Sink.
func (d distinct) Next(payload []byte, cursor string) bool {
	if !d.push(d.next(payload, cursor)) {
		return false
	}
	d.hub.stats.by[overStream].delivered.Add(1)
	return true
}

// Try implements graphql.Trier.
func (d distinct) Try(payload []byte, cursor string) (taken, full bool) {
	if taken, full = d.try(d.next(payload, cursor)); taken {
		d.hub.stats.by[overStream].delivered.Add(1)
	}
	return taken, full
}

func (d distinct) next(payload []byte, cursor string) item {
	head := "event: next\ndata: "
	if cursor != "" {
		head = "event: next\nid: " + cursor + "\ndata: "
	}
	return item{head: head, body: dataLines(payload), tail: "\n\n"}
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

// over implements outlet.
func (d distinct) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.shut
}
