// Package client speaks to a running service as its clients do: operations over
// HTTP, subscriptions over WebSocket or server-sent events that go on after any
// loss without a gap, and envelopes of SOAP. It knows the protocols and nothing of
// what lies behind them: docs/http.md, docs/live.md, docs/soap.md.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Service is a service that runs somewhere. Its methods may run concurrently.
type Service struct {
	// URL of the endpoint, such as http://localhost:8080/graphql.
	URL string
	// Token returns the token to come with; it is asked anew for each connection.
	// Nil, and an empty token, mean an anonymous caller.
	Token func() (string, error)
	// HTTP makes the requests; nil means one that waits as long as contexts do. Where
	// it has no CheckRedirect, a redirect to another address is a [*Refusal].
	HTTP *http.Client
}

// Operation is a GraphQL request. All members may be empty, but one of Query, ID and
// Extensions says which operation it is.
type Operation struct {
	Query      string          `json:"query,omitempty"`
	Variables  json.RawMessage `json:"variables,omitempty"` // a JSON object
	Name       string          `json:"operationName,omitempty"`
	ID         string          `json:"documentId,omitempty"`
	Extensions json.RawMessage `json:"extensions,omitempty"` // a JSON object; none of them count in a Watch
}

// Answer is what a service says to an operation.
type Answer struct {
	Status    int    // of HTTP
	RequestID string // under which the log of the service has the request
	Body      json.RawMessage
	Errors    []Error
	Data      bool // whether there is data, whole or in part
}

// Error is one of the errors of an answer.
type Error struct {
	Message    string `json:"message"`
	Path       []any  `json:"path"`
	Extensions struct {
		Code      string `json:"code"`
		RequestID string `json:"requestId"`
	} `json:"extensions"`
}

// Error implements error.
func (e Error) Error() string {
	text := cmp.Or(e.Extensions.Code, "an error") + ": " + e.Message
	if e.Extensions.RequestID != "" {
		text += " (request " + e.Extensions.RequestID + " in the log of the service)"
	}
	return text
}

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 256 << 20

// Do runs a query or mutation once. An error says that there is no answer in
// GraphQL: nobody is there, or something else than the service has answered.
func (s *Service) Do(ctx context.Context, op Operation) (Answer, error) {
	body, err := json.Marshal(op)
	if err != nil {
		return Answer{}, fmt.Errorf("the variables are not JSON: %w", err)
	}
	r, err := s.request(ctx, s.URL, body)
	if err != nil {
		return Answer{}, err
	}
	r.Header.Set("Accept", "application/graphql-response+json, application/json;q=0.9")
	resp, err := s.client().Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, RequestID: resp.Header.Get("Tidings-Request-Id")}
	if a.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return a, err
	}
	var said struct {
		Data   json.RawMessage `json:"data"`
		Errors []Error         `json:"errors"`
	}
	if err := json.Unmarshal(a.Body, &said); err != nil || said.Data == nil && said.Errors == nil {
		return a, fmt.Errorf("%s answers %s, and no GraphQL: %s", shown(s.URL), resp.Status, excerpt(a.Body))
	}
	a.Errors, a.Data = said.Errors, said.Data != nil && string(said.Data) != "null"
	return a, nil
}

// request is a POST with the token of the moment.
func (s *Service) request(ctx context.Context, url string, body []byte) (*http.Request, error) {
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	return post(ctx, url, token, body)
}

// post is a POST of JSON with a token, unless that is empty.
func post(ctx context.Context, url, token string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, nil
}

func (s *Service) token() (string, error) {
	if s.Token == nil {
		return "", nil
	}
	token, err := s.Token()
	if err != nil {
		return "", fmt.Errorf("the token: %w", err)
	}
	return strings.TrimSpace(token), nil
}

func (s *Service) client() *http.Client {
	c := *cmp.Or(s.HTTP, http.DefaultClient)
	if c.CheckRedirect == nil {
		c.CheckRedirect = stay
	}
	return &c
}

// shown is an address as it may stand in an error: a password in it may not.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	return u.Redacted()
}

// excerpt is the beginning of a text, on one line.
func excerpt(text []byte) string {
	const most = 200
	line := strings.Join(strings.Fields(string(text[:min(len(text), most)])), " ")
	if len(text) > most {
		line += " …"
	}
	return line
}

// Clock is how far the clock of a service is from this one, as its Date header
// says, to a second; positive when the service is ahead. within is how much the
// answer's way may have added.
func (s *Service) Clock(ctx context.Context) (skew, within time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodOptions, s.URL, nil)
	if err != nil {
		return 0, 0, err
	}
	sent := time.Now()
	resp, err := s.client().Do(r)
	if err != nil {
		return 0, 0, err
	}
	resp.Body.Close()
	took := time.Since(sent)
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, 0, fmt.Errorf("%s tells no time", shown(s.URL))
	}
	return date.Add(time.Second / 2).Sub(sent.Add(took / 2)).Round(time.Second), took + time.Second, nil
}
