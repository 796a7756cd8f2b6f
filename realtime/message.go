package realtime

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"tidings/fault"
	"tidings/graphql"
	"tidings/internal/trace"
)

// Close codes of graphql-transport-ws, and those of RFC 6455 and its registry
// that the hub sends. Stock clients come back after 1012, 1013, 4403 and 4408,
// and give up after the others: those are a client's own mistakes.
const (
	closeRestart      = 1012 // drained: resume elsewhere
	closeOverload     = 1013 // there is no place, or the client reads too slowly: resume by cursor, later
	closeTooBig       = 1009
	closeNotUTF8      = 1007
	closeBadMessage   = 4400
	closeUnauthorized = 4401 // subscribe before the acknowledgement
	closeForbidden    = 4403 // the token is wrong, has expired or was revoked
	closeSubprotocol  = 4406
	closeInitTimeout  = 4408
	closeDuplicate    = 4409
	closeTooManyInits = 4429
)

// The bounds of what a client may name.
const (
	maxID     = 256  // bytes in an operation's id: it is repeated in every message
	maxResume = 1000 // entries in a resume map
)

// message is what a client sends, in the words of graphql-transport-ws.
type message struct {
	typ  string
	id   string
	raw  json.RawMessage // the payload; nil when there is none
	init initPayload
	op   operationPayload
}

// initPayload is the payload of connection_init, as far as it is known.
type initPayload struct {
	// AuthToken is a token, Authorization the same or in the form "Bearer x".
	AuthToken     string `json:"authToken"`
	Authorization string `json:"Authorization"`
	// Resume holds the last cursor seen by operation id, for those operations
	// that the client is about to subscribe again under the same id.
	Resume map[string]string `json:"resume"`
	// Cursors, when it is true, asks for messages that tell how far operations
	// have come that are idle.
	Cursors json.RawMessage `json:"cursors"`

	origin *trace.Remote // of the operations that do not name their own
}

// credentials is the value that a header would have; empty without a token.
func (p initPayload) credentials() string {
	token := cmp.Or(p.AuthToken, p.Authorization)
	if token == "" || strings.ContainsRune(token, ' ') {
		return token
	}
	return "Bearer " + token
}

// operationPayload is a request as subscribe, a POST body and, with the
// variables and extensions as JSON text, a query string carry it.
type operationPayload struct {
	Query         *string         `json:"query"`
	DocumentID    string          `json:"documentId"`
	QueryID       string          `json:"queryId"`
	OperationName string          `json:"operationName"`
	Variables     json.RawMessage `json:"variables"`
	Extensions    json.RawMessage `json:"extensions"`
}

// decode reads one text message. Its error says what is wrong with it, in words
// for the client.
func (d *dialect) decode(data []byte) (message, error) {
	var m struct {
		Type    *string         `json:"type"`
		ID      json.RawMessage `json:"id"`
		Payload json.RawMessage `json:"payload"`
	}
	if !isObject(data) || json.Unmarshal(data, &m) != nil {
		return message{}, errors.New("the message is not a JSON object with a type")
	}
	if m.Type == nil {
		return message{}, errors.New("the message has no type")
	}
	msg := message{typ: d.words[*m.Type]}
	var err error
	switch msg.typ {
	case "connection_terminate":
		return msg, nil
	case "connection_init", "ping", "pong": // with or without a payload
		if msg.raw, err = objectOrNull("the payload", m.Payload); err == nil {
			err = msg.decodeCredentials()
		}
		return msg, err
	case "subscribe", "complete":
		if err := msg.decodeID(*m.Type, m.ID); err != nil {
			return message{}, err
		}
	default:
		return message{}, fmt.Errorf("a client does not send messages of type %.40q", *m.Type)
	}
	if msg.typ == "complete" {
		return msg, nil
	}
	msg.op, err = decodeOperation(m.Payload)
	return msg, err
}

// decodeCredentials reads a payload that may say who calls. That of a ping may
// hold anything else as well.
func (m *message) decodeCredentials() error {
	if m.raw == nil || m.typ == "pong" {
		return nil
	}
	err := json.Unmarshal(m.raw, &m.init)
	if m.typ == "ping" {
		return nil
	}
	if err != nil {
		return errors.New("in the payload, authToken and Authorization are strings and resume maps operation ids to cursors")
	}
	if len(m.init.Resume) > maxResume {
		return fmt.Errorf("resume has more than %d entries", maxResume)
	}
	return nil
}

