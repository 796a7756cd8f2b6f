package realtime

import (
	"bytes"
	"context"
	"encoding/json"

	"tidings/internal/rawjson"
	"tidings/internal/trace"
)

// A client on a socket cannot send headers with an operation. What it sends in
// their place, a member "traceparent" (and "tracestate") of an operation's
// extensions or else of the payload of connection_init, says as they do in which
// trace the operation is.

// traced returns a context for an operation in the trace that its client names.
func (s *socket) traced(ctx context.Context, extensions json.RawMessage) context.Context {
	t := s.hub.opts.Tracer
	if t == nil {
		return ctx
	}
	if from := originIn(t, extensions); from != nil {
		return from.Under(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origin.Under(ctx)
}

// originIn reads where a trace comes from out of an object; nil when it does not say.
func originIn(t *trace.Tracer, object json.RawMessage) *trace.Remote {
	if t == nil || !bytes.Contains(object, []byte(trace.HeaderParent)) {
		return nil
	}
	h := map[string][]string{}
	if rawjson.Members(object, func(key, value []byte) {
		if name := string(key); name == trace.HeaderParent || name == trace.HeaderState {
			h[name] = append(h[name], rawjson.Unquote(value))
		}
	}) != nil {
		return nil
	}
	return t.Origin(h)
}
