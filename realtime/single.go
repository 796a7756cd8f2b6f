package realtime

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"tidings/auth"
	"tidings/fault"
	"tidings/graphql"
	"tidings/quota"
)

// HeaderStreamToken names the event stream of a request in single connection mode.
const HeaderStreamToken = "X-Graphql-Event-Stream-Token"

// streamToken is the token of a reserved event stream that the request names;
// empty when it names none. In a URL only what has the form of one counts.
func streamToken(r *http.Request) string {
	if token := r.Header.Get(HeaderStreamToken); token != "" {
		return token
	}
	return tokenInURL(r)
}

func tokenInURL(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	if token := r.URL.Query().Get("token"); isToken(token) {
		return token
	}
	return ""
}

func singleMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodPost || method == http.MethodDelete
}

// Single serves graphql-sse's single connection mode
// (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md), in which
// one event stream carries the results of many requests:
//
//   - PUT reserves a stream: 201 with its token, which is good once and for
//     Options.Reserved;
//   - a request with the token that accepts text/event-stream opens it;
//   - a POST, or a GET with a query, with the token and extensions.operationId
//     begins an operation: 202, and its results come as events;
//   - DELETE with the token and ?operationId= ends one;
//   - PUT with the token as a parameter and new credentials of the same subject
//     makes them those of the stream and of all its operations: 204. With the
//     token in the header it reserves another stream, since that is what npm's
//     graphql-sse does when it has let the one go which it had.
//
// The token is in the header HeaderStreamToken or in the parameter token. Who
// reserved a stream alone may use it; it is opened by the token alone too, since
// EventSource sends no credentials. Operations that come before the stream is
// open begin when it is. Each runs as who sent it.
//
// All of these may reach different processes, where there is Options.Bus.
// Refused are requests that cannot be read, documents that cannot be planned and
// operations without an id (400), wrong credentials (401) and those of another
// caller (403), tokens without a stream (404), mutations by GET (405), a second
// opening and an id in use (409), what is too large (413), too many operations
// or connections (429), and all while the process that is needed cannot (503).
func (h *Hub) Single(w http.ResponseWriter, r *http.Request) {
	who, err := h.verifier.Bearer(r.Header.Get("Authorization"))
	if err != nil {
		h.unauthorized(w, err)
		return
	}
	token := streamToken(r)
	switch {
	case r.Method == http.MethodPut && tokenInURL(r) != "":
		h.renew(w, r, who, tokenInURL(r))
	case r.Method == http.MethodPut:
		h.put(w, r, who)
	case r.Method == http.MethodDelete:
		h.delete(w, r, who, token)
	case acceptsEventStream(r):
		h.openReserved(w, r, who, token)
	default:
		h.post(w, r, who, token)
	}
}

// put reserves a stream.
func (h *Hub) put(w http.ResponseWriter, r *http.Request, who auth.Principal) {
	if err := h.full(); err != nil {
		h.unavailable(w, err)
		return
	}
	token, caller := newToken(), callerOf(who, quota.Client(r.Context()))
	if !h.claim(caller) {
		refuseMany(w, tooMany)
		return
	}
	res := newReservation(h, nameOf(token), who, caller)
	if err := h.reserve(r.Context(), res); err != nil {
		res.forget()
		h.unavailable(w, err)
		return
	}
	res.promise(h.opts.Reserved)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, token) // who is gone does not come for it
}

// openReserved serves the stream of a token until it ends.
func (h *Hub) openReserved(w http.ResponseWriter, r *http.Request, who auth.Principal, token string) {
	st, err := h.newStream(w, r)
	if err != nil {
		// Not as EventSource would like it: a stream that is there and ends at once
		// is what npm's graphql-sse waits on for ever.
		h.unavailable(w, err)
		return
	}
	defer h.closeStream(st)
	e := errand{Do: doOpen, Who: who, Ticket: r.Header.Get("Authorization") == ""}
	res, begin, err := h.take(r, st, nameOf(token), e)
	if err != nil {
		st.because(byProtocol)
		refuseErrand(w, err)
		return
	}
	defer res.end()
	if st.open() != nil {
		return
	}
	st.livesBy(res.bearer(), res)
	for _, begin := range begin {
		begin()
	}
	st.serve()
}

