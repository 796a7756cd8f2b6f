package graphql

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/fault"
)

// Response is the whole answer to a request.
type Response struct {
	// Body is the JSON object with data, errors and extensions.
	Body []byte
	// Failed: the request was refused before anything ran; Body has no data.
	Failed bool
	// Code is the first error's; empty when there is none.
	Code fault.Code
	// Position is where a mutation's last change happened; empty without one.
	Position string
	// Replayed: this is the answer that the idempotency key got before.
	Replayed bool
	// RetryAfter is how long a caller has to wait who was refused with RATE_LIMITED,
	// or with UNAVAILABLE because there was too much to do; zero otherwise.
	RetryAfter time.Duration
}

// failure is the response to a request that was refused.
func (e *Engine) failure(errs gqlerror.List) *Response {
	if !e.hints {
		errs = withoutHints(errs)
	}
	e.meters.refusedBy(errs)
	body := appendErrors([]byte(`{"errors":`), errs)
	return &Response{Body: append(body, '}'), Failed: true, Code: codeOf(errs[0])}
}

// response writes the envelope around what the frame returned. It is nil when
// the time was over before anything ran.
func (r *run) response(ctx context.Context, from *graphql.Response) Response {
	if from == nil {
		err := executionError(fault.Of(context.Cause(ctx)), nil, nil)
		r.identify(err)
		return *r.engine.failure(gqlerror.List{err})
	}
	body := r.buf
	if data := r.data(); len(data) == 0 || len(data) != len(from.Data) || &from.Data[0] != &data[0] {
		// An extension answered in our place, or changed the answer.
		if len(from.Data) == 0 {
			from.Data = json.RawMessage("null")
		}
		body = append([]byte(dataPrefix), from.Data...)
	}
	var code fault.Code
	if len(from.Errors) > 0 {
		for _, err := range from.Errors {
			r.adopt(ctx, err)
		}
		code = codeOf(from.Errors[0])
		body = appendErrors(append(body, `,"errors":`...), from.Errors)
	}
	if r.op.asked.cost {
		from.Extensions = maps.Clone(from.Extensions)
		if from.Extensions == nil {
			from.Extensions = map[string]any{}
		}
		from.Extensions["cost"] = r.costs()
	}
	if r.op.asked.tell {
		from.Extensions = maps.Clone(from.Extensions)
		if from.Extensions == nil {
			from.Extensions = map[string]any{}
		}
		from.Extensions["position"] = r.position()
	}
	if len(from.Extensions) > 0 {
		body = appendValue(append(body, `,"extensions":`...), from.Extensions)
	}
	r.op.plan.hint.Store(int64(len(body)))
	resp := Response{Body: append(body, '}'), Code: code}
	if r.wrote > 0 {
		resp.Position = r.position()
	}
	if c := r.op.claim; c != nil {
		c.note(from.Errors)
	}
	return resp
}

// appendErrors appends a list of errors as the specification writes them. An
// error with the code TIMEOUT carries the code beside its message too, as the
// interface of the service promises.
func appendErrors(buf []byte, errs gqlerror.List) []byte {
	buf = append(buf, '[')
	for i, err := range errs {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendString(append(buf, `{"message":`...), err.Message)
		if len(err.Locations) > 0 {
			buf = appendLocations(append(buf, `,"locations":`...), err.Locations)
		}
		if len(err.Path) > 0 {
			buf = appendPath(append(buf, `,"path":`...), err.Path)
		}
		if codeOf(err) == fault.Timeout {
			buf = append(buf, `,"code":"TIMEOUT"`...)
		}
		if len(err.Extensions) > 0 {
			buf = appendValue(append(buf, `,"extensions":`...), err.Extensions)
		}
		buf = append(buf, '}')
	}
	return append(buf, ']')
}

func appendLocations(buf []byte, list []gqlerror.Location) []byte {
	buf = append(buf, '[')
	for i, at := range list {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = strconv.AppendInt(append(buf, `{"line":`...), int64(at.Line), 10)
		buf = strconv.AppendInt(append(buf, `,"column":`...), int64(at.Column), 10)
		buf = append(buf, '}')
	}
	return append(buf, ']')
}

func appendPath(buf []byte, path ast.Path) []byte {
	buf = append(buf, '[')
	for i, element := range path {
		if i > 0 {
			buf = append(buf, ',')
		}
		switch element := element.(type) {
		case ast.PathName:
			buf = appendString(buf, string(element))
		case ast.PathIndex:
			buf = strconv.AppendInt(buf, int64(element), 10)
		}
	}
	return append(buf, ']')
}
