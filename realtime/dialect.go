package realtime

import (
	"encoding/json"
)

const (
	// Subprotocol is the WebSocket subprotocol that clients should speak:
	// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
	Subprotocol = "graphql-transport-ws"
	// LegacySubprotocol is that of npm's subscriptions-transport-ws, for clients
	// that know no other:
	// https://github.com/apollographql/subscriptions-transport-ws/blob/master/PROTOCOL.md
	LegacySubprotocol = "graphql-ws"
)

// dialect is what a subprotocol calls the things that both of them have.
type dialect struct {
	name string
	// words are the messages that a client may send, and what they are called
	// in graphql-transport-ws.
	words map[string]string
	next  string // the type of a result
	// heartbeat is the type of the message that tells the positions of operations.
	heartbeat string
	// legacy: a client that breaks the rules is told so and goes on, an error is
	// an object and no list, an operation replaces its namesake, what a client
	// has stopped is completed, and an idle connection is kept alive by messages.
	legacy bool
}

var (
	modern = &dialect{
		name: Subprotocol,
		words: map[string]string{
			"connection_init": "connection_init", "ping": "ping", "pong": "pong",
			"subscribe": "subscribe", "complete": "complete",
		},
		next:      "next",
		heartbeat: "ping",
	}
	legacy = &dialect{
		name: LegacySubprotocol,
		words: map[string]string{
			"connection_init": "connection_init", "connection_terminate": "connection_terminate",
			"start": "subscribe", "stop": "complete",
		},
		next:      "data",
		heartbeat: "ka",
		legacy:    true,
	}
)

// dialectOf is the dialect of a negotiated subprotocol, nil when there is none.
func dialectOf(subprotocol string) *dialect {
	for _, d := range [...]*dialect{modern, legacy} {
		if d.name == subprotocol {
			return d
		}
	}
	return nil
}

// errorMessage says that an operation has failed with these errors.
func (d *dialect) errorMessage(id string, errors []byte) item {
	if d.legacy {
		errors = firstError(errors)
	}
	return item{opcode: opText, head: operationHead("error", id), body: errors, tail: "}"}
}

// firstError is what an old client, which takes one error, is told of a list.
func firstError(list []byte) []byte {
	var errors []json.RawMessage
	if json.Unmarshal(list, &errors) != nil || len(errors) == 0 {
		return []byte(`{"message":"internal error"}`)
	}
	return errors[0]
}

// connectionError tells an old client what is wrong with the connection or with
// what it has sent.
func connectionError(text string) item {
	return item{opcode: opText, head: `{"type":"connection_error","payload":{"message":` + quoted(text) + `}}`}
}

const keepAliveMessage = `{"type":"ka"}`

// operationHead is the beginning of every message of the given type for one
// operation; the payload and "}" follow.
func operationHead(typ, id string) string {
	return `{"id":` + quoted(id) + `,"type":"` + typ + `","payload":`
}

func completeMessage(id string) string { return `{"id":` + quoted(id) + `,"type":"complete"}` }

// quoted is a text as JSON, on one line.
func quoted(text string) string {
	data, _ := json.Marshal(text) // a string always has a JSON form
	return string(data)
}
