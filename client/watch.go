package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tidings/internal/sleep"
)

// Transport is how a subscription comes.
type Transport string

// The transports.
const (
	Auto      Transport = "auto" // WebSocket, and server-sent events where something on the way lets no sockets through
	WebSocket Transport = "wss"  // graphql-transport-ws, over TLS where the URL is https
	SSE       Transport = "sse"  // graphql-sse, distinct connections
)

// Watch is a subscription that goes on after losses.
type Watch struct {
	Operation
	// After is the cursor to go on from; empty: from now on.
	After     string
	Transport Transport // empty means Auto
	// Tell is told what becomes of the connection; nil: nobody is.
	Tell func(Notice)
}

// Event is one result of a subscription.
type Event struct {
	Payload json.RawMessage // with data, errors and extensions
	Cursor  string          // to go on from after it; empty where there are none
	Errors  []Error
}

// Notice is what became of the connection.
type Notice struct {
	// Connected is true when the operation was sent, with the transport and the
	// cursor from which it goes on.
	Connected bool
	Transport Transport
	Cursor    string
	// Lost is why there is no connection, and Again after which time another is tried.
	Lost  string
	Again time.Duration
}

// watching is one Watch at work.
type watching struct {
	*Service
	Watch
	fn     func(Event) error
	cursor string
	pauses pauses
	token  string // of this connection
}

// Watch calls fn with each event, one after the other, until the service completes
// the operation (nil), ctx ends (its error), fn returns an error (that), or coming
// again would help nobody ([*Refusal]). Between events it connects again as often
// as it takes, and goes on after the last event that fn has returned from: fn sees
// each event once and in order, whatever ends connections. Subscriptions without
// cursors (messages of a subject without a stream) miss what comes meanwhile.
func (s *Service) Watch(ctx context.Context, w Watch, fn func(Event) error) error {
	if w.Tell == nil {
		w.Tell = func(Notice) {}
	}
	at := &watching{Service: s, Watch: w, fn: fn, cursor: w.After}
	for {
		err := at.once(ctx)
		l, again := errors.AsType[*lost](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !again:
			return err
		case l.other:
			at.Transport = SSE
		case l.token:
			if err := at.renewed(); err != nil {
				return err
			}
		}
		pause := at.pauses.next(l.after, at.longest(l))
		at.Tell(Notice{Transport: at.Transport, Cursor: at.cursor, Lost: l.why, Again: pause})
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

// once is one connection. The error is *lost when another may go on.
func (w *watching) once(ctx context.Context) (err error) {
	if w.token, err = w.Service.token(); err != nil {
		return err
	}
	if w.Transport == SSE {
		return w.stream(ctx)
	}
	return w.socket(ctx)
}

// renewed refuses to come again with the token that was not good.
func (w *watching) renewed() error {
	next, err := w.Service.token()
	if err != nil {
		return err
	}
	if next == w.token {
		return &Refusal{Code: "4403", Message: "the token is not good, has ended or was revoked", Remedy: "come with another one"}
	}
	return nil
}

// began tells that the operation runs.
func (w *watching) began(t Transport) {
	w.Tell(Notice{Connected: true, Transport: t, Cursor: w.cursor})
}

// event takes one result. Without data it is the end of the operation.
func (w *watching) event(payload json.RawMessage, id string) error {
	var said struct {
		Data       json.RawMessage `json:"data"`
		Errors     []Error         `json:"errors"`
		Extensions struct {
			Cursor string `json:"cursor"`
		} `json:"extensions"`
	}
	if err := json.Unmarshal(payload, &said); err != nil {
		return &lost{why: fmt.Sprintf("a result could not be read: %s", excerpt(payload))}
	}
	if said.Data == nil && len(said.Errors) > 0 {
		return ended(said.Errors)
	}
	if id == "" {
		id = said.Extensions.Cursor
	}
	if err := w.fn(Event{Payload: payload, Cursor: id, Errors: said.Errors}); err != nil {
		return err
	}
	w.learn(id)
	w.pauses.over()
	return nil
}

// learn takes up how far the operation has come.
func (w *watching) learn(cursor string) {
	if cursor != "" {
		w.cursor = cursor
	}
}

// payload is what is sent of the operation.
func (w *watching) payload() map[string]any {
	p := map[string]any{"query": w.Query}
	if w.ID != "" {
		p = map[string]any{"documentId": w.ID}
	}
	if len(w.Variables) > 0 {
		p["variables"] = w.Variables
	}
	if w.Name != "" {
		p["operationName"] = w.Name
	}
	if w.cursor != "" {
		p["extensions"] = map[string]any{"cursor": w.cursor}
	}
	return p
}
