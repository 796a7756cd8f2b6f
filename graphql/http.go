package graphql

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"tidings/auth"
	"tidings/fault"
)

// MaxBody is how many bytes a request's body may have.
const MaxBody = 1 << 20

const (
	typeJSON     = "application/json"
	typeResponse = "application/graphql-response+json"
)

// ServeHTTP answers queries and mutations as the GraphQL-over-HTTP
// specification says (https://graphql.github.io/graphql-over-http/draft/):
// POST with a JSON body, and GET for queries. The caller is the principal in
// the request's context.
//
// A client that accepts application/graphql-response+json gets 400 for a
// request that was refused before it ran; with application/json every request
// that could be read is answered with 200. What could not be read at all is
// 400, 405, 406, 413 or 415. The bodies that a plain HTML form can send are
// refused, and GET changes nothing, so that no other site can act in a
// visitor's name.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, ok := negotiate(r.Header.Values("Accept"))
	if !ok {
		e.refuseHTTP(w, typeJSON, http.StatusNotAcceptable, fault.New(fault.BadRequest,
			"accept %s or %s", typeResponse, typeJSON))
		return
	}
	var req Request
	var status int
	var err error
	switch r.Method {
	case http.MethodPost:
		req, status, err = readPost(w, r)
	case http.MethodGet, http.MethodHead:
		req, status, err = readGet(r)
	default:
		w.Header().Set("Allow", "GET, POST")
		status, err = http.StatusMethodNotAllowed, fault.New(fault.BadRequest, "use POST, or GET for queries")
	}
	if err != nil {
		e.refuseHTTP(w, kind, status, err)
		return
	}
	op, failed := e.prepare(req)
	if failed != nil {
		writeResponse(w, kind, failed)
		return
	}
	if r.Method != http.MethodPost && op.kind != ast.Query {
		w.Header().Set("Allow", "POST")
		e.refuseHTTP(w, kind, http.StatusMethodNotAllowed, fault.New(fault.BadRequest, "GET is for queries only: use POST"))
		return
	}
	resp := e.execute(r.Context(), auth.FromContext(r.Context()), op)
	writeResponse(w, kind, &resp)
}

func readPost(w http.ResponseWriter, r *http.Request) (req Request, status int, err error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != typeJSON {
		return req, http.StatusUnsupportedMediaType, fault.New(fault.BadRequest, "send the request as Content-Type: %s", typeJSON)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return req, http.StatusUnsupportedMediaType, fault.New(fault.BadRequest, "send the request in UTF-8")
	}
	body, err := readBody(w, r)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return req, http.StatusRequestEntityTooLarge, fault.New(fault.PayloadTooLarge, "a request may have at most %d bytes", MaxBody)
	}
	if err != nil {
		return req, http.StatusBadRequest, fault.New(fault.BadRequest, "the request's body could not be read")
	}
	if req, err = DecodeRequest(body); err != nil {
		return req, http.StatusBadRequest, err
	}
	return req, 0, nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var buf bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= MaxBody {
		buf.Grow(int(n) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBody))
	return buf.Bytes(), err
}

// DecodeRequest reads a request object as it stands in an HTTP body or in the
// payload of a subscribe message. Members that it does not know are ignored.
// The fault is BadRequest and never repeats what was sent.
func DecodeRequest(body []byte) (Request, error) {
	var req Request
	switch start := bytes.TrimLeft(body, " \t\r\n"); {
	case len(start) == 0:
		return req, fault.New(fault.BadRequest, "the request's body is empty: send a JSON object with a query")
	case start[0] == '[':
		return req, fault.New(fault.BadRequest, "batches are not supported: send one request object, or use aliases in one document")
	case start[0] != '{':
		return req, fault.New(fault.BadRequest, "the request must be a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&req); err != nil {
		if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return req, fault.New(fault.BadRequest, "%q must be a string", wrongType.Field)
		}
		return req, fault.New(fault.BadRequest, "the request's body is not valid JSON")
	}
	if _, err := dec.Token(); err != io.EOF {
		return req, fault.New(fault.BadRequest, "there is something after the request object")
	}
	return req, req.check()
}

// check refuses members of the wrong type that JSON decoding lets pass.
func (r Request) check() error {
	for _, member := range []struct {
		name string
		raw  json.RawMessage
	}{{"variables", r.Variables}, {"extensions", r.Extensions}} {
		raw := bytes.TrimLeft(member.raw, " \t\r\n")
		if len(raw) > 0 && raw[0] != '{' && string(raw) != "null" {
			return fault.New(fault.BadRequest, "%q must be an object", member.name)
		}
	}
	return nil
}

func readGet(r *http.Request) (req Request, status int, err error) {
	q := r.URL.Query()
	req.Query = q.Get("query")
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

// negotiate chooses the response's type. The first of the better quality wins;
// without a wish it is application/json, as clients of old expect.
func negotiate(accept []string) (kind string, ok bool) {
	if len(accept) == 0 {
		return typeJSON, true
	}
	best := 0.0
	for item := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(item))
		if err != nil {
			continue
		}
		candidate := ""
		switch media {
		case typeResponse:
			candidate = typeResponse
		case typeJSON, "application/*", "*/*":
			candidate = typeJSON
		}
		quality := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			quality = q
		}
		if candidate != "" && quality > best {
			kind, best = candidate, quality
		}
	}
	return kind, best > 0
}

func (e *Engine) refuseHTTP(w http.ResponseWriter, kind string, status int, err error) {
	resp := e.failure(gqlerror.List{executionError(fault.Of(err), nil, nil)})
	writeBody(w, kind, status, resp.Body)
}

func writeResponse(w http.ResponseWriter, kind string, resp *Response) {
	status := http.StatusOK
	if resp.Failed && (kind == typeResponse || resp.Code == fault.BadRequest) {
		status = http.StatusBadRequest
	}
	writeBody(w, kind, status, resp.Body)
}

func writeBody(w http.ResponseWriter, kind string, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind+"; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Add("Vary", "Accept")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone if it fails
}
