package realtime

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidings/fault"
	"tidings/graphql"
)

// acceptsEventStream reports whether the client prefers text/event-stream to
// plain JSON: clients that can read both name both.
func acceptsEventStream(r *http.Request) bool {
	const stream = "text/event-stream"
	return graphql.Negotiate(r.Header.Values("Accept"), "application/json", "application/graphql-response+json", stream) == stream
}

// decodePost reads a POST body. What a plain HTML form can send is refused, so
// that a foreign page cannot make a browser send it.
func decodePost(r *http.Request) (operationPayload, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return operationPayload{}, &httpError{http.StatusUnsupportedMediaType, fault.BadRequest, "send the operation without Content-Encoding: compressed bodies are not read"}
	}
	typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || typ != "application/json" {
		return operationPayload{}, &httpError{http.StatusUnsupportedMediaType, fault.BadRequest, "send the operation as Content-Type: application/json"}
	}
	body, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return operationPayload{}, &httpError{http.StatusRequestEntityTooLarge, fault.PayloadTooLarge, "the request body is too large"}
	}
	if err != nil {
		return operationPayload{}, &httpError{http.StatusBadRequest, fault.BadRequest, "the request body ended early"}
	}
	if !utf8.Valid(body) {
		return operationPayload{}, &httpError{http.StatusBadRequest, fault.BadRequest, "the request's body is not in UTF-8"}
	}
	p, err := decodeOperation(body)
	if err != nil {
		return p, &httpError{http.StatusBadRequest, fault.BadRequest, err.Error()}
	}
	return p, nil
}

// tokenParameters are names under which clients put tokens into URLs.
var tokenParameters = []string{"token", "authToken", "access_token", "authorization", "Authorization"}

// decodeGet reads the query string of a GET, as EventSource sends it.
func decodeGet(q url.Values) (operationPayload, error) {
	if isToken(q.Get("token")) { // of a stream, in single connection mode
		q.Del("token")
	}
	if slices.ContainsFunc(tokenParameters, q.Has) {
		return operationPayload{}, &httpError{http.StatusBadRequest, fault.BadRequest,
			"a token in the URL would end up in logs; send it as Authorization header, with a client that uses fetch instead of EventSource"}
	}
	p := operationPayload{OperationName: q.Get("operationName"), DocumentID: q.Get("documentId"), QueryID: q.Get("queryId")}
	if q.Has("query") {
		p.Query = new(q.Get("query"))
	}
	var err error
	if p.Variables, err = jsonParameter(q, "variables"); err != nil {
		return p, err
	}
	if p.Extensions, err = jsonParameter(q, "extensions"); err != nil {
		return p, err
	}
	if err := p.check(); err != nil {
		return p, &httpError{http.StatusBadRequest, fault.BadRequest, err.Error()}
	}
	return p, nil
}

func jsonParameter(q url.Values, name string) (json.RawMessage, error) {
	text := q.Get(name)
	if text == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, &httpError{http.StatusBadRequest, fault.BadRequest, name + " is not JSON"}
	}
	return json.RawMessage(strings.TrimSpace(text)), nil
}

// lastEventID is the cursor that the client resumes from; empty means from
// now. The header wins: EventSource repeats its first URL for ever.
func lastEventID(r *http.Request, extension string) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	if id := r.URL.Query().Get("lastEventId"); id != "" {
		return id
	}
	return extension
}

// httpError is a refusal before the stream begins.
type httpError struct {
	status  int
	code    fault.Code
	message string
}

func (e *httpError) Error() string { return e.message }

// refuse answers with a GraphQL error.
func refuse(w http.ResponseWriter, e *httpError) {
	f := fault.New(e.code, "%s", e.message)
	if e.code == fault.RateLimited {
		f = limited("%s", e.message)
	}
	refuseWith(w, e.status, f)
}

func refuseWith(w http.ResponseWriter, status int, f *fault.Error) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	id := ""
	if f.Code == fault.Unavailable || f.Code == fault.Internal {
		id = w.Header().Get(graphql.HeaderRequestID)
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(f, id)) // the client has gone
}

// errorBody is a response that is one request error.
func errorBody(err *fault.Error, requestID string) []byte {
	return append(append([]byte(`{"errors":`), errorList(err, requestID)...), '}')
}

func (h *Hub) unauthorized(w http.ResponseWriter, err error) {
	f := fault.Of(err)
	h.turnedAway(refusedCredentials)
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	refuse(w, &httpError{http.StatusUnauthorized, f.Code, f.Message})
}

func (h *Hub) unavailable(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close") // the next process is reached by another
	refuse(w, &httpError{http.StatusServiceUnavailable, fault.Unavailable, err.Error()})
}
