package graphql

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tidings/fault"
	"tidings/internal/rawjson"
)

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
	if !utf8.Valid(body) {
		return req, fault.New(fault.BadRequest, "the request's body is not in UTF-8")
	}
	if req, ok := decodePlain(body); ok {
		return req, req.check()
	}
	dec := json.NewDecoder(bytes.NewReader(body)) // tells what is wrong
	if err := dec.Decode(&req); err != nil {
		if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return req, fault.New(fault.BadRequest, "%q must be a string", wrongType.Field)
		}
		return req, fault.New(fault.BadRequest, "the request's body is not valid JSON")
	}
	if _, err := dec.Token(); err != io.EOF {
		return req, fault.New(fault.BadRequest, "there is something after the request object")
	}
	return req, cmp.Or(CheckNames(body), req.check())
}

// memberNames are the members of a request: those that are strings, then those
// that are objects.
var memberNames = []string{"query", "documentId", "queryId", "operationName", "variables", "extensions"}

// CheckNames refuses a request that has a member in other letters than it is
// written: JSON tells upper from lower case, encoding/json does not. The fault
// is BadRequest.
func CheckNames(request []byte) error {
	if member, meant := rawjson.Misspelt(request, memberNames); meant != "" {
		return fault.New(fault.BadRequest, "there is no member %.40q in a request: write %q", member, meant)
	}
	return nil
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

// decodePlain reads a request as nearly all are: each member once and as it is
// written. The others are encoding/json's, which says what is wrong and takes
// longer for it.
func decodePlain(body []byte) (req Request, ok bool) {
	if !rawjson.Valid(body) {
		return Request{}, false
	}
	texts := [...]*string{&req.Query, &req.DocumentID, &req.QueryID, &req.OperationName}
	values := [...]*json.RawMessage{&req.Variables, &req.Extensions}
	var seen [len(texts) + len(values)]bool
	ok = true
	err := rawjson.Members(body, func(key, value []byte) {
		i := indexName(key)
		if i < 0 {
			ok = ok && !nearName(key)
			return
		}
		ok = ok && !seen[i]
		seen[i] = true
		switch {
		case i >= len(texts):
			*values[i-len(texts)] = slices.Clone(value) // body need not be kept for it
		case value[0] == '"':
			*texts[i] = rawjson.Unquote(value)
		default:
			ok = ok && value[0] == 'n' // null is as good as nothing
		}
	})
	return req, ok && err == nil
}

// indexName returns which of memberNames the key is, -1 for none.
func indexName(key []byte) int {
	return slices.IndexFunc(memberNames, func(name string) bool { return string(key) == name })
}

// nearName reports whether a key may be one of memberNames in other letters.
func nearName(key []byte) bool {
	return bytes.IndexByte(key, '\\') >= 0 ||
		slices.ContainsFunc(memberNames, func(name string) bool { return strings.EqualFold(string(key), name) })
}
