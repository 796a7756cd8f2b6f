package graphql

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
	"tidings/quota"
)

// MaxBody is how many bytes a request's body may have unless Limits.Body says else.
const MaxBody = 1 << 20

const (
	typeJSON     = "application/json"
	typeResponse = "application/graphql-response+json"
)

// ServeHTTP answers queries and mutations as the GraphQL-over-HTTP
// specification says (https://graphql.github.io/graphql-over-http/draft/):
// POST with a JSON body, and GET and HEAD for queries. The caller is the
// principal in the request's context; an Exchange there learns what became of
// the request.
//
// A client that accepts application/graphql-response+json gets 400 for a
// request that was refused before it ran; with application/json every request
// that could be read is answered with 200. What could not be read at all is
// 400, 405, 406, 408, 413 or 415. A body of a type that a plain HTML form can send
// is refused unless a header shows that no form sent it, and GET changes
// nothing, so that no other site can act in a visitor's name. Responses of 1 KiB
// and more are compressed for clients that accept gzip.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := answerer{engine: e, w: w, r: r, exchange: cmp.Or(ExchangeOf(r.Context()), &Exchange{})}
	a.kind = Negotiate(r.Header.Values("Accept"), typeJSON, typeResponse)
	if a.kind == "" {
		a.kind = typeJSON
		a.refuse(http.StatusNotAcceptable, fault.New(fault.BadRequest, "accept %s or %s", typeResponse, typeJSON))
		return
	}
	req, status, err := a.read()
	switch {
	case err != nil:
		a.refuse(status, err)
		return
	case status != 0: // there is nothing to answer
		w.WriteHeader(status)
		return
	}
	if err := req.ReadHeader(r.Header); err != nil {
		a.refuse(http.StatusBadRequest, err)
		return
	}
	ctx, span := e.tracing(r.Context())
	defer func() { traced(span, a.exchange.Code) }()
	who := auth.FromContext(ctx)
	a.exchange.User = who.Subject
	op, failed := e.admit(ctx, who, req)
	if failed != nil {
		e.meters.operation(unknownKind, failed.Code)
		a.respond(failed)
		return
	}
	a.exchange.Kind, a.exchange.Name = string(op.kind), short(op.def.Name)
	e.known(span, op)
	if r.Method != http.MethodPost && op.kind != ast.Query {
		w.Header().Set("Allow", "POST")
		a.refuse(http.StatusMethodNotAllowed, fault.New(fault.BadRequest, "GET is for queries only: use POST"))
		return
	}
	leave, err := e.options.Admission.operation(ctx, who, op)
	if err != nil {
		a.respond(e.overloaded(ctx, op, err))
		return
	}
	resp := e.placed(ctx, who, op, leave)
	if r.Method != http.MethodPost && a.freshen(op, who, &resp) {
		a.notModified()
		return
	}
	a.respond(&resp)
}

// allowed are the methods of the endpoint.
const allowed = "GET, HEAD, POST, OPTIONS"

// read reads the request. An error comes with its status; a status without an
// error is the whole answer.
func (a *answerer) read() (req Request, status int, err error) {
	switch a.r.Method {
	case http.MethodPost:
		return readPost(a.w, a.r, a.engine.options.Limits.Body)
	case http.MethodGet, http.MethodHead:
		a.w.Header().Set("Cache-Control", "no-store") // unless it is answered
		return readGet(a.r)
	}
	a.w.Header().Set("Allow", allowed)
	if a.r.Method == http.MethodOptions {
		a.exchange.Status = http.StatusNoContent
		return req, http.StatusNoContent, nil
	}
	return req, http.StatusMethodNotAllowed, fault.New(fault.BadRequest, "use POST, or GET for queries")
}

func readPost(w http.ResponseWriter, r *http.Request, most int) (req Request, status int, err error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		w.Header().Set("Accept-Encoding", "identity")
		return req, http.StatusUnsupportedMediaType, fault.New(fault.BadRequest, "send the request without Content-Encoding: compressed bodies are not read")
	}
	if err := checkContentType(r.Header); err != nil {
		return req, http.StatusUnsupportedMediaType, err
	}
	body, err := readBody(w, r, most)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return req, http.StatusRequestEntityTooLarge, fault.New(fault.PayloadTooLarge, "a request may have at most %d bytes", most)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return req, http.StatusRequestTimeout, fault.New(fault.BadRequest, "the request's body took too long to come")
	}
	if err != nil {
		return req, http.StatusBadRequest, fault.New(fault.BadRequest, "the request's body could not be read")
	}
	if req, err = DecodeRequest(body); err != nil {
		return req, http.StatusBadRequest, err
	}
	return req, 0, nil
}

