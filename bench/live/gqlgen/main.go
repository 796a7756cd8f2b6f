// Command gqlgen serves live events with gqlgen's generated code and its own
// WebSocket transport. One subscription to NATS serves all: a change is decoded
// once and given to each subscriber's channel.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"sync"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/nats-io/nats.go"
	"github.com/vektah/gqlparser/v2/ast"

	"tidings/bench/gqlgen"
)

func main() {
	listen := flag.String("listen", "", "address")
	url := flag.String("nats", "", "URL of the bus")
	flag.Parse()
	nc, err := nats.Connect(*url)
	if err != nil {
		log.Fatal(err)
	}
	h := hub{subscribers: map[chan *gqlgen.UserChange]struct{}{}}
	if _, err := nc.Subscribe("bench.events", h.event); err != nil {
		log.Fatal(err)
	}
	srv := handler.New(gqlgen.NewExecutableSchema(gqlgen.Config{Resolvers: &gqlgen.Resolver{Watch: h.watch}}))
	srv.AddTransport(transport.Websocket{})
	srv.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	http.Handle("/graphql", srv)
	log.Fatal(http.ListenAndServe(*listen, nil))
}

// hub gives each change to all subscribers.
type hub struct {
	mu          sync.Mutex
	subscribers map[chan *gqlgen.UserChange]struct{}
}

func (h *hub) watch(ctx context.Context) <-chan *gqlgen.UserChange {
	c := make(chan *gqlgen.UserChange, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subscribers[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subscribers, c)
	})
	return c
}

// event waits for a subscriber that does not keep up: nothing is lost.
func (h *hub) event(m *nats.Msg) {
	var user gqlgen.User
	if err := json.Unmarshal(m.Data, &user); err != nil {
		log.Fatal(err)
	}
	change := &gqlgen.UserChange{
		Kind: gqlgen.ChangeKindUpdated, ID: user.ID, User: &user,
		At: "2026-11-20T07:25:22.5Z", Cursor: "AbCdEfGh.123456",
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.subscribers {
		c <- change
	}
}
