package client

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Refusal says that a subscription has ended for good: to come again with the same
// operation, cursor and token would end in the same way.
type Refusal struct {
	Code    string // of the error, such as CURSOR_EXPIRED; or of the socket's close, such as 4403
	Message string
	Remedy  string // what to do; may be empty
}

// Error implements error.
func (r *Refusal) Error() string {
	text := r.Code + ": " + r.Message
	if r.Remedy != "" {
		text += "; " + r.Remedy
	}
	return text
}

// lost says that a connection has ended, and another may do better.
type lost struct {
	why      string
	after    time.Duration // that the service has asked to be left alone
	token    bool          // another token is wanted
	other    bool          // another transport is wanted
	starting bool          // nobody listens, or who does is not ready and says when to come
}

// Error implements error.
func (l *lost) Error() string { return l.why }

// unanswered says why somebody could not be reached.
func unanswered(err error) *lost {
	return &lost{why: err.Error(), starting: errors.Is(err, syscall.ECONNREFUSED)}
}

// asks takes up when an answer asks to come again.
func (l *lost) asks(resp *http.Response) {
	l.after = retryAfter(resp.Header, time.Now())
	l.starting = resp.StatusCode == http.StatusServiceUnavailable && l.after > 0
}

// passing are the codes of errors that end an operation and may be over soon.
var passing = []string{"UNAVAILABLE", "TIMEOUT", "RATE_LIMITED"}

// remedies say what to do after the code of an error.
var remedies = map[string]string{
	"CURSOR_EXPIRED":            "what came after this cursor is not kept any more: read the present state by a query and watch without a cursor, or subscribe with snapshot: true",
	"UNAUTHENTICATED":           "come with a token that is good",
	"FORBIDDEN":                 "come with a token whose roles allow it",
	"COST_LIMIT_EXCEEDED":       "select less, or narrow the snapshot by a filter",
	"GRAPHQL_VALIDATION_FAILED": "see the schema: tidings schema print",
	"PERSISTED_QUERY_NOT_FOUND": "register the operation: tidings persist",
	"BAD_USER_INPUT":            "mend the variables or the cursor",
	"GRAPHQL_PARSE_FAILED":      "mend the operation",
}

// ended is what errors that end an operation mean for who comes again.
func ended(list []Error) error {
	if len(list) == 0 {
		return &lost{why: "the operation ended with an error that says nothing"}
	}
	e := list[0]
	if slices.Contains(passing, e.Extensions.Code) {
		return &lost{why: e.Error()}
	}
	return &Refusal{Code: e.Extensions.Code, Message: e.Message, Remedy: remedies[e.Extensions.Code]}
}

// answered is what a status of HTTP means in the place of a stream or a socket.
func answered(resp *http.Response, body []byte) error {
	l := &lost{why: "answered " + resp.Status}
	l.asks(resp)
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		l.token = true
		return l
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusInternalServerError, http.StatusRequestTimeout:
		return l
	}
	return &Refusal{Code: strconv.Itoa(resp.StatusCode), Message: fmt.Sprintf("%s answers %s: %s", resp.Request.URL.Redacted(), resp.Status, excerpt(body)), Remedy: "is this the address of a service, such as http://localhost:8080/graphql"}
}

// retryAfter reads the header of that name (RFC 9110, 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if s, err := strconv.Atoi(text); err == nil {
		return max(0, min(time.Duration(s)*time.Second, maxAfter))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), maxAfter))
	}
	return 0
}

// maxAfter bounds what a service may ask for.
const maxAfter = 5 * time.Minute
