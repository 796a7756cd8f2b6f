// Package fault gives failures a closed set of codes and a message that is safe to show.
//
// It knows no protocol: the bindings (graphql, soap, realtime) render a code in
// their own words, nobody else switches on one. An error that is not an *Error
// is foreign: its code is Internal, its text belongs in the log and never in an
// answer.
package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Code says what kind of failure it was. The set is closed: it is the one that
// extensions.code of a GraphQL error is taken from.
type Code string

// The codes, each with the one situation it stands for.
const (
	BadRequest             Code = "BAD_REQUEST"               // the request could not be read at all
	ParseFailed            Code = "GRAPHQL_PARSE_FAILED"      // the document is not GraphQL
	ValidationFailed       Code = "GRAPHQL_VALIDATION_FAILED" // the document does not fit the schema
	BadUserInput           Code = "BAD_USER_INPUT"            // a value breaks a rule of its field
	Unauthenticated        Code = "UNAUTHENTICATED"           // credentials are missing or wrong
	Forbidden              Code = "FORBIDDEN"                 // the caller is known and may not
	NotFound               Code = "NOT_FOUND"                 // there is no such record
	Conflict               Code = "CONFLICT"                  // a unique value is taken, or the record changed meanwhile
	Timeout                Code = "TIMEOUT"                   // the work took longer than it may
	RateLimited            Code = "RATE_LIMITED"              // too many requests
	DepthLimitExceeded     Code = "DEPTH_LIMIT_EXCEEDED"      // the document is nested too deeply
	CostLimitExceeded      Code = "COST_LIMIT_EXCEEDED"       // the document asks for too much
	PersistedQueryNotFound Code = "PERSISTED_QUERY_NOT_FOUND" // the operation id is unknown
	IntrospectionDisabled  Code = "INTROSPECTION_DISABLED"    // the schema may not be asked for
	CursorExpired          Code = "CURSOR_EXPIRED"            // the events after the cursor are gone
	PayloadTooLarge        Code = "PAYLOAD_TOO_LARGE"         // the message is larger than it may be
	Unavailable            Code = "UNAVAILABLE"               // nobody is there to do the work; trying again later is right
	Internal               Code = "INTERNAL"                  // a fault of ours, or of a part of ours
)

// codes are all of them.
var codes = [...]Code{
	BadRequest, ParseFailed, ValidationFailed, BadUserInput, Unauthenticated, Forbidden, NotFound, Conflict, Timeout,
	RateLimited, DepthLimitExceeded, CostLimitExceeded, PersistedQueryNotFound, IntrospectionDisabled, CursorExpired,
	PayloadTooLarge, Unavailable, Internal,
}

// Codes are all that there are.
func Codes() []Code { return slices.Clone(codes[:]) }

// Known reports whether a code is one of the closed set. Foreign ones are not.
func (c Code) Known() bool { return slices.Contains(codes[:], c) }

// Error is a failure that someone far away must be able to tell from another.
// Message is shown to strangers; Err is the cause, for the log alone. Errors
// are values: none of the fields may be changed after it was returned.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Field is the dotted path of the input value that is to blame, such as
	// "input.email". Empty when no single value is.
	Field string `json:"field,omitempty"`
	// RetryAfter is in how many seconds the same may be tried again, as
	// RateLimited has it. Zero: not known.
	RetryAfter int `json:"retryAfter,omitempty"`
	// CurrentVersion is the version that a record has in place of the expected
	// one, as Conflict tells it to those who may read it; nil otherwise.
	CurrentVersion *int64 `json:"currentVersion,omitempty"`
	Err            error  `json:"-"`
}

// Error returns the code, the message and the cause: the text for the log.
func (e *Error) Error() string {
	if e.Err != nil {
		return string(e.Code) + ": " + e.Message + ": " + e.Err.Error()
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause, nil when there is none.
func (e *Error) Unwrap() error { return e.Err }

// New returns an Error whose message is formatted as by fmt.Sprintf.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Input returns a BadUserInput that blames one input value.
func Input(field, format string, args ...any) *Error {
	return &Error{Code: BadUserInput, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error with a cause that only the log sees.
func Wrap(err error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// Of returns err as an *Error: itself when it is or wraps one with a code of
// the closed set, Timeout for a deadline that passed, Unavailable for a
// cancelled context, and Internal with a message that says nothing for every
// other. Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code.Known() {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Wrap(err, Timeout, "the operation took too long")
	}
	if errors.Is(err, context.Canceled) {
		return Wrap(err, Unavailable, "the operation was cancelled")
	}
	return Wrap(err, Internal, "internal error")
}

// Is reports whether err is or wraps an Error with the given code.
func Is(err error, code Code) bool {
	return err != nil && Of(err).Code == code
}

// Decode reads an Error that another process wrote as JSON. What is not such
// an object, or has a code of its own, becomes Internal with the bytes as its
// cause.
func Decode(data []byte) *Error {
	var e Error
	if err := json.Unmarshal(data, &e); err != nil || !e.Code.Known() {
		return Wrap(fmt.Errorf("foreign error %.200q", data), Internal, "internal error")
	}
	return &e
}