// checkContentType refuses bodies that are not JSON in UTF-8. What names itself
// one of the types that a plain form can send (or nothing, as a page can make
// happen) may still be JSON, but is read only when one of the headers is there
// that no page can send without the browser asking us first.
func checkContentType(h http.Header) error {
	if h.Get("Content-Type") == typeJSON { // as nearly all send it
		return nil
	}
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case err == nil && media == typeJSON:
	case (media == "" && h.Get("Content-Type") == "" || err == nil && slices.Contains(formTypes, media)) && preflighted(h):
	default:
		return fault.New(fault.BadRequest, "send the request as Content-Type: %s", typeJSON)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return fault.New(fault.BadRequest, "send the request in UTF-8")
	}
	return nil
}

// formTypes are those of the types that a plain form can send which JSON may
// come as; the third, multipart/form-data, never holds JSON.
var formTypes = []string{"text/plain", "application/x-www-form-urlencoded"}

// preflightHeaders are the names that clients have agreed on.
var preflightHeaders = []string{"Graphql-Require-Preflight", "Apollo-Require-Preflight", "X-Apollo-Operation-Name"}

func preflighted(h http.Header) bool {
	return slices.ContainsFunc(preflightHeaders, func(name string) bool { return h.Get(name) != "" })
}

func readBody(w http.ResponseWriter, r *http.Request, most int) ([]byte, error) {
	if n := r.ContentLength; n > 0 && n <= int64(most) {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	var buf bytes.Buffer
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, int64(most)))
	return buf.Bytes(), err
}

func readGet(r *http.Request) (req Request, status int, err error) {
	q := r.URL.Query()
	req.Query = q.Get("query")
	req.DocumentID, req.QueryID = q.Get("documentId"), q.Get("queryId")
	req.OperationName = q.Get("operationName")
	req.Variables = json.RawMessage(q.Get("variables"))
	req.Extensions = json.RawMessage(q.Get("extensions"))
	if err := req.check(); err != nil {
		return req, http.StatusBadRequest, err
	}
	for name, raw := range map[string]json.RawMessage{"variables": req.Variables, "extensions": req.Extensions} {
		if len(raw) > 0 && !json.Valid(raw) {
			return req, http.StatusBadRequest, fault.New(fault.BadRequest, "%q is not valid JSON", name)
		}
	}
	return req, 0, nil
}

// answerer writes the one answer to a request.
type answerer struct {
	engine   *Engine
	w        http.ResponseWriter
	r        *http.Request
	kind     string // media type of the answer
	exchange *Exchange
	vary     string // further request headers that the answer depends on, each after ", "
}

// refuse answers a request that was not prepared.
func (a *answerer) refuse(status int, err error) {
	resp := a.engine.failure(gqlerror.List{executionError(fault.Of(err), nil, nil)})
	a.exchange.Code = resp.Code
	a.engine.meters.operation(unknownKind, resp.Code)
	if status == http.StatusRequestEntityTooLarge {
		a.engine.meters.limit("body")
	}
	a.write(status, resp.Body)
}

func (a *answerer) respond(resp *Response) {
	a.exchange.Code = resp.Code
	a.tell(resp)
	if resp.RetryAfter > 0 {
		a.w.Header().Set("Retry-After", strconv.Itoa(quota.Seconds(resp.RetryAfter)))
	}
	a.write(statusOf(a.kind, resp), resp.Body)
}

// statusOf is 200 for what was processed. A request that was refused before it
// ran has a status of its own for clients of the newer media type.
func statusOf(kind string, resp *Response) int {
	shed := resp.Code == fault.Unavailable && resp.RetryAfter > 0
	if !resp.Failed || kind == typeJSON && resp.Code != fault.BadRequest && resp.Code != fault.RateLimited && !shed {
		return http.StatusOK
	}
	switch resp.Code {
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.PayloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.Internal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

func (a *answerer) write(status int, body []byte) {
	h := a.w.Header()
	h.Set("Content-Type", a.kind+"; charset=utf-8")
	h.Add("Vary", "Accept, Accept-Encoding"+a.vary)
	if h.Get("X-Content-Type-Options") == "" { // as a rule the edge has said so
		h.Set("X-Content-Type-Options", "nosniff")
	}
	a.exchange.Status = status
	if len(body) < minGzip || !AcceptsGzip(a.r.Header.Values("Accept-Encoding")) {
		a.writeBytes(status, body)
		return
	}
	a.engine.gzip.compressed(body, func(bytes []byte, smaller bool) {
		if smaller {
			h.Set("Content-Encoding", "gzip")
		}
		a.writeBytes(status, bytes)
	})
}

func (a *answerer) writeBytes(status int, body []byte) {
	a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	a.w.WriteHeader(status)
	_, _ = a.w.Write(body) // the client is gone if it fails
}