// take finds the reservation, here or at another process, and attaches the
// stream to it. begin are the operations that waited.
func (h *Hub) take(r *http.Request, st *stream, name string, e errand) (res *reservation, begin []func(), err error) {
	if res := h.reserved(name); res != nil {
		begin, err := res.attach(st, e)
		return res, begin, err
	}
	got, err := h.send(r.Context(), name, e)
	if err != nil {
		return nil, nil, err
	}
	caller := callerOf(got.Who, quota.Client(r.Context()))
	if !h.claim(caller) {
		return nil, nil, limited(tooMany)
	}
	res = newReservation(h, name, got.Who, caller)
	res.waiting = got.Waiting
	begin = res.attachLocked(st) // nobody else knows it yet
	if err := h.reserve(r.Context(), res); err != nil {
		res.end()
		return nil, nil, err
	}
	return res, begin, nil
}

// post begins an operation on a stream.
func (h *Hub) post(w http.ResponseWriter, r *http.Request, who auth.Principal, token string) {
	p, err := h.readOperation(w, r)
	if err != nil {
		refuseErrand(w, err)
		return
	}
	id, err := p.operationID()
	if err != nil {
		refuseErrand(w, err)
		return
	}
	req, cursor := p.request()
	if err := req.ReadHeader(r.Header); err != nil {
		refuseErrand(w, err)
		return
	}
	if !h.plans(w, r, who, req) {
		return
	}
	o := newOrder(id, lastEventID(r, cursor), who, quota.Client(r.Context()), req)
	if _, err := h.send(r.Context(), nameOf(token), errand{Do: doStart, Who: who, Order: o}); err != nil {
		refuseErrand(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusAccepted)
}

// plans reports whether the operation can be begun, having answered otherwise.
func (h *Hub) plans(w http.ResponseWriter, r *http.Request, who auth.Principal, req graphql.Request) bool {
	ctx := r.Context()
	kind, err := h.kind(ctx, who, req)
	switch {
	case fault.Is(err, fault.RateLimited):
		refuseErrand(w, err)
		return false
	case err != nil:
		failed := h.execute(ctx, who, req) // says where, and all that is wrong
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(failed.Body) // the client has gone
		return false
	case r.Method == http.MethodGet && kind != "query":
		w.Header().Set("Allow", "POST")
		refuse(w, &httpError{http.StatusMethodNotAllowed, fault.BadRequest, "GET is for queries only: use POST"})
		return false
	}
	return true
}

// renew takes new credentials for a stream.
func (h *Hub) renew(w http.ResponseWriter, r *http.Request, who auth.Principal, token string) {
	if _, err := h.send(r.Context(), nameOf(token), errand{Do: doRenew, Who: who}); err != nil {
		refuseErrand(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// delete ends an operation.
func (h *Hub) delete(w http.ResponseWriter, r *http.Request, who auth.Principal, token string) {
	id := r.URL.Query().Get("operationId")
	if id == "" {
		refuse(w, &httpError{http.StatusBadRequest, fault.BadRequest, "name the operation in the URL: ?operationId="})
		return
	}
	if _, err := h.send(r.Context(), nameOf(token), errand{Do: doStop, Who: who, ID: id}); err != nil {
		refuseErrand(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

// operationID is the id under which the operation's results are sent.
func (p *operationPayload) operationID() (string, error) {
	var x struct {
		OperationID string `json:"operationId"`
	}
	if p.Extensions != nil && json.Unmarshal(p.Extensions, &x) != nil || x.OperationID == "" || len(x.OperationID) > maxID {
		return "", &httpError{http.StatusBadRequest, fault.BadRequest, "extensions.operationId is to be a string of 1 to " + strconv.Itoa(maxID) + " bytes"}
	}
	return x.OperationID, nil
}

// statuses of refusals; others are 503, since another attempt may help.
var statuses = map[fault.Code]int{
	fault.BadRequest:      http.StatusBadRequest,
	fault.BadUserInput:    http.StatusBadRequest,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.Conflict:        http.StatusConflict,
	fault.PayloadTooLarge: http.StatusRequestEntityTooLarge,
	fault.RateLimited:     http.StatusTooManyRequests,
	fault.Internal:        http.StatusInternalServerError,
}

// refuseErrand answers with what is wrong with a request to a stream.
func refuseErrand(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*httpError](err); ok {
		refuse(w, e)
		return
	}
	if errors.Is(err, errDraining) || errors.Is(err, errFull) {
		err = fault.Wrap(err, fault.Unavailable, "%s", err)
	}
	f := fault.Of(err)
	status := cmp.Or(statuses[f.Code], http.StatusServiceUnavailable)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	refuseWith(w, status, f)
}
