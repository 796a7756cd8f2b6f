package graphql

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
)

// HeaderRequestID tells a client what its request is called in the log.
const HeaderRequestID = "Tidings-Request-Id"

// Exchange is what the edge tells the engine about one request, and what it
// learns of it for its own log. It belongs to the goroutine that serves the
// request.
type Exchange struct {
	// ID names the request in the log and in the errors that point there. The
	// edge sets it before it calls anything, and tells the client by HeaderRequestID.
	ID string

	// What ServeHTTP fills in; all empty when another handler answered.
	Kind   string     // query, mutation or subscription; empty when it could not be told
	Name   string     // of the operation, cut to 60 bytes
	User   string     // subject of the caller; empty: anonymous
	Code   fault.Code // of the first error
	Status int        // of the response
	shed   bool       // there was too much to do
}

type exchangeKey struct{}

// WithExchange returns a context whose requests tell x what became of them.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// ExchangeOf returns the exchange of a context, nil where the edge has set none.
func ExchangeOf(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Faulty reports whether the request failed by no fault of the caller, and is worth
// a line: who is refused because there is too much to do is counted.
func (x *Exchange) Faulty() bool { return faulty(x.Code) && !x.shed }

// id returns the request's id. What comes over a socket or the bus has none,
// and gets one when there is something to look up by it.
func (x *Exchange) id() string {
	if x.ID == "" {
		x.ID = rand.Text()
	}
	return x.ID
}

// faulty reports whether a failure is one that an operator may have to look
// up: the ones that are not the caller's.
func faulty(code fault.Code) bool {
	return code == fault.Internal || code == fault.Unavailable || code == fault.Timeout
}

// request returns the exchange of a run, which may have to be made: what an
// event sets off is nobody's request.
func (r *run) request() *Exchange {
	if r.exchange == nil {
		r.exchange = &Exchange{}
	}
	return r.exchange
}

// identify adds the request's id to an error that an operator may have to look up.
func (r *run) identify(err *gqlerror.Error) {
	if faulty(codeOf(err)) {
		err.Extensions["requestId"] = r.request().id()
	}
}

// told is what a caller is told of a failure that is no field's. One that is not
// the caller's carries the id under which the log says why.
func (e *Engine) told(ctx context.Context, err error) *gqlerror.Error {
	f := fault.Of(err)
	told := refuse(nil, f.Code, "%s", f.Message)
	extend(told, f)
	if faulty(f.Code) {
		id := cmp.Or(ExchangeOf(ctx), &Exchange{}).id()
		told.Extensions["requestId"] = id
		e.log.LogAttrs(ctx, levelOf(f), "an operation failed", slog.String("request_id", id), slog.Any("error", err))
	}
	return told
}

// extend adds to an error's extensions what a fault says beside its code.
func extend(told *gqlerror.Error, f *fault.Error) {
	if f.Field != "" {
		told.Extensions["field"] = f.Field
	}
	if f.RetryAfter > 0 {
		told.Extensions["retryAfter"] = int64(f.RetryAfter)
	}
	if f.CurrentVersion != nil {
		told.Extensions["currentVersion"] = *f.CurrentVersion
	}
}

// levelOf is how loud the log is about a failure that is not the caller's.
func levelOf(f *fault.Error) slog.Level {
	switch {
	case f.Code == fault.Internal:
		return slog.LevelError
	case f.Err == nil || errors.Is(f.Err, context.Canceled): // the caller was told all, or has gone
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// adopt gives one of our codes to an error that has none: an extension's, say,
// or a function's that made one up.
func (r *run) adopt(ctx context.Context, err *gqlerror.Error) {
	if code, ok := err.Extensions["code"].(string); ok && fault.Code(code).Known() {
		return
	}
	if err.Extensions == nil {
		err.Extensions = map[string]any{}
	}
	err.Extensions["code"] = string(fault.Internal)
	r.identify(err)
	r.engine.log.LogAttrs(ctx, slog.LevelError, "an error without a code of ours",
		slog.String("request_id", r.request().id()), slog.Any("error", err))
}