func (m *message) decodeID(typ string, raw json.RawMessage) error {
	if json.Unmarshal(raw, &m.id) != nil || m.id == "" {
		return fmt.Errorf("%s needs an id that is a string and not empty", typ)
	}
	if len(m.id) > maxID {
		return fmt.Errorf("the id is longer than %d bytes", maxID)
	}
	return nil
}

// decodeOperation reads the JSON object of a request.
func decodeOperation(data []byte) (operationPayload, error) {
	var p operationPayload
	if !isObject(data) {
		return p, errors.New("the operation is not a JSON object")
	}
	if json.Unmarshal(data, &p) != nil {
		return p, errors.New("in the operation, query, documentId, queryId and operationName are strings")
	}
	if err := graphql.CheckNames(data); err != nil {
		return p, errors.New(fault.Of(err).Message)
	}
	return p, p.check()
}

func (p *operationPayload) check() error {
	var err error
	if p.Variables, err = objectOrNull("variables", p.Variables); err != nil {
		return err
	}
	if p.Extensions, err = objectOrNull("extensions", p.Extensions); err != nil {
		return err
	}
	if p.Query == nil && p.DocumentID == "" && p.QueryID == "" && !persisted(p.Extensions) {
		return errors.New("the operation has no query")
	}
	if _, err = p.cursor(); err != nil {
		return errors.New("extensions.cursor is not a string")
	}
	return nil
}

// persisted reports whether the extensions may name a document: which, the
// engine finds out.
func persisted(extensions json.RawMessage) bool {
	var x struct {
		PersistedQuery json.RawMessage `json:"persistedQuery"`
	}
	return extensions != nil && json.Unmarshal(extensions, &x) == nil && isObject(x.PersistedQuery)
}

// cursor returns extensions.cursor; empty when it is absent or null.
func (p *operationPayload) cursor() (string, error) {
	if p.Extensions == nil {
		return "", nil
	}
	var x struct {
		Cursor string `json:"cursor"`
	}
	err := json.Unmarshal(p.Extensions, &x) // other extensions are none of ours
	return x.Cursor, err
}

// request returns what the engine is asked, and the cursor in the extensions.
func (p operationPayload) request() (r graphql.Request, cursor string) {
	cursor, _ = p.cursor() // check has seen it
	r = graphql.Request{
		DocumentID: p.DocumentID, QueryID: p.QueryID, OperationName: p.OperationName,
		Variables: p.Variables, Extensions: p.Extensions,
	}
	if p.Query != nil {
		r.Query = *p.Query
	}
	return r, cursor
}

func isObject(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

func objectOrNull(name string, data json.RawMessage) (json.RawMessage, error) {
	if data == nil || string(data) == "null" {
		return nil, nil
	}
	if !isObject(data) {
		return nil, fmt.Errorf("%s is not a JSON object", name)
	}
	return data, nil
}

// errorList is a JSON array with one GraphQL error. The request's id is empty
// unless there is something to look up in the log by it.
func errorList(err *fault.Error, requestID string) []byte {
	type extensions struct {
		Code       fault.Code `json:"code"`
		RequestID  string     `json:"requestId,omitempty"`
		RetryAfter int        `json:"retryAfter,omitempty"`
	}
	type graphQLError struct {
		Message    string     `json:"message"`
		Extensions extensions `json:"extensions"`
	}
	list, _ := json.Marshal([]graphQLError{{err.Message, extensions{err.Code, requestID, err.RetryAfter}}}) // strings always have a JSON form
	return list
}

// errorsOf takes the list of errors out of a failed response.
func errorsOf(r graphql.Response) []byte {
	var body struct {
		Errors json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(r.Body, &body) != nil || body.Errors == nil {
		return errorList(fault.New(fault.Internal, "internal error"), "")
	}
	return body.Errors
}

// reason cuts a text to what fits into a close frame (RFC 6455, 5.5: 125 bytes
// with the code), at the end of a character.
func reason(text string) string {
	const most = 123
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
